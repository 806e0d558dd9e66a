/** How are the roots of a host known before its call is sent? The host is asked for them, and calls again with the answer. */
import type { Call, Reply, RootsAnswer, RoundState } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { isEmpty, isObject, type JsonObject, without } from "../../wire/json.js";

/** The key of the question; those that servers ask in calls are numbered. */
const KEY = "roots";

/** A call without the answer to the question for roots, and that answer. */
export interface CallWithRoots {
  readonly call: Call;
  /** Undefined where the host has not been asked, or has not answered. */
  readonly roots: RootsAnswer | undefined;
}

/**
 * Separates the answer to the question for roots from the call.
 *
 * @throws GatewayError `state_rejected` where the round was used before: the call runs once for one question
 */
export function readRoots(call: Call): CallWithRoots {
  const { inputResponses } = call;
  const told = inputResponses?.state?.roots;
  if (inputResponses === undefined || told === undefined) return { call, roots: undefined };
  if (inputResponses.round?.isFirst === false)
    throw new GatewayError("state_rejected", "downstream", "the requestState was used already");
  const { state: { roots: _, ...state } = {}, responses, refusals = {}, ...rest } = inputResponses;
  // The host has named them in an earlier round, so the responses of this one are to questions of the server.
  if (told.answer !== undefined) {
    const others = isEmpty(state) ? undefined : { ...inputResponses, state };
    return { call: { ...call, inputResponses: others }, roots: told.answer };
  }
  const answer = Object.hasOwn(responses, KEY) ? responses[KEY] : undefined;
  const refusal = Object.hasOwn(refusals, KEY) ? refusals[KEY] : undefined;
  const others = isEmpty(state)
    ? undefined
    : { ...rest, state, responses: without(responses, [KEY]), refusals: withoutKey(refusals) };
  const roots = refusal === undefined ? resultOf(answer) : { error: refusal };
  return { call: { ...call, inputResponses: others }, roots };
}

const resultOf = (answer: unknown): RootsAnswer | undefined =>
  isObject(answer) ? { result: answer } : undefined;

const withoutKey = <T>(refusals: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(refusals).filter(([key]) => key !== KEY));

/** The reply that asks the host of a call for its roots. */
export const askForRoots = (): Reply => ({
  kind: "input_required",
  requests: { [KEY]: { method: "roots/list" } satisfies JsonObject },
  state: { roots: {} },
});

/** The reply whose next round makes the call again, with `roots`: the host is not asked for them a second time. */
export function withRoots(reply: Reply, roots: RootsAnswer): Reply {
  if (reply.kind !== "input_required" || reply.state?.links === undefined) return reply;
  const state: RoundState = { ...reply.state, roots: { answer: roots } };
  return { ...reply, state };
}
