/** How does a reply become the JSON-RPC response of this era, and its HTTP status? */

import { type Call, type Freshness, NOT_CACHEABLE, type Reply } from "../../core/call.js";
import { ERRORS, type ErrorCode } from "../../core/errors.js";
import { RESUMABLE_METHODS } from "../../core/methods.js";
import { codeOf, type MessageId, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { paramHeaders } from "../../wire/mirrored-headers.js";
import { CODE, META } from "../../wire/names.js";
import { Payload, RESULT_TYPE_COMPLETE } from "../../wire/payload.js";
import { mapSubschemas } from "../../wire/subschemas.js";
import { CACHEABLE_METHODS, capabilityError } from "./methods.js";

/** One response, in the pieces it is written in: large results are carried, not copied. */
export interface SerializedResponse {
  readonly status: number;
  /** What a token must grant for another answer, with status 403. */
  readonly scopes?: readonly string[];
  /** When trying again can help, with status 503. */
  readonly retryAfterMs?: number | undefined;
  readonly pieces: readonly (string | Buffer)[];
}

/** Where a server's own name stays when the gateway puts its own in its place. */
const UPSTREAM_SERVER_INFO = "cardea/upstreamServerInfo";

/** Writes the response to `id` that says `reply`. */
export type WriteReply = (id: MessageId, call: Call, reply: Reply) => SerializedResponse;

/** Makes the writer of responses; `serverInfo` is the gateway's own name and version. */
export function replyWriter(serverInfo: JsonObject): WriteReply {
  const ownMeta = `"_meta":{${writeJson(META.serverInfo)}:${writeJson(serverInfo)}}`;

  return function writeReply(id, call, reply) {
    switch (reply.kind) {
      case "result": {
        const refusal = call.method === "tasks/get" ? taskCapabilityError(reply.result, call) : undefined;
        if (refusal !== undefined) return writeError(id, refusal);
        return framed(
          id,
          "result",
          resultPieces(upgradeResult(reply.result, call), cacheHintsFor(call, reply.freshness)),
        );
      }
      case "input_required":
        return inputRequired(id, call, reply);
      case "error": {
        const response = writeError(id, upgradeError(reply.error, call), reply.refusal);
        return reply.scopes === undefined ? response : { ...response, scopes: reply.scopes };
      }
    }
  };

  function resultPieces(result: Payload, hints: Freshness | undefined): readonly (string | Buffer)[] {
    // What certainly is not in it can be put in front of it, and the rest stays the bytes it came as.
    const rest = result.withoutFirst(RESULT_TYPE_COMPLETE) ?? result;
    const untouched =
      (rest !== result || !result.mayHave("resultType")) &&
      !result.mayHave("_meta") &&
      (hints === undefined || (!result.mayHave("ttlMs") && !result.mayHave("cacheScope")));
    if (!untouched) return [writeJson(completed(result.object, hints))];
    const cache = hints === undefined ? "" : `,"ttlMs":${hints.ttlMs},"cacheScope":"${hints.scope}"`;
    return spliced(`{"resultType":"complete",${ownMeta}${cache}`, rest.members);
  }

  function completed(result: JsonObject, hints: Freshness | undefined): JsonObject {
    const resultType = Object.hasOwn(result, "resultType") ? result.resultType : "complete";
    return {
      ...result,
      resultType,
      ...(resultType === "complete" &&
        hints !== undefined && { ttlMs: hints.ttlMs, cacheScope: hints.scope }),
      _meta: withServerInfo(objectAt(result, "_meta") ?? {}),
    };
  }

  function withServerInfo(meta: JsonObject): JsonObject {
    const theirs = objectAt(meta, META.serverInfo);
    return {
      ...meta,
      [META.serverInfo]: serverInfo,
      ...(theirs !== undefined &&
        !Object.hasOwn(meta, UPSTREAM_SERVER_INFO) && { [UPSTREAM_SERVER_INFO]: theirs }),
    };
  }

  function inputRequired(
    id: MessageId,
    call: Call,
    reply: Reply & { kind: "input_required" },
  ): SerializedResponse {
    const { requests, sealedState: state } = reply;
    if (!RESUMABLE_METHODS.has(call.method)) return writeError(id, inputNotAllowed(call.method));
    const refusal = capabilityError(requests, call.client.capabilities);
    if (refusal !== undefined) return writeError(id, refusal);
    const result = {
      resultType: "input_required",
      // One of the two must be there, so questions are left out only beside a state.
      ...((state === undefined || Object.keys(requests).length > 0) && { inputRequests: requests }),
      ...(state !== undefined && { requestState: state }),
    };
    return framed(id, "result", spliced(`{${ownMeta}`, writeJson(result).slice(1)));
  }
}

/** What a task asks stands in its result (SEP-2663, "Task Update Requests"). */
function taskCapabilityError(result: Payload, { client }: Call): RpcError | undefined {
  const questions = result.mayContain('"inputRequests"')
    ? objectAt(result.object, "inputRequests")
    : undefined;
  return questions === undefined ? undefined : capabilityError(questions, client.capabilities);
}

/**
 * Before 2026-07-28 a missing resource had a code of its own, which must no longer be used; now it is invalid
 * parameters that name the URI (server/resources, "Error Handling"; basic/index, "Error Codes").
 */
function upgradeError(error: RpcError, { params }: Call): RpcError {
  if (codeOf(error) !== CODE.resourceNotFound) return error;
  const uri = stringAt(params, "uri");
  const data = isObject(error.data) ? error.data : error.data !== undefined && { detail: error.data };
  return { ...error, code: CODE.invalidParams, data: { ...(uri !== undefined && { uri }), ...data } };
}

/** The response to `id` (null where it must not be used) that says `error`; `refusal` is the gateway's own word for it, where it has one. */
export function writeError(id: MessageId | null, error: RpcError, refusal?: string): SerializedResponse {
  return { ...framed(id, "error", [writeJson(error)]), status: statusOf(codeOf(error), refusal) };
}

function framed(
  id: MessageId | null,
  member: "result" | "error",
  pieces: readonly (string | Buffer)[],
): SerializedResponse {
  const head = `{"jsonrpc":"2.0","id":${writeJson(id)},"${member}":`;
  const [first] = pieces;
  // Nearly always it is one text.
  const isText = pieces.length === 1 && typeof first === "string";
  return { status: 200, pieces: isText ? [`${head}${first}}`] : [head, ...pieces, "}"] };
}

/** `head`, an object without its closing brace, and `members`, which are those of another one with its brace. */
function spliced(head: string, members: string | Buffer): readonly (string | Buffer)[] {
  if (typeof members === "string") return [`${head}${EMPTY_MEMBERS.test(members) ? "" : ","}${members}`];
  return [EMPTY_MEMBERS.test(members.toString("latin1", 0, 64)) ? head : `${head},`, members];
}

const EMPTY_MEMBERS = /^\s*\}/;

