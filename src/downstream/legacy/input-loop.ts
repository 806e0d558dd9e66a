/** Asks a legacy client for what a call still needs, and makes the call again with the answers. */

import { type Call, type InputAnswers, nextCallId, type Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { Handler } from "../../core/handler.js";
import { REFUSAL_META, refusalError, refusalOf } from "../../core/refusal.js";
import type { StopSignal } from "../../core/stop.js";
import type { RpcError } from "../../wire/envelope.js";
import { isObject, stringAt } from "../../wire/json.js";
import { Payload } from "../../wire/payload.js";
import { askClient, type Outcome } from "./ask-client.js";
import type { Outlet } from "./place.js";
import type { Session } from "./session.js";

type InputRequired = Extract<Reply, { kind: "input_required" }>;

export interface InputLoopSettings {
  /** Rounds of questions one call may take; then it fails. */
  readonly maxRounds: number;
  /** The wait before a call is made again for which nothing was asked, in ms. */
  readonly paceMs: number;
  /** Hears how long a round of questions took to be answered. */
  readonly onAsked: (kind: string, waitedMs: number) => void;
}

export interface Asking {
  readonly session: Session;
  /** The place of the request: what a call asks goes where its answer will go. */
  readonly outlet: Outlet;
  /** The call will not be made again: whoever waits for its next round need not. */
  abandon(): void;
}

/**
 * Goes on with `call`, whose reply so far is `first`, until there is a result or an error. The server sees one
 * more round each time, with a call id of its own and exactly its own state
 * (2026-07-28, basic/patterns/mrtr, "Client Requirements").
 */
export async function inputLoop(
  next: Handler,
  call: Call,
  first: InputRequired,
  asking: Asking,
  settings: InputLoopSettings,
): Promise<Reply> {
  let reply: Reply = first;
  let refused: ReadonlySet<string> = new Set();
  for (let round = 1; reply.kind === "input_required"; round += 1) {
    const obstacle = obstacleTo(reply, round, refused, settings.maxRounds);
    if (obstacle !== undefined) {
      asking.abandon();
      return failure(call, obstacle);
    }
    const answers: Answers = await answersTo(reply, call, asking, settings);
    if (answers.kind === "cancelled") return { kind: "error", error: refusalError(answers.error) };
    refused = answers.refused;
    reply = await next({ ...call, id: nextCallId(), answers: answers.answers });
  }
  return reply;
}

function obstacleTo(
  reply: InputRequired,
  round: number,
  refused: ReadonlySet<string>,
  maxRounds: number,
): string | undefined {
  const keys = Object.keys(reply.requests);
  if (keys.length === 0 && reply.state === undefined)
    return "the server asked for more input without saying what";
  if (round > maxRounds) return `the server asked for more input ${maxRounds} times`;
  // A server that cannot be told of a refusal finds an answer missing and asks for it again, without end.
  const again = keys.find((key) => refused.has(key));
  return again === undefined
    ? undefined
    : `the server needs an answer that the client cannot or will not give`;
}

type Answers =
  | { readonly kind: "answers"; readonly answers: InputAnswers; readonly refused: ReadonlySet<string> }
  | { readonly kind: "cancelled"; readonly error: GatewayError };

/** Asks everything at once, each question for itself: one that is refused takes none of the others with it. */
async function answersTo(
  reply: InputRequired,
  call: Call,
  asking: Asking,
  settings: InputLoopSettings,
): Promise<Answers> {
  const questions = Object.entries(reply.requests);
  if (questions.length === 0) await pause(settings.paceMs, call.signal);
  try {
    const outcomes = await Promise.all(
      questions.map(async ([key, question]) => [key, await ask(question, call, asking, settings)] as const),
    );
    return {
      kind: "answers",
      answers: { ...readOutcomes(outcomes), ...(reply.state !== undefined && { state: reply.state }) },
      refused: new Set(outcomes.flatMap(([key, outcome]) => (isLost(outcome) ? [key] : []))),
    };
  } catch (error) {
    if (error instanceof GatewayError) return { kind: "cancelled", error };
    throw error;
  }
}

async function ask(
  question: unknown,
  call: Call,
  asking: Asking,
  settings: InputLoopSettings,
): Promise<Outcome> {
  const began = performance.now();
  const outcome = await askClient(asking.session, question, asking.outlet, call.signal);
  settings.onAsked(methodOf(question), performance.now() - began);
  return outcome;
}

/** Nothing at all can be given to the server in its place. */
const isLost = (outcome: Outcome): boolean => outcome.kind === "refused" && outcome.instead === undefined;

function readOutcomes(outcomes: readonly (readonly [string, Outcome])[]): InputAnswers {
  const responses: [string, unknown][] = [];
  const refusals: [string, RpcError][] = [];
  for (const [key, outcome] of outcomes) {
    if (outcome.kind === "answered") responses.push([key, outcome.result]);
    else {
      refusals.push([key, outcome.error]);
      if (outcome.instead !== undefined) responses.push([key, outcome.instead]);
    }
  }
  return {
    responses: Object.fromEntries(responses),
    ...(refusals.length > 0 && { refusals: Object.fromEntries(refusals) }),
  };
}

/** A tool that gets no answers has failed as a tool: a model can read that and go on. */
function failure(call: Call, sentence: string): Reply {
  const error = new GatewayError("denied", "gateway", sentence);
  if (call.method !== "tools/call") return { kind: "error", error: refusalError(error), refusal: error.code };
  const content = [{ type: "text", text: `${sentence}.` }];
  const result = { content, isError: true, _meta: { [REFUSAL_META]: refusalOf(error) } };
  return { kind: "result", result: Payload.ofObject(result), refusal: error.code };
}

const methodOf = (question: unknown): string =>
  (isObject(question) ? stringAt(question, "method") : undefined) ?? "unknown";

function pause(ms: number, signal: StopSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener("abort", over);
  });
}
