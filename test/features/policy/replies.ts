/** Replies of servers that ask something, and calls that come back with the answers. */
import type { Call, Handler, InputResponses, Reply } from "../../../src/core/call.js";
import { type JsonObject, objectAt, stringAt } from "../../../src/wire/json.js";
import { clientOf, result } from "../../support/calls.js";

export const asksPeople = clientOf({ capabilities: { elicitation: {}, sampling: {}, roots: {} } });
export const object = (reply: Reply): JsonObject => (reply.kind === "result" ? reply.result.object : {});

/** A reply with questions, by their keys. */
export const questions = (requests: JsonObject, server?: string): Reply => ({
  kind: "input_required",
  requests,
  ...(server !== undefined && { state: { server } }),
});
export const elicitation = (message: string, more: JsonObject = {}) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: {} }, ...more },
});
export const sampling = (params: JsonObject = {}) => ({
  method: "sampling/createMessage",
  params: { messages: [], maxTokens: 5000, includeContext: "allServers", ...params },
});
export const roots = { method: "roots/list" };

/** A server that sends these replies in order, and then returns its last input. */
export const inTurn = (...replies: readonly Reply[]): Handler => {
  let turn = 0;
  return async (call) => {
    turn += 1;
    return replies[turn - 1] ?? result({ told: call.inputResponses ?? null });
  };
};

export const messageOf = (reply: Reply): string => {
  const asked = reply.kind === "input_required" ? reply.requests["cardea/approval"] : undefined;
  return stringAt(objectAt(asked as JsonObject | undefined, "params"), "message") ?? "";
};

/** The call again, with answers to what the reply asked. */
export function again(call: Call, reply: Reply, responses: JsonObject): Call {
  const state = reply.kind === "input_required" ? reply.state : undefined;
  const inputResponses: InputResponses = { responses, ...(state !== undefined && { state }) };
  return { ...call, inputResponses };
}
