/** What a request says of its sender: the reserved keys of `_meta`, read and taken out. */

import { LOG_LEVELS, type LogLevel } from "../../core/call.js";
import { checkMembers, invalidParams } from "../../core/check-params.js";
import { type Client, LONGEST_CAPABILITIES, LONGEST_INFO, type Principal } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { keptKey } from "../../core/kept-text.js";
import { CAPABILITIES, IMPLEMENTATION } from "../../core/members.js";
import { canonicalText } from "../../wire/canonical.js";
import { extentOf, isEmpty, isSame, type JsonObject, objectAt, without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
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
  readonly scope: string;
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
export function readClient(meta: JsonObject, { principal, scope }: Sender): Client {
  const capabilities = objectAt(meta, META.clientCapabilities);
  if (capabilities === undefined) {
    throw malformed(`_meta["${META.clientCapabilities}"] must be there and be an object`);
  }
  const info = objectAt(meta, META.clientInfo);
  const known = knownTo(principal);
  if (known.last !== undefined && says(known.last, scope, capabilities, info)) return known.last;
  const text = writeJson([scope, capabilities, info]);
  const before = known.byText.get(text);
  if (before !== undefined) {
    known.last = before;
    return before;
  }
  checkMembers(capabilities, CAPABILITIES, `_meta.${META.clientCapabilities}.`);
  if (info !== undefined) checkMembers(info, IMPLEMENTATION, `_meta.${META.clientInfo}.`);
  const declared = isEmpty(capabilities) ? "" : canonicalText(capabilities);
  if (declared.length > LONGEST_CAPABILITIES) throw tooLong(META.clientCapabilities, LONGEST_CAPABILITIES);
  if (info !== undefined && extentOf(info) > LONGEST_INFO) throw tooLong(META.clientInfo, LONGEST_INFO);
  const client: Client = {
    principal,
    affinity: affinityOf(principal, declared),
    session: false,
    scope,
    capabilities,
    ...(info !== undefined && { info }),
  };
  if (text.length > LONGEST_KEPT) return client;
  if (known.byText.size >= MOST_KEPT) known.byText.clear();
  known.byText.set(text, client);
  known.last = client;
  return client;
}

/**
 * Who says of itself what it said before is the same object, so that others can keep by it what they know of it. By
 * what was said, for each principal.
 */
const comeBefore = new WeakMap<Principal, Known>();
interface Known {
  readonly byText: Map<string, Client>;
  /** Who came last mostly comes next, and is found without writing any text. */
  last: Client | undefined;
}
const MOST_KEPT = 100;
/** In characters. */
const LONGEST_KEPT = 2_000;

function knownTo(principal: Principal): Known {
  let known = comeBefore.get(principal);
  if (known === undefined) {
    known = { byText: new Map(), last: undefined };
    comeBefore.set(principal, known);
  }
  return known;
}

const says = (
  client: Client,
  scope: string,
  capabilities: JsonObject,
  info: JsonObject | undefined,
): boolean =>
  client.scope === scope && isSame(client.capabilities, capabilities) && isSame(client.info, info);

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
  writeJson([principal.id, keptKey(declared)]);
