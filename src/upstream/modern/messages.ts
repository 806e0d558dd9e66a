/** How is a call written for a 2026-07-28 server (body, and headers that agree with it), and which reply is its response? */

import type { Call, Freshness, InputResponses, Reply } from "../../core/call.js";
import type { TraceContext } from "../../core/call-record.js";
import { resultFault } from "../../core/check-params.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { INTERACTIVE_METHODS, mirroredName, TASK_METHODS, TASKS_EXTENSION } from "../../core/methods.js";
import { canonicalDecimal, isNumber } from "../../wire/decimal.js";
import {
  codeOf,
  type Envelope,
  PREPARED_META,
  PROTOTYPE_MEMBERS,
  PrototypeMemberError,
  type Request,
  type RpcError,
} from "../../wire/envelope.js";
import { isObject, type JsonObject, numberOf, objectAt, stringAt, without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { argumentAt, encodeHeaderValue, paramHeaders } from "../../wire/mirrored-headers.js";
import { CODE, HEADER, META, MODERN_REVISION } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { errorForClient, withProgressToken, withTrace } from "../protocol/open-calls.js";
import { invalidQuestionError, readQuestions } from "../protocol/questions.js";
import type { Headers } from "../transport/channel.js";
import { invalidResponse } from "../transport/invalid-response.js";

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
  /** The context of the call; undefined if the host's own is forwarded. */
  readonly trace?: TraceContext | undefined;
}

/** The `_meta` of a client, serialised once. */
interface ClientMeta {
  readonly capabilities: JsonObject;
  readonly meta: JsonObject;
  /** With the members of a trace context, so that a copy adds none. */
  readonly traced: JsonObject;
  readonly text: string;
}

/** Per connection, of which a server may have 100. */
const MAX_STANDARD_HEADERS = 200;
/** Longer names (characters) are not cached. */
const MAX_CACHED_NAME_LENGTH = 256;

/** Writes the requests of one connection; what they have in common is made once. */
export class RequestWriter {
  /** By `clientInfo`. */
  readonly #clientMeta = new WeakMap<JsonObject, ClientMeta>();
  /**
   * By name and method; emptied when it is full. Two levels, as a concatenated key would be a new string to hash for
   * every call.
   */
  readonly #headers = new Map<string | undefined, Map<string, Headers>>();
  #headerCount = 0;

  /** The request for `call`. `item` is the tool's list entry, whose schema may name arguments to mirror in headers. */
  call(call: Call, id: number, identity: RequestIdentity, item: JsonObject | undefined): WrittenRequest {
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
    const written = this.request(call.method, params, id, identity);
    const mirrored = call.method === "tools/call" ? mirroredArguments(params, item) : undefined;
    if (call.extraHeaders === undefined && mirrored === undefined) return written;
    return { ...written, headers: { ...call.extraHeaders, ...written.headers, ...mirrored } };
  }

  /** Any request, with the `_meta` that the revision requires. */
  request(method: string, params: JsonObject, id: number, identity: RequestIdentity): WrittenRequest {
    const name = mirroredName(method, params);
    const headers = this.#headers.get(name)?.get(method) ?? this.#makeHeaders(method, name);
    const { meta, traced, text } = this.#metaOf(identity);
    const { trace } = identity;
    if (identity.logLevel === undefined && !Object.hasOwn(params, "_meta")) {
      // A new member goes first: behind the copied members it costs 20 times as much, and more again to serialise.
      const whole = {
        _meta:
          trace === undefined
            ? meta
            : { ...traced, traceparent: trace.traceparent, tracestate: trace.tracestate },
        ...params,
      };
      const prepared = { text: trace === undefined ? text : tracedText(text, trace), others: params };
      return { request: { jsonrpc: "2.0", id, method, params: whole, [PREPARED_META]: prepared }, headers };
    }
    const sent = trace === undefined ? params : withTrace(params, trace);
    const _meta: JsonObject = {
      ...objectAt(sent, "_meta"),
      ...meta,
      ...(identity.logLevel !== undefined && { [META.logLevel]: identity.logLevel }),
    };
    return { request: { jsonrpc: "2.0", id, method, params: { ...params, _meta } }, headers };
  }

  #metaOf({ info, capabilities }: RequestIdentity): ClientMeta {
    let known = this.#clientMeta.get(info);
    if (known?.capabilities !== capabilities) {
      const meta = {
        [META.protocolVersion]: MODERN_REVISION,
        [META.clientInfo]: info,
        [META.clientCapabilities]: capabilities,
      };
      const traced = { traceparent: undefined, tracestate: undefined, ...meta };
      known = { capabilities, meta, traced, text: writeJson(meta) };
      this.#clientMeta.set(info, known);
    }
    return known;
  }

  #makeHeaders(method: string, name: string | undefined): Headers {
    if (this.#headerCount >= MAX_STANDARD_HEADERS) {
      this.#headers.clear();
      this.#headerCount = 0;
    }
    const headers = {
      [HEADER.protocolVersion]: MODERN_REVISION,
      [HEADER.method]: method,
      ...(name !== undefined && { [HEADER.name]: encodeHeaderValue(name) }),
    };
    if (method.length + (name?.length ?? 0) > MAX_CACHED_NAME_LENGTH) return headers;
    const ofName = this.#headers.get(name) ?? new Map<string, Headers>();
    this.#headers.set(name, ofName.set(method, headers));
    this.#headerCount += 1;
    return headers;
  }
}

