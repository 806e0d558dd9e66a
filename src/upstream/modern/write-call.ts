/** A call as a 2026-07-28 server understands it: the body and the headers that must agree with it, made together. */
import type { Call } from "../../core/call.js";
import { canonicalDecimal, isNumber } from "../../wire/decimal.js";
import { PREPARED_META, type Request } from "../../wire/envelope.js";
import { encodeHeaderValue } from "../../wire/header-value.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { HEADER, META, MODERN_REVISION } from "../../wire/names.js";
import { argumentAt, mirroredName, paramHeaders } from "../../wire/param-headers.js";
import { withProgressToken } from "../protocol/open-calls.js";
import type { Headers } from "../transport/channel.js";

export interface WrittenRequest {
  readonly request: Request;
  readonly headers: Headers;
}

/** Who a request is made for, as its `_meta` says it. */
export interface RequestIdentity {
  readonly info: JsonObject;
  readonly capabilities: JsonObject;
  readonly logLevel?: string;
}

/** The request for `call`. `item` is the tool's list entry, in which it may name arguments to mirror. */
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

/** Any request with the metadata that the revision demands on each. */
export function writeRequest(
  method: string,
  params: JsonObject,
  id: number,
  identity: RequestIdentity,
): WrittenRequest {
  const headers = standardHeaders(method, mirroredName(method, params));
  const { meta, text } = metaOf(identity);
  if (identity.logLevel === undefined && !Object.hasOwn(params, "_meta")) {
    // A new member goes in front: behind the copied ones it costs 20 times as much, and more again to write out.
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

/** What is said of a client in every request for it: written once, for as long as the client is the same. */
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
 * Made once per name and method, which come again and again; emptied when there are too many to come again. Two steps,
 * as a key made of both would be a new text to hash for every call.
 */
const standardHeaderCache = new Map<string | undefined, Map<string, Headers>>();
const MAX_STANDARD_HEADERS = 2_000;
/** Longer names, in characters, do not come again often enough to be kept. */
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
    // null and absent are the same: no header. An object where the schema has a string is for the server to refuse.
    if (isNumber(value)) mirrored[header] = canonicalDecimal(value);
    else if (typeof value === "string" || typeof value === "boolean") {
      mirrored[header] = encodeHeaderValue(String(value));
    }
  }
  return mirrored;
}
