/** What a request says of its sender: the reserved keys of `_meta`, read and taken out. */

import { LOG_LEVELS, type LogLevel } from "../../core/call.js";
import { checkMembers, invalidParams } from "../../core/check-params.js";
import { type Client, MAX_CAPABILITIES_LENGTH, MAX_INFO_LENGTH, type Principal } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { CAPABILITIES, IMPLEMENTATION } from "../../core/members.js";
import { boundedKey } from "../../runtime/cache-limits.js";
import {
  approximateJsonLength,
  isEmpty,
  isSame,
  type JsonObject,
  objectAt,
  without,
} from "../../wire/json.js";
import { canonicalText, writeJson } from "../../wire/json-text.js";
import { isProgressToken, type MessageId } from "../../wire/message-id.js";
import { CODE, META, MODERN_REVISION } from "../../wire/names.js";

/** The revisions this edge serves, as `server/discover` and refusals name them. */
export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_REVISION];

/** Keys that describe the client's own hop; each hop writes its own. */
const HOP_KEYS: readonly string[] = [
  META.protocolVersion,
  META.clientCapabilities,
  META.clientInfo,
  META.logLevel,
];

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
  throw new GatewayError("bad_request", "downstream", "Unsupported protocol version", {
    rpc: CODE.unsupportedProtocolVersion,
    data: { supported: SUPPORTED_VERSIONS, requested },
  });
}

/** @throws GatewayError -32602 when the capabilities are missing, or the client says more of itself than is taken. */
export function readClient(meta: JsonObject, { principal, endpoint }: Sender): Client {
  const capabilities = objectAt(meta, META.clientCapabilities);
  if (capabilities === undefined) {
    throw malformed(`_meta["${META.clientCapabilities}"] must be there and be an object`);
  }
  const info = objectAt(meta, META.clientInfo);
  const known = cachedClientsOf(principal);
  if (known.last !== undefined && matchesClient(known.last, endpoint, capabilities, info)) return known.last;
  const text = writeJson([endpoint, capabilities, info]);
  const before = known.byText.get(text);
  if (before !== undefined) {
    known.last = before;
    return before;
  }
  checkMembers(capabilities, CAPABILITIES, `_meta.${META.clientCapabilities}.`);
  if (info !== undefined) checkMembers(info, IMPLEMENTATION, `_meta.${META.clientInfo}.`);
  const declared = isEmpty(capabilities) ? "" : canonicalText(capabilities);
  if (declared.length > MAX_CAPABILITIES_LENGTH)
    throw tooLong(META.clientCapabilities, MAX_CAPABILITIES_LENGTH);
  if (info !== undefined && approximateJsonLength(info) > MAX_INFO_LENGTH)
    throw tooLong(META.clientInfo, MAX_INFO_LENGTH);
  const client: Client = {
    principal,
    affinity: affinityOf(principal, declared),
    session: false,
    endpoint,
    capabilities,
    ...(info !== undefined && { info }),
  };
  if (text.length > MAX_CACHED_LENGTH) return client;
  if (known.byText.size >= MAX_CACHED_CLIENTS) known.byText.clear();
  known.byText.set(text, client);
  known.last = client;
  return client;
}

/**
 * Who says of itself what it said before is the same object, so that others can keep by it what they know of it. By
 * what was said, for each principal.
 */
const clientCache = new WeakMap<Principal, CachedClients>();
interface CachedClients {
  readonly byText: Map<string, Client>;
  /** Who came last mostly comes next, and is found without writing any text. */
  last: Client | undefined;
}
const MAX_CACHED_CLIENTS = 100;
/** In characters. */
const MAX_CACHED_LENGTH = 2_000;

function cachedClientsOf(principal: Principal): CachedClients {
  let known = clientCache.get(principal);
  if (known === undefined) {
    known = { byText: new Map(), last: undefined };
    clientCache.set(principal, known);
  }
  return known;
}

const matchesClient = (
  client: Client,
  scope: string,
  capabilities: JsonObject,
  info: JsonObject | undefined,
): boolean =>
  client.endpoint === scope && isSame(client.capabilities, capabilities) && isSame(client.info, info);

/** @throws GatewayError -32602 for a level that does not exist (server/utilities/logging, "Error Handling"). */
export function readLogLevel(meta: JsonObject): LogLevel | undefined {
  if (!Object.hasOwn(meta, META.logLevel)) return undefined;
  const level = LOG_LEVELS.find((known) => known === meta[META.logLevel]);
  if (level === undefined)
    throw malformed(`_meta["${META.logLevel}"] must be one of ${LOG_LEVELS.join(", ")}`);
  return level;
}

/** The token under which this client wants to hear of progress. */
export function progressToken(meta: JsonObject): MessageId | undefined {
  const token = meta[META.progressToken];
  return isProgressToken(token) ? token : undefined;
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

export const malformed = invalidParams;

/**
 * A client of this era has no session, so what is kept for it is kept for its principal and for what it
 * declared (its text, in whatever order it was written): a server may list and ask differently by that.
 */
const affinityOf = (principal: Principal, declared: string): string =>
  writeJson([principal.id, boundedKey(declared)]);
