/** How is a call written for a 2026-07-28 server? The body, and the headers that must agree with it. */ import type { Call } from "../../core/call.js";
import { canonicalDecimal, isNumber } from "../../wire/decimal.js";
import { PREPARED_META, type Request } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { argumentAt, encodeHeaderValue, mirroredName, paramHeaders } from "../../wire/mirrored-headers.js";
import { HEADER, META, MODERN_REVISION } from "../../wire/names.js";
import { withProgressToken } from "../protocol/open-calls.js";
import type { Headers } from "../transport/channel.js";

/** A request and its HTTP headers. */
export interface WrittenRequest {
  readonly request: Request;
  readonly headers: Headers;
}

/** The client of a request, as its `_meta` describes it. */
export interface RequestIdentity {
  readonly info: JsonObject;
  readonly capabilities: JsonObject;
  readonly logLevel?: string;
}

/** The request for `call`. `item` is the tool's list entry, whose schema may name arguments to mirror in headers. */
export function writeCall(
  call: Call,
  id: number,
  identity: RequestIdentity,
  item = call.route?.item,
): WrittenRequest {
  const { inputResponses } = call;
  const own = withProgressToken(call.params, id);
  const params: JsonObject =
    inputResponses === undefined
      ? own
      : {
          ...own,
          inputResponses: inputResponses.responses,
          // Present exactly when the server sent one (basic/patterns/mrtr, "Client Requirements").
          ...(inputResponses.state?.server !== undefined && { requestState: inputResponses.state.server }),
        };
  const written = writeRequest(call.method, params, id, identity);
  const mirrored = call.method === "tools/call" ? mirroredArguments(params, item) : undefined;
  if (call.extraHeaders === undefined && mirrored === undefined) return written;
  return { ...written, headers: { ...call.extraHeaders, ...written.headers, ...mirrored } };
}

/** Any request, with the `_meta` that the revision requires. */
export function writeRequest(
  method: string,
  params: JsonObject,
  id: number,
  identity: RequestIdentity,
): WrittenRequest {
  const headers = standardHeaders(method, mirroredName(method, params));
  const { meta, text } = metaOf(identity);
  if (identity.logLevel === undefined && !Object.hasOwn(params, "_meta")) {
    // A new member goes first: behind the copied members it costs 20 times as much, and more again to serialise.
    const whole = { _meta: meta, ...params };
    const prepared = { text, others: params };
    return { request: { jsonrpc: "2.0", id, method, params: whole, [PREPARED_META]: prepared }, headers };
  }
  const _meta: JsonObject = {
    ...objectAt(params, "_meta"),
    ...meta,
    ...(identity.logLevel !== undefined && { [META.logLevel]: identity.logLevel }),
  };
  return { request: { jsonrpc: "2.0", id, method, params: { ...params, _meta } }, headers };
}

/** The `_meta` of a client, serialised once and cached by its `clientInfo`. */
interface ClientMeta {
  readonly capabilities: JsonObject;
  readonly meta: JsonObject;
  readonly text: string;
}
const clientMetaCache = new WeakMap<JsonObject, ClientMeta>();

function metaOf({ info, capabilities }: RequestIdentity): ClientMeta {
  let known = clientMetaCache.get(info);
  if (known?.capabilities !== capabilities) {
    const meta = {
      [META.protocolVersion]: MODERN_REVISION,
      [META.clientInfo]: info,
      [META.clientCapabilities]: capabilities,
    };
    known = { capabilities, meta, text: writeJson(meta) };
    clientMetaCache.set(info, known);
  }
  return known;
}

/**
 * A cache by name and method; emptied when it is full. Two levels, as a concatenated key would be a new string to hash
 * for every call.
 */
const standardHeaderCache = new Map<string | undefined, Map<string, Headers>>();
const MAX_STANDARD_HEADERS = 2_000;
/** Longer names (characters) are not cached. */
const MAX_CACHED_NAME_LENGTH = 256;
let standardHeaderCount = 0;

function standardHeaders(method: string, name: string | undefined): Headers {
  return standardHeaderCache.get(name)?.get(method) ?? makeStandardHeaders(method, name);
}

function makeStandardHeaders(method: string, name: string | undefined): Headers {
  if (standardHeaderCount >= MAX_STANDARD_HEADERS) {
    standardHeaderCache.clear();
    standardHeaderCount = 0;
  }
  const headers = {
    [HEADER.protocolVersion]: MODERN_REVISION,
    [HEADER.method]: method,
    ...(name !== undefined && { [HEADER.name]: encodeHeaderValue(name) }),
  };
  if (method.length + (name?.length ?? 0) > MAX_CACHED_NAME_LENGTH) return headers;
  const ofName = standardHeaderCache.get(name) ?? new Map<string, Headers>();
  standardHeaderCache.set(name, ofName.set(method, headers));
  standardHeaderCount += 1;
  return headers;
}

function mirroredArguments(params: JsonObject, item: JsonObject | undefined): Headers | undefined {
  const { headers } = paramHeaders(item?.inputSchema);
  if (headers.length === 0) return undefined;
  const args = objectAt(params, "arguments");
  const mirrored: Record<string, string> = {};
  for (const { header, path } of headers) {
    const value = argumentAt(args, path);
    // null and absent: no header. An object where the schema has a string is refused by the server.
    if (isNumber(value)) mirrored[header] = canonicalDecimal(value);
    else if (typeof value === "string" || typeof value === "boolean") {
      mirrored[header] = encodeHeaderValue(String(value));
    }
  }
  return mirrored;
}
