/** Asks a server `server/discover`, and reads out of whatever comes back which era it belongs to. */

import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import type { ServerFacts } from "../../core/upstream.js";
import { codeOf, isRpcError, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";
import { CODE, LEGACY_REVISIONS, META, MODERN_REVISION, OWN_META } from "../../wire/names.js";
import { isModernRefusal } from "../protocol/hop-errors.js";
import { nextId } from "../protocol/ids.js";
import { type Channel, HttpStatusError } from "../transport/channel.js";
import { writeRequest } from "./write-call.js";

export interface ProbeSettings {
  readonly server: string;
  readonly gateway: { readonly name: string; readonly version: string };
  readonly signal: StopSignal;
}

export type ProbeResult =
  | { readonly era: "modern"; readonly facts: ServerFacts }
  /** Not modern; `revision` is what it says it speaks instead, where it says so. */
  | { readonly era: "legacy"; readonly revision?: string };

/**
 * @throws GatewayError when what came is no evidence of either era: the server could not be reached, wants
 * credentials, is broken for the moment, or is modern and speaks no revision that the gateway does.
 */
export async function probe(channel: Channel, settings: ProbeSettings): Promise<ProbeResult> {
  // A server may refuse a revision and in the same breath name it as one that it speaks; then the client tries
  // again with it (2026-07-28, basic/versioning). One that keeps doing so speaks no revision at all.
  const finding = (await discover(channel, settings)) ?? (await discover(channel, settings));
  if (finding !== undefined) return finding;
  throw unavailable(settings.server, `refuses ${MODERN_REVISION}, which it says it speaks`);
}

/** One request and what it tells; undefined when it is worth another. */
async function discover(channel: Channel, settings: ProbeSettings): Promise<ProbeResult | undefined> {
  const { server, gateway, signal } = settings;
  const { request, headers } = writeRequest("server/discover", {}, nextId(), {
    info: gateway,
    capabilities: {},
  });
  try {
    const { message, status } = await channel.exchange(request, { headers, signal });
    if (message.error !== undefined) return readErrorResponse(server, status, message.error);
    return readDiscovery(server, message.result ?? {});
  } catch (error) {
    const cause = error instanceof GatewayError ? error.cause : undefined;
    if (!(cause instanceof HttpStatusError)) throw error;
    const refusal = errorIn(cause.body);
    if (indicatesLegacy(cause.status) || (refusal !== undefined && isModernRefusal(refusal))) {
      return readErrorResponse(server, cause.status, refusal);
    }
    throw error;
  }
}

function readDiscovery(server: string, result: JsonObject): ProbeResult {
  const versions = result.supportedVersions;
  // Some older servers answer any request with something; without versions it is no answer to this one.
  if (!Array.isArray(versions)) return { era: "legacy" };
  if (!versions.includes(MODERN_REVISION)) return otherRevision(server, versions);
  return { era: "modern", facts: readFacts(result) };
}

/** What a server says of itself in the result of `server/discover`. */
export function readFacts(result: JsonObject): ServerFacts {
  const meta = objectAt(result, "_meta");
  const instructions = stringAt(result, "instructions");
  const instance = stringAt(meta, OWN_META.instance);
  return {
    capabilities: readCapabilities(result),
    serverInfo: objectAt(meta, META.serverInfo) ?? objectAt(result, "serverInfo") ?? {},
    ...(instructions !== undefined && { instructions }),
    ...(instance !== undefined && { instance }),
  };
}

/** What was called `tasks` before is an extension now, and no longer to be said in this way (SEP-2663). */
export const readCapabilities = (result: JsonObject): JsonObject =>
  without(objectAt(result, "capabilities") ?? {}, ["tasks"]);

function readErrorResponse(
  server: string,
  status: number,
  error: RpcError | undefined,
): ProbeResult | undefined {
  if (error !== undefined && isModernRefusal(error)) {
    const supported = isObject(error.data) ? error.data.supported : undefined;
    if (codeOf(error) === CODE.unsupportedProtocolVersion && Array.isArray(supported)) {
      if (supported.includes(MODERN_REVISION)) return undefined;
      return otherRevision(server, supported);
    }
    throw unavailable(server, `refused server/discover: ${error.message}`);
  }
  if (indicatesLegacy(status)) return { era: "legacy" };
  throw unavailable(server, `answered server/discover with HTTP status ${status}`);
}

/** The server named its revisions, and ours was not among them; one of the older ones may be. */
function otherRevision(server: string, versions: readonly unknown[]): ProbeResult {
  const revision = LEGACY_REVISIONS.find((known) => versions.includes(known));
  if (revision !== undefined) return { era: "legacy", revision };
  const named = versions.filter((version) => typeof version === "string").join(", ");
  throw unavailable(server, `speaks ${named || "no revision it names"}, which the gateway does not`);
}

/**
 * Whether an answer that is not modern tells that the server is not. Missing credentials, overload and failures
 * of the moment do not: a modern server behind them looks the same.
 */
const indicatesLegacy = (status: number): boolean =>
  status < 300 ||
  (status >= 400 && status < 500 && status !== 401 && status !== 403 && status !== 408 && status !== 429);

function errorIn(body: string): RpcError | undefined {
  try {
    const value: unknown = parseJson(body);
    const error = isObject(value) ? value.error : undefined;
    if (!isObject(error) || !isRpcError(error)) return undefined;
    return { code: error.code, message: error.message, data: error.data };
  } catch {
    // A page of HTML, say: no JSON-RPC error stands in it.
    return undefined;
  }
}

const unavailable = (server: string, what: string): GatewayError =>
  new GatewayError("upstream_unavailable", "upstream", `${server} ${what}`, { server, retryable: true });
