/** A call as a 2026-07-28 server understands it: the body and the headers that must agree with it, made together. */
import type { Call } from "../../core/call.js";
import { isNumber, worthOf } from "../../wire/decimal.js";
import { PREPARED_META, type Request } from "../../wire/envelope.js";
import { encodeHeaderValue } from "../../wire/header-value.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { mirroredName } from "../../wire/mirrored-name.js";
import { HEADER, META, MODERN_REVISION } from "../../wire/names.js";
import { argumentAt, paramHeaders } from "../../wire/param-headers.js";
import { withProgressToken } from "../conversation/open-calls.js";
import type { Headers } from "../transport/channel.js";

export interface WrittenRequest {
  readonly request: Request;
  readonly headers: Headers;
}

/** Who a request is made for, as its `_meta` says it. */
export interface Speaker {
  readonly info: JsonObject;
  readonly capabilities: JsonObject;
  readonly logLevel?: string;
}

/** The request for `call`. `item` is the tool's list entry, in which it may name arguments to mirror. */
export function writeCall(call: Call, id: number, speaker: Speaker, item = call.route?.item): WrittenRequest {
  const { answers } = call;
  const own = withProgressToken(call.params, id);
  const params: JsonObject =
    answers === undefined
      ? own
      : {
          ...own,
          inputResponses: answers.responses,
          // Present exactly when the server sent one (basic/patterns/mrtr, "Client Requirements").
          ...(answers.state !== undefined && { requestState: answers.state }),
        };
  const written = writeRequest(call.method, params, id, speaker);
  const mirrored = call.method === "tools/call" ? mirroredArguments(params, item) : undefined;
  if (call.extraHeaders === undefined && mirrored === undefined) return written;
  return { ...written, headers: { ...call.extraHeaders, ...written.headers, ...mirrored } };
}

/** Any request with the metadata that the revision demands on each. */
export function writeRequest(
  method: string,
  params: JsonObject,
  id: number,
  speaker: Speaker,
): WrittenRequest {
  const headers = standardHeaders(method, mirroredName(method, params));
  const { meta, text } = metaOf(speaker);
  if (speaker.logLevel === undefined && !Object.hasOwn(params, "_meta")) {
    // A new member goes in front: behind the copied ones it costs 20 times as much, and more again to write out.
    const whole = { _meta: meta, ...params };
    const prepared = { text, others: params };
    return { request: { jsonrpc: "2.0", id, method, params: whole, [PREPARED_META]: prepared }, headers };
  }
  const _meta: JsonObject = {
    ...objectAt(params, "_meta"),
    ...meta,
    ...(speaker.logLevel !== undefined && { [META.logLevel]: speaker.logLevel }),
  };
  return { request: { jsonrpc: "2.0", id, method, params: { ...params, _meta } }, headers };
}

/** What is said of a client in every request for it: written once, for as long as the client is the same. */
interface ClientMeta {
  readonly capabilities: JsonObject;
  readonly meta: JsonObject;
  readonly text: string;
}
const metas = new WeakMap<JsonObject, ClientMeta>();

function metaOf({ info, capabilities }: Speaker): ClientMeta {
  let known = metas.get(info);
  if (known?.capabilities !== capabilities) {
    const meta = {
      [META.protocolVersion]: MODERN_REVISION,
      [META.clientInfo]: info,
      [META.clientCapabilities]: capabilities,
    };
    known = { capabilities, meta, text: writeJson(meta) };
    metas.set(info, known);
  }
  return known;
}

/**
 * Made once per name and method, which come again and again; emptied when there are too many to come again. Two steps,
 * as a key made of both would be a new text to hash for every call.
 */
const standard = new Map<string | undefined, Map<string, Headers>>();
const MOST_STANDARD = 2_000;
/** Longer names, in characters, do not come again often enough to be kept. */
const LONGEST_STANDARD = 256;
let standards = 0;

function standardHeaders(method: string, name: string | undefined): Headers {
  return standard.get(name)?.get(method) ?? makeStandardHeaders(method, name);
}

function makeStandardHeaders(method: string, name: string | undefined): Headers {
  if (standards >= MOST_STANDARD) {
    standard.clear();
    standards = 0;
  }
  const headers = {
    [HEADER.protocolVersion]: MODERN_REVISION,
    [HEADER.method]: method,
    ...(name !== undefined && { [HEADER.name]: encodeHeaderValue(name) }),
  };
  if (method.length + (name?.length ?? 0) > LONGEST_STANDARD) return headers;
  const ofName = standard.get(name) ?? new Map<string, Headers>();
  standard.set(name, ofName.set(method, headers));
  standards += 1;
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
    if (isNumber(value)) mirrored[header] = worthOf(value);
    else if (typeof value === "string" || typeof value === "boolean") {
      mirrored[header] = encodeHeaderValue(String(value));
    }
  }
  return mirrored;
}
