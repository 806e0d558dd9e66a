/** Which questions of a server reach the host of its call? The others are answered in its place. */
import type { Call, Handler, PolicyRoundState, Reply, Route } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { codeOf } from "../wire/envelope.js";
import { isObject } from "../wire/json.js";
import { CODE } from "../wire/names.js";
import { evaluateQuestions, type QuestionRules, withRefusals } from "./refused-questions.js";
import { TaskQuestions } from "./task-questions.js";

/** Consecutive rounds of refused questions before the call fails. */
const MAX_REFUSED_ROUNDS = 8;

/** A reply that asks questions. */
export type InputRequired = Extract<Reply, { kind: "input_required" }>;
type ErrorReply = Extract<Reply, { kind: "error" }>;

/** The questions of one config. Belongs below `sealedState`, which has verified the state that comes back with answers. */
export class QuestionRounds {
  readonly #rules: QuestionRules;
  readonly #tasks: TaskQuestions;

  constructor(rules: QuestionRules) {
    this.#rules = rules;
    this.#tasks = new TaskQuestions(rules);
  }

  /**
   * Forwards the call, as `sent`, which may be redacted: rules for questions see the whole arguments. Rounds whose questions
   * are all refused are answered here; others go to the host.
   *
   * @param approved the identity of what has approved the call, for the next round
   */
  async forward(call: Call, route: Route, next: Handler, approved?: string, sent = call): Promise<Reply> {
    const round = call.inputResponses?.state?.policy;
    let rounds = round?.rounds ?? 0;
    let reply = await next(resumedCall(sent, round));
    for (let refusedRounds = 0; reply.kind === "input_required"; ) {
      rounds += 1;
      const { asked, refused } = await evaluateQuestions(this.#rules, call, route, reply.requests, rounds);
      const anyRefused = Object.keys(refused).length > 0;
      if (!anyRefused || Object.keys(asked).length > 0) {
        const now = { rounds, ...(approved !== undefined && { approved }), ...(anyRefused && { refused }) };
        return this.#withRoundState({ ...reply, requests: asked }, now);
      }
      refusedRounds += 1;
      if (refusedRounds > MAX_REFUSED_ROUNDS) throw tooManyRefusedRounds(route);
      // Every question was refused: the server gets the refusals at once.
      reply = await next({ ...sent, inputResponses: withRefusals(undefined, refused, reply.state) });
    }
    return isUrlElicitationError(reply) ? this.#evaluateUrlError(call, route, reply, rounds + 1) : reply;
  }

  /** See `TaskQuestions`. */
  filterTask(call: Call, route: Route, reply: Reply, next: Handler): Promise<Reply> {
    return this.#tasks.filterReply(call, route, reply, next);
  }

  /** Adds what must be known in the next round; unchanged where that is nothing. */
  #withRoundState(reply: InputRequired, round: PolicyRoundState): Reply {
    const isNeeded = round.approved !== undefined || round.refused !== undefined || this.#rules.countsRounds;
    return isNeeded ? { ...reply, state: { ...reply.state, policy: round } } : reply;
  }

  /** A server may answer with an error that names pages a person must visit; that is a question too. */
  async #evaluateUrlError(call: Call, route: Route, reply: ErrorReply, round: number): Promise<Reply> {
    const { elicitations } = isObject(reply.error.data) ? reply.error.data : {};
    const pages = Array.isArray(elicitations) ? (elicitations as readonly unknown[]) : [];
    const requests = pages.map((params, at) => [String(at), { method: "elicitation/create", params }]);
    const { refused } = await evaluateQuestions(
      this.#rules,
      call,
      route,
      Object.fromEntries(requests),
      round,
    );
    if (Object.keys(refused).length > 0) throw urlNotAllowed(route);
    return reply;
  }
}

const isUrlElicitationError = (reply: Reply): reply is ErrorReply =>
  reply.kind === "error" && codeOf(reply.error) === CODE.urlElicitationRequired;

/** The call as its server knows it: with the answers that are for the server, and its own state. */
function resumedCall(call: Call, round: PolicyRoundState | undefined): Call {
  if (round === undefined || call.inputResponses === undefined) return call;
  const { inputResponses, ...rest } = call;
  // The answer was for the gateway's own question; the call has not reached the server yet.
  if (round.asked !== undefined || round.waits !== undefined) return rest;
  const { policy: _, ...state } = inputResponses.state ?? {};
  const others = Object.keys(state).length > 0 ? state : undefined;
  return { ...rest, inputResponses: withRefusals(inputResponses, round.refused ?? {}, others) };
}

const denied = ({ upstream: server }: Route, message: string): GatewayError =>
  new GatewayError("denied", "gateway", message, { server });

const urlNotAllowed = (route: Route): GatewayError =>
  denied(route, `"${route.upstream}" may not open the URL it asks for`);

const tooManyRefusedRounds = (route: Route): GatewayError =>
  denied(route, `"${route.upstream}" keeps asking for what policy refuses`);
