/** Which era does a server belong to, and what does it advertise to which clients, as its answers to `server/discover` show? */

import { LRUCache } from "lru-cache";
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import type { ServerFacts } from "../../core/upstream.js";
import { codeOf, isRpcError, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";
import { CODE, LEGACY_REVISIONS, META, MODERN_REVISION, OWN_META } from "../../wire/names.js";
import type { ProtocolSettings } from "../connection.js";
import { isModernRefusal } from "../protocol/open-calls.js";
import { type Channel, HttpStatusError } from "../transport/channel.js";
import { RequestWriter } from "./messages.js";

/** What the probe of a server needs. */
interface ProbeSettings extends Pick<ProtocolSettings, "server" | "gateway" | "ids"> {
  readonly signal: StopSignal;
}

/** What the probe found. */
export type ProbeResult =
  | { readonly era: "modern"; readonly facts: ServerFacts }
  /** Not modern; `revision` is a legacy one that the server named, if it did. */
  | { readonly era: "legacy"; readonly revision?: string };

/**
 * Sends `server/discover`, and evaluates the answer.
 *
 * @throws GatewayError when the answer is no evidence of either era: the server could not be reached, requires
 * credentials, fails temporarily, or is modern and supports no revision that the gateway supports.
 */
export async function probe(channel: Channel, settings: ProbeSettings): Promise<ProbeResult> {
  // A server may refuse a revision and name it as supported in the same error; then the client retries with it
  // (2026-07-28, basic/versioning). A second such refusal is an error.
  const finding = (await discover(channel, settings)) ?? (await discover(channel, settings));
  if (finding !== undefined) return finding;
  throw unavailable(settings.server, `refuses ${MODERN_REVISION}, which it names as supported`);
}

/** One request and its result; undefined when it should be sent again. */
async function discover(channel: Channel, settings: ProbeSettings): Promise<ProbeResult | undefined> {
  const { server, gateway, ids, signal } = settings;
  const { request, headers } = new RequestWriter().request("server/discover", {}, ids.next(), {
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
  // Some older servers answer any request with a result; without versions it is no answer to this one.
  if (!Array.isArray(versions)) return { era: "legacy" };
  if (!versions.includes(MODERN_REVISION)) return otherRevision(server, versions);
  return { era: "modern", facts: readFacts(result) };
}

/** The facts in the result of `server/discover`. */
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

/** The server capabilities without `tasks`, which are an extension in this revision (SEP-2663). */
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

/** The server named its revisions without 2026-07-28; a legacy one may be among them. */
function otherRevision(server: string, versions: readonly unknown[]): ProbeResult {
  const revision = LEGACY_REVISIONS.find((known) => versions.includes(known));
  if (revision !== undefined) return { era: "legacy", revision };
  const named = versions.filter((version) => typeof version === "string").join(", ");
  throw unavailable(server, `speaks ${named || "no revision it names"}, which the gateway does not`);
}

/**
 * Whether the status of an answer that is not modern shows a legacy server. Missing credentials, overload and temporary
 * failures do not: a modern server would answer the same.
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
    // Not JSON, such as a page of HTML.
    return undefined;
  }
}

const unavailable = (server: string, what: string): GatewayError =>
  new GatewayError("upstream_unavailable", "upstream", `${server} ${what}`, { server, retryable: true });

/** The maximum number of combinations of client capabilities that are cached. */
const MAX_CAPABILITY_CLASSES = 100;

/** The server capabilities by client capabilities, of one connection. */
export class CapabilityCache {
  #base: JsonObject;
  readonly #discover: (advertised: JsonObject) => Promise<JsonObject>;
  readonly #cache = new LRUCache<string, Promise<JsonObject>>({ max: MAX_CAPABILITY_CLASSES });

  /**
   * @param base the capabilities for clients without capabilities
   * @param discover sends `server/discover` with these client capabilities
   */
  constructor(base: JsonObject, discover: (advertised: JsonObject) => Promise<JsonObject>) {
    this.#base = base;
    this.#discover = discover;
  }

  /** The capabilities of the server have changed, perhaps for all clients. */
  reset(base: JsonObject): void {
    this.#base = base;
    this.#cache.clear();
  }

  /** The capabilities for clients with `advertised`; those of `base` where the discovery fails. */
  async capabilitiesFor(advertised: JsonObject): Promise<JsonObject> {
    if (Object.keys(advertised).length === 0) return this.#base;
    const kind = writeJson(advertised);
    let offered = this.#cache.get(kind);
    if (offered === undefined) {
      offered = this.#discover(advertised);
      this.#cache.set(kind, offered);
    }
    try {
      return await offered;
    } catch {
      // The next list discovers again.
      this.#cache.delete(kind);
      return this.#base;
    }
  }
}
