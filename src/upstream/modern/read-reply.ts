/** Which reply is the response of a 2026-07-28 server? `resultType` decides. */ import type {
  Call,
  Freshness,
  Reply,
} from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { TASK_METHODS, TASKS_EXTENSION } from "../../core/methods.js";
import { codeOf, type Envelope, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, numberOf, objectAt, stringAt, without } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { errorForClient } from "../protocol/hop-errors.js";
import { INTERACTIVE_METHODS } from "../protocol/questions.js";
import { invalidQuestionError, readQuestions, resultFault } from "../protocol/read-questions.js";

/** The reply for `message`; a result that the client cannot get is an error reply. */
export function readReply(server: string, call: Call, message: Envelope): Reply {
  if (message.error !== undefined) return { kind: "error", error: readError(server, call, message.error) };
  const result = message.result ?? {};
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
    message: `${server} answered with a result of a type ${named}, which the gateway cannot carry here`,
  };
}
