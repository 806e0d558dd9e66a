/** Asks a legacy client for what a call still needs, and makes the call again with the answers. */

import type { Call, InputResponses, Reply } from "../../core/call.js";
import { notesOfNextRound } from "../../core/call-record.js";
import { GatewayError, REFUSAL_META, refusalError, refusalOf, refusalText } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import type { RpcError } from "../../wire/envelope.js";
import { Payload } from "../../wire/payload.js";
import type { MessageSink } from "./messages.js";
import { type QuestionOutcome, sendQuestion } from "./send-question.js";
import type { Session } from "./session.js";

type InputRequired = Extract<Reply, { kind: "input_required" }>;

/** Rounds of questions one call may take; then it fails. */
const MAX_ROUNDS = 8;
/** Questions of one round. More would take the places of what other servers ask in the same session. */
const MAX_QUESTIONS = 32;
/** The wait (ms) before a call is made again for which nothing was asked. */
const EMPTY_ROUND_DELAY_MS = 250;

/** The request whose call the questions belong to. */
export interface QuestionContext {
  readonly session: Session;
  /** The place of the request: what a call asks goes where its answer will go. */
  readonly sink: MessageSink;
  /** Called where the call gets no further round, so that the server need not wait for one. */
  abandon(): void;
}

/**
 * Continues with `call`, whose reply so far is `first`, until there is a result or an error. The server sees one
 * more round each time, with a call id of its own and exactly its own state
 * (2026-07-28, basic/patterns/mrtr, "Client Requirements").
 */
export async function inputLoop(
  gateway: Pick<GatewayApi, "handle" | "nextCallId">,
  call: Call,
  first: InputRequired,
  context: QuestionContext,
): Promise<Reply> {
  let reply: Reply = first;
  let refused: ReadonlySet<string> = new Set();
  let hasServerReply = false;
  try {
    for (let round = 1; reply.kind === "input_required"; ) {
      const { isWaiting = false } = reply;
      // The session ends with the process, and the state is of no use to the host.
      if (isWaiting === "stopping") return failedReply(call, stopped());
      const reason = stopReason(reply, round, refused);
      if (reason !== undefined) return failedReply(call, new GatewayError("denied", "gateway", reason));
      const answers: RoundResponses = await collectInputResponses(reply, call, context);
      if (answers.kind === "cancelled") return { kind: "error", error: refusalError(answers.error) };
      refused = answers.refused;
      const id = gateway.nextCallId();
      reply = await gateway.handle({
        ...call,
        id,
        inputResponses: answers.answers,
        record: notesOfNextRound(call.record),
      });
      if (!isWaiting) round += 1;
    }
    hasServerReply = reply.refusal === undefined;
    return reply;
  } finally {
    // A round that the gateway refuses never reaches the server, which would wait for it.
    if (!hasServerReply) context.abandon();
  }
}

function stopReason(reply: InputRequired, round: number, refused: ReadonlySet<string>): string | undefined {
  const keys = Object.keys(reply.requests);
  if (keys.length === 0 && reply.sealedState === undefined)
    return "the server asked for more input without a question";
  if (keys.length > MAX_QUESTIONS) return `the server asked ${keys.length} questions at once`;
  if (round > MAX_ROUNDS) return `the server asked for more input ${MAX_ROUNDS} times`;
  // A server that receives no refusals sees a missing answer and would repeat its question without end.
  const again = keys.find((key) => refused.has(key));
  return again === undefined
    ? undefined
    : `the server needs an answer that the client cannot give or refused`;
}

type RoundResponses =
  | { readonly kind: "answers"; readonly answers: InputResponses; readonly refused: ReadonlySet<string> }
  | { readonly kind: "cancelled"; readonly error: GatewayError };