/** The text of a `_meta` with this context in it. */
function tracedText(text: string, { traceparent, tracestate }: TraceContext): string {
  const state = tracestate === undefined ? "" : `,"tracestate":${writeJson(tracestate)}`;
  return `${text.slice(0, -1)},"traceparent":"${traceparent}"${state}}`;
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

/** The reply for `message`; a result that the client cannot get is an error reply. */
export function readReply(server: string, call: Call, message: Envelope): Reply {
  if (message.error !== undefined) return { kind: "error", error: readError(server, call, message.error) };
  const result = message.result ?? {};
  const [member] = message[PROTOTYPE_MEMBERS] ?? [];
  if (member !== undefined) throw invalidResponse(server, new PrototypeMemberError(member));
  const fault = resultFault(result);
  if (fault !== undefined) return { kind: "error", error: invalidQuestionError(server, fault) };
  const type = result.resultType;
  // A task (SEP-2663), for a client that has declared support; for any other it would be no answer.
  if (type === "task" && mayBeTask(call)) {
    // The questions of a task are evaluated and presented with `tasks/get`.
    const begun = without(result, ["inputRequests"]);
    return {
      kind: "result",
      result: begun === result ? Payload.ofResponse(message) : Payload.ofObject(begun),
    };
  }
  // Servers of drafts before the final revision leave it out of complete results.
  if (type === undefined || type === "complete") {
    const freshness = readFreshness(result);
    return {
      kind: "result",
      result: Payload.ofResponse(message),
      ...(freshness !== undefined && { freshness }),
    };
  }
  if (type === "input_required" && INTERACTIVE_METHODS.has(call.method)) {
    const state = stringAt(result, "requestState");
    const requests = objectAt(result, "inputRequests");
    if (state !== undefined || requests !== undefined) {
      const { value, fault } = readQuestions(requests ?? {});
      return fault === undefined
        ? {
            kind: "input_required",
            requests: value,
            ...(state !== undefined && { state: { server: state } }),
          }
        : { kind: "error", error: invalidQuestionError(server, fault) };
    }
  }
  return { kind: "error", error: invalidResult(server, type) };
}

const mayBeTask = ({ method, client }: Call): boolean =>
  (method === "tools/call" || TASK_METHODS.has(method)) && declares(client, TASKS_EXTENSION);

/** A year; hosts refuse numbers beyond the safe integers of JavaScript. */
const LONGEST_TTL_MS = 365 * 86_400_000;

/** How long a result may be cached; undefined when the server sent no hint. */
export function readFreshness(result: JsonObject): Freshness | undefined {
  const { cacheScope } = result;
  const ttlMs = numberOf(result.ttlMs);
  if (ttlMs === undefined && typeof cacheScope !== "string") return undefined;
  return {
    // A negative time is to be read as none (server/utilities/caching, "Time-to-Live").
    ttlMs: ttlMs !== undefined && ttlMs > 0 ? Math.min(Math.floor(ttlMs), LONGEST_TTL_MS) : 0,
    scope: cacheScope === "public" ? "public" : "private",
  };
}

// An error that requires a capability which the client did not declare passes unchanged. One that requires capabilities
// which the gateway did not relay, and any other code that describes the gateway's own request, becomes an internal error.
function readError(server: string, call: Call, error: RpcError): RpcError {
  if (codeOf(error) !== CODE.missingClientCapability) return errorForClient(server, error);
  const data = isObject(error.data) ? error.data : undefined;
  const required = objectAt(data, "requiredCapabilities");
  if (required === undefined || !Object.values(required).every(isObject))
    return errorForClient(server, error);
  const { extensions, ...others } = required;
  if (isObject(extensions) && !Object.values(extensions).every(isObject))
    return errorForClient(server, error);
  const missing = [
    ...Object.keys(others).filter((name) => !Object.hasOwn(call.client.capabilities, name)),
    ...(isObject(extensions) ? Object.keys(extensions) : []).filter((name) => !declares(call.client, name)),
  ];
  return missing.length > 0 ? error : errorForClient(server, error);
}

const declares = ({ capabilities }: Client, extension: string): boolean =>
  Object.hasOwn(objectAt(capabilities, "extensions") ?? {}, extension);

function invalidResult(server: string, type: unknown): RpcError {
  const named = typeof type === "string" ? `"${type.slice(0, 60)}"` : "that is no string";
  return {
    code: CODE.internalError,
    message: `${server} answered with a result of a type ${named}, which the gateway cannot forward here`,
  };
}

/**
 * A call is sent again with all answers or not at all: a client must construct every requested input
 * (basic/patterns/mrtr, "Client Requirements"), and this era has no form for a refusal.
 *
 * @throws GatewayError `denied`
 */
export function requireAnswers(server: string, { responses, refusals = {} }: InputResponses): void {
  const [key] = Object.keys(refusals).filter((one) => !Object.hasOwn(responses, one));
  if (key === undefined) return;
  const why = refusals[key]?.message ?? "";
  const sentence = `${server} needs an answer that the client cannot give or refused: ${why}`;
  throw new GatewayError("denied", "downstream", sentence, { server });
}
