/** Who sent a modern request: the reserved keys of `_meta`, read and removed. */
import type { LogLevel } from "../../core/call.js";
import { checkLogLevel, checkMembers, invalidParams } from "../../core/check-params.js";
import { type Client, MAX_CAPABILITIES_LENGTH, MAX_INFO_LENGTH, type Principal } from "../../core/client.js";
import { badRequest, type GatewayError } from "../../core/errors.js";
import { CAPABILITIES, IMPLEMENTATION } from "../../core/members.js";
import { principalKey } from "../../core/principal.js";
import { boundedKey } from "../../runtime/cache-limits.js";
import { isEmpty, isSame, type JsonObject, objectAt, without } from "../../wire/json.js";
import { approximateJsonLength, canonicalText, writeJson } from "../../wire/json-text.js";
import { CODE, META, MODERN_REVISION } from "../../wire/names.js";
import type { RecentClients, SeenClient } from "./recent-clients.js";

/** The revisions this edge serves, as `server/discover` and refusals name them. */
export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_REVISION];

/** Keys that describe one hop only; the gateway writes its own towards the server. */
const HOP_KEYS: readonly string[] = [
  META.protocolVersion,
  META.clientCapabilities,
  META.clientInfo,
  META.logLevel,
];

/** Who sent a request, and to which endpoint. */
export interface Sender {
  readonly principal: Principal;
  readonly endpoint: string;
}

/**
 * The revision the body claims.
 * @throws GatewayError -32602 when it claims none (basic/index, "Per-request protocol fields").
 */
export function claimedVersion(meta: JsonObject | undefined): string {
  const version = meta?.[META.protocolVersion];
  if (typeof version === "string") return version;
  throw malformed(`_meta["${META.protocolVersion}"] must be there and be a string`);
}

/** @throws GatewayError -32022 that lists what is supported. */
export function checkVersion(requested: string): void {
  if (SUPPORTED_VERSIONS.includes(requested)) return;
  throw badRequest("Unsupported protocol version", {
    rpc: CODE.unsupportedProtocolVersion,
    data: { supported: SUPPORTED_VERSIONS, requested },
  });
}

/**
 * The clients of one edge. A client that sends the same metadata again is the same object, so that other layers can cache by
 * it; and to compare it with the last one takes 0.4 µs, to write it as text 0.9 (bench/profiles.md).
 */
export class ClientCache {
  readonly #byPrincipal = new WeakMap<Principal, CachedClients>();
  readonly #recent: RecentClients;

  /** @param recent where the client of each request is noted */
  constructor(recent: RecentClients) {
    this.#recent = recent;
  }

  /** @throws GatewayError -32602 when the capabilities are missing, or the metadata is longer than its limit. */
  read(meta: JsonObject, sender: Sender): Client {
    const capabilities = objectAt(meta, META.clientCapabilities);
    if (capabilities === undefined) {
      throw malformed(`_meta["${META.clientCapabilities}"] must be there and be an object`);
    }
    const info = objectAt(meta, META.clientInfo);
    const { endpoint } = sender;
    const cached = this.#cachedFor(sender.principal);
    const { last } = cached;
    if (last !== undefined && matchesClient(last.client, endpoint, capabilities, info)) {
      this.#noteAgain(last);
      return last.client;
    }
    const text = writeJson([endpoint, capabilities, info]);
    const client = cached.byText.get(text)?.client ?? newClient(sender, capabilities, info);
    const current = { client, seen: this.#recent.of(client), notedAt: Date.now() };
    if (text.length > MAX_CACHED_LENGTH) return client;
    if (!cached.byText.has(text) && cached.byText.size >= MAX_CACHED_CLIENTS) cached.byText.clear();
    cached.byText.set(text, current);
    cached.last = current;
    return client;
  }

  /** Only once a minute is a record looked up, which keeps it among the recent ones. */
  #noteAgain(last: CachedClient): void {
    const now = Date.now();
    last.seen.lastAt = now;
    if (now - last.notedAt < NOTE_INTERVAL_MS) return;
    last.seen = this.#recent.of(last.client);
    last.notedAt = now;
  }

  #cachedFor(principal: Principal): CachedClients {
    let cached = this.#byPrincipal.get(principal);
    if (cached === undefined) {
      cached = { byText: new Map(), last: undefined };
      this.#byPrincipal.set(principal, cached);
    }
    return cached;
  }
}

interface CachedClients {
  readonly byText: Map<string, CachedClient>;
  /** The client of the last request, which mostly sends the next one too. */
  last: CachedClient | undefined;
}
interface CachedClient {
  readonly client: Client;
  seen: SeenClient;
  /** When the record was looked up, in milliseconds since 1970. */
  notedAt: number;
}
const NOTE_INTERVAL_MS = 60_000;
const MAX_CACHED_CLIENTS = 100;
/** The longest metadata, in characters, of a client that is cached. */
const MAX_CACHED_LENGTH = 2_000;

function newClient(
  { principal, endpoint }: Sender,
  capabilities: JsonObject,
  info: JsonObject | undefined,
): Client {
  checkMembers(capabilities, CAPABILITIES, `_meta.${META.clientCapabilities}.`);
  if (info !== undefined) checkMembers(info, IMPLEMENTATION, `_meta.${META.clientInfo}.`);
  const declared = isEmpty(capabilities) ? "" : canonicalText(capabilities);
  if (declared.length > MAX_CAPABILITIES_LENGTH)
    throw tooLong(META.clientCapabilities, MAX_CAPABILITIES_LENGTH);
  if (info !== undefined && approximateJsonLength(info) > MAX_INFO_LENGTH)
    throw tooLong(META.clientInfo, MAX_INFO_LENGTH);
  return {
    principal,
    affinity: affinityOf(principal, declared),
    session: false,
    endpoint,
    capabilities,
    ...(info !== undefined && { info }),
  };
}

const matchesClient = (
  client: Client,
  endpoint: string,
  capabilities: JsonObject,
  info: JsonObject | undefined,
): boolean =>
  client.endpoint === endpoint && isSame(client.capabilities, capabilities) && isSame(client.info, info);

/** @throws GatewayError -32602 for a level that does not exist (server/utilities/logging, "Error Handling"). */
export function readLogLevel(meta: JsonObject): LogLevel | undefined {
  if (!Object.hasOwn(meta, META.logLevel)) return undefined;
  return checkLogLevel(meta[META.logLevel], `_meta["${META.logLevel}"]`);
}

/** The parameters as they may travel on: trace context, progress token and vendor keys stay. */
export function withoutHopKeys(params: JsonObject, meta: JsonObject): JsonObject {
  const kept = without(meta, HOP_KEYS);
  if (!isEmpty(kept)) return { ...params, _meta: kept };
  const { _meta, ...rest } = params;
  return rest;
}

const tooLong = (key: string, longest: number): GatewayError =>
  malformed(`_meta["${key}"] must not be longer than ${longest} characters`);

/** A refusal (-32602) of metadata or parameters that cannot be read. */
export const malformed = invalidParams;

/**
 * The key of what is kept for a client. A client of this era has no session, so the key is its principal and what it declared
 * (in canonical form): a server may list and ask differently by the capabilities, and by the headers that it gets.
 */
const affinityOf = (principal: Principal, declared: string): string =>
  writeJson([
    principalKey(principal),
    boundedKey(declared),
    ...(principal.headers === undefined ? [] : [principal.headers.digest]),
  ]);