/** Asks everything at once, each question for itself: one that is refused takes none of the others with it. */
async function collectInputResponses(
  reply: InputRequired,
  call: Call,
  context: QuestionContext,
): Promise<RoundResponses> {
  const questions = Object.entries(reply.requests);
  if (questions.length === 0 && reply.isWaiting === undefined) await pause(EMPTY_ROUND_DELAY_MS, call.signal);
  const tracker = new OpenQuestionTracker(reply, call.signal);
  try {
    const outcomes = await Promise.all(
      questions.map(
        async ([key, question]) => [key, await sendRoundQuestion(question, key, tracker, context)] as const,
      ),
    );
    return {
      kind: "answers",
      answers: {
        ...inputResponsesOf(outcomes),
        ...(reply.sealedState !== undefined && { sealedState: reply.sealedState }),
      },
      refused: new Set(outcomes.flatMap(([key, outcome]) => (hasNoFallback(outcome) ? [key] : []))),
    };
  } catch (error) {
    if (error instanceof GatewayError) return { kind: "cancelled", error };
    throw error;
  } finally {
    tracker.stopWatching();
  }
}

/** Undefined for a question that the server took back meanwhile: it wants no answer, and no refusal either. */
async function sendRoundQuestion(
  question: unknown,
  key: string,
  tracker: OpenQuestionTracker,
  context: QuestionContext,
): Promise<QuestionOutcome | undefined> {
  try {
    return await sendQuestion(context.session, question, context.sink, tracker.signalOf(key));
  } catch (error) {
    if (tracker.isCancelled(key)) return undefined;
    throw error;
  }
}

/** Which questions of a round want an answer still: one signal each, because a server may take back some of them. */
class OpenQuestionTracker {
  readonly #signal: StopSignal;
  readonly #stops: ReadonlyMap<string, Stop>;
  readonly #cancelled = new Set<string>();
  readonly #unwatch: () => void;

  constructor({ requests, open }: InputRequired, signal: StopSignal) {
    this.#signal = signal;
    this.#stops = new Map(Object.keys(requests).map((key) => [key, new Stop()]));
    signal.addEventListener("abort", this.#cancelAll);
    if (signal.aborted) this.#cancelAll();
    this.#unwatch = open?.watch((key) => this.#cancel(key)) ?? (() => {});
  }

  signalOf(key: string): StopSignal {
    return this.#stops.get(key)?.signal ?? this.#signal;
  }

  isCancelled(key: string): boolean {
    return this.#cancelled.has(key) && !this.#signal.aborted;
  }

  stopWatching(): void {
    this.#signal.removeEventListener("abort", this.#cancelAll);
    this.#unwatch();
  }

  readonly #cancelAll = (): void => {
    for (const stop of this.#stops.values()) stop.abort(this.#signal.reason);
  };

  #cancel(key: string): void {
    this.#cancelled.add(key);
    const reason = new GatewayError("cancelled", "upstream", "the server cancelled the question");
    this.#stops.get(key)?.abort(reason);
  }
}

/** Nothing at all can be given to the server in its place. */
const hasNoFallback = (outcome: QuestionOutcome | undefined): boolean =>
  outcome?.kind === "refused" && outcome.fallback === undefined;

function inputResponsesOf(
  outcomes: readonly (readonly [string, QuestionOutcome | undefined])[],
): InputResponses {
  const responses: [string, unknown][] = [];
  const refusals: [string, RpcError][] = [];
  const unanswered = new Set<string>();
  for (const [key, outcome] of outcomes) {
    if (outcome === undefined) continue;
    if (outcome.kind === "answered") responses.push([key, outcome.result]);
    else {
      refusals.push([key, outcome.error]);
      if (outcome.isLate === true) unanswered.add(key);
      if (outcome.fallback !== undefined) responses.push([key, outcome.fallback]);
    }
  }
  return {
    responses: Object.fromEntries(responses),
    ...(refusals.length > 0 && { refusals: Object.fromEntries(refusals) }),
    ...(unanswered.size > 0 && { unanswered }),
  };
}

const stopped = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "gateway",
    "the gateway stops while this call waits, so it did not run; call again when the gateway is back",
    { retryable: true },
  );

/** A tool that gets no answers has failed as a tool: a model can read that and continue. */
function failedReply(call: Call, error: GatewayError): Reply {
  if (call.method !== "tools/call") return { kind: "error", error: refusalError(error), refusal: error.code };
  const content = [{ type: "text", text: refusalText(error) }];
  const result = { content, isError: true, _meta: { [REFUSAL_META]: refusalOf(error) } };
  return { kind: "result", result: Payload.ofObject(result), refusal: error.code };
}

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