/** What the client may keep. A later round depends on answers that are no part of its key, so it may keep nothing. */
function cacheHintsFor(call: Call, freshness: Freshness | undefined): Freshness | undefined {
  if (!CACHEABLE_METHODS.has(call.method)) return undefined;
  if (freshness === undefined || call.inputResponses !== undefined) return NOT_CACHEABLE;
  return { ttlMs: wholeMs(freshness.ttlMs), scope: freshness.scope };
}

/** Servers may say what they like, `1e999` too; the hint must be an integer that is not negative. */
const wholeMs = (ms: number): number =>
  Number.isFinite(ms) ? Math.min(Math.max(0, Math.floor(ms)), Number.MAX_SAFE_INTEGER) : 0;

/** HTTP statuses of this era (basic/transports/streamable-http); what it does not speak of is answered with 200. */
function statusOf(code: number, refusal: string | undefined): number {
  switch (code) {
    case CODE.methodNotFound:
      return 404;
    case CODE.headerMismatch:
    case CODE.missingClientCapability:
    case CODE.unsupportedProtocolVersion:
      return 400;
    default:
      return refusal !== undefined && isErrorCode(refusal) ? ERRORS[refusal].http : 200;
  }
}

const isErrorCode = (word: string): word is ErrorCode => Object.hasOwn(ERRORS, word);

const inputNotAllowed = (method: string): RpcError => ({
  code: CODE.internalError,
  message: `the server asked for input in reply to ${method}, where the protocol does not allow it`,
});

/** The result of `call` for a modern host; the same object where nothing changes. */
function upgradeResult(result: Payload, { method }: Call): Payload {
  const isAffected = method === "tools/list" && AFFECTED.some((member) => result.mayContain(member));
  return isAffected ? upgradedList(result) : result;
}

const ANNOTATION = "x-mcp-header";
const AFFECTED = ['"taskSupport"', `"${ANNOTATION}"`];

/** By list page, which is made once and sent many times. Each belongs to one catalog, so gateways share no entry. */
const upgradedLists = new WeakMap<Payload, Payload>();

function upgradedList(list: Payload): Payload {
  const before = upgradedLists.get(list);
  if (before !== undefined) return before;
  const { tools } = list.object;
  const upgraded = Array.isArray(tools)
    ? Payload.ofObject({ ...list.object, tools: tools.map(upgradedTool) })
    : list;
  upgradedLists.set(list, upgraded);
  return upgraded;
}

const upgradedTool = (tool: unknown): unknown =>
  isObject(tool) ? withValidParamHeaders(withoutTaskSupport(tool)) : tool;

/**
 * In this era the server decides call by call whether a call becomes a task, and the gateway waits for a tool that runs only
 * as a task (SEP-2663, "Backward Compatibility").
 */
function withoutTaskSupport(tool: JsonObject): JsonObject {
  const execution = objectAt(tool, "execution");
  if (execution === undefined) return tool;
  const kept: JsonObject = without(execution, ["taskSupport"]);
  return Object.keys(kept).length > 0 ? { ...tool, execution: kept } : without(tool, ["execution"]);
}

/**
 * The tool without its `x-mcp-header` annotations where one of them breaks a rule: hosts must drop such a tool (2026-07-28,
 * server/tools, "x-mcp-header"), and an older server may use that key for something else.
 */
function withValidParamHeaders(tool: JsonObject): JsonObject {
  const schema = objectAt(tool, "inputSchema");
  return paramHeaders(schema).fault === undefined
    ? tool
    : { ...tool, inputSchema: withoutAnnotations(schema) };
}

function withoutAnnotations(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutAnnotations);
  return isObject(schema) ? mapSubschemas(without(schema, [ANNOTATION]), withoutAnnotations) : schema;
}
