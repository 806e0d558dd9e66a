/** May this call be made, and may its server ask these questions? Applies the rules. */
import type { RuleConfig } from "../config/config.js";
import type { Call, Handler, Middleware, PolicyRoundState, Reply, Route } from "../core/call.js";
import { GatewayError, unknownTarget } from "../core/errors.js";
import { RESUMABLE_METHODS, TASK_METHODS, targetOf } from "../core/methods.js";
import { newRoundId } from "../resilience/used-rounds.js";
import { codeOf } from "../wire/envelope.js";
import { isObject } from "../wire/json.js";
import { CODE } from "../wire/names.js";
import { type Approvals, supportsFormElicitation } from "./approvals.js";
import { identityOf } from "./identity.js";
import {
  evaluateQuestions,
  type InputRequired,
  type QuestionEvaluator,
  TaskQuestions,
  withRefusals,
} from "./questions.js";
import { redactedCall, redactedReply, redactRefusal } from "./redaction/messages.js";
import type { RuleRedactions } from "./redaction/rule-redactions.js";
import { evaluateMethodYielding } from "./rules/method-inputs.js";
import {
  argsOf,
  type Decision,
  type PolicyInput,
  type RedactingRule,
  redacts,
} from "./rules/policy-input.js";

/** Consecutive rounds of refused questions before the call fails. */
const MAX_REFUSED_ROUNDS = 8;

/**
 * Belongs below `sealedState`, whose word it takes for what comes back with answers, and above the limits: what
 * is refused here costs nothing. Calls without a route have no target that a rule could be about.
 */
export function access(
  evaluator: QuestionEvaluator,
  approvals: Approvals,
  redactions: RuleRedactions,
): Middleware {
  const rules = new AccessRules(evaluator, approvals, redactions);
  return (next) =>
    function access(call) {
      return rules.apply(call, next);
    };
}

/** The rules of one config. */
class AccessRules {
  readonly #evaluator: QuestionEvaluator;
  readonly #approvals: Approvals;
  readonly #redactions: RuleRedactions;
  readonly #taskQuestions: TaskQuestions;

  constructor(evaluator: QuestionEvaluator, approvals: Approvals, redactions: RuleRedactions) {
    this.#evaluator = evaluator;
    this.#approvals = approvals;
    this.#redactions = redactions;
    this.#taskQuestions = new TaskQuestions(evaluator);
  }

  /** @throws GatewayError for a call that a rule refuses or hides */
  async apply(call: Call, next: Handler): Promise<Reply> {
    const { route } = call;
    if (route === undefined) return next(call);
    const round = call.inputResponses?.state?.policy;
    if (TASK_METHODS.has(call.method)) return this.#handleTask(call, route, round, next);
    if (route.kind === "methods") return this.#handleMethod(call, route, round, next);
    const input = { on: "call", route, client: call.client, args: argsOf(call) } as const;
    const evaluated = this.#evaluator.ruleSet.evaluateYielding(input);
    const decision = evaluated instanceof Promise ? await evaluated : evaluated;
    const { effect, rule } = decision;
    // A later round is the same call: it counts again only where it is refused.
    const counts = call.inputResponses?.state === undefined || effect === "hide" || effect === "deny";
    if ((rule !== undefined || effect !== "allow") && effect !== "approve" && counts) {
      this.#evaluator.log.add(call, route, "call", decision);
    }
    if (effect === "hide") throw unknownTargetError(call, route);
    if (effect === "deny") throw this.#refusalFor(input, rule);
    if (effect === "approve" && rule !== undefined) {
      const question = await this.#requireApproval(call, route, rule, decision, round);
      if (question !== undefined) return question;
    }
    const approved = effect === "approve" && rule !== undefined ? identityOf(rule) : undefined;
    const rules = redactingRules(decision);
    return rules.length === 0
      ? this.#forward(call, route, round, approved, next)
      : this.#forwardRedacted(call, route, round, approved, next, rules);
  }

  /** `forward`, without what the rules take out of the call and its reply. */
  async #forwardRedacted(
    call: Call,
    route: Route,
    round: PolicyRoundState | undefined,
    approved: string | undefined,
    next: Handler,
    rules: readonly RedactingRule[],
  ): Promise<Reply> {
    const each = rules.map((redacting) => this.#redactions.of(redacting));
    let redactedInput = call;
    for (const both of each) redactedInput = await redactedCall(redactedInput, both);
    if (call.record !== undefined && rules.length > 0)
      call.record.forwardedArguments = redactedInput.params.arguments;
    let reply = await redactRefusal(this.#forward(call, route, round, approved, next, redactedInput), each);
    for (const { results } of each) reply = await redactedReply(reply, results);
    return reply;
  }

  /**
   * The approval question, as the reply to the call; undefined where the approval was given.
   * @throws GatewayError where it was not given, or the host cannot ask for it
   */
  async #requireApproval(
    call: Call,
    route: Route,
    rule: RuleConfig,
    decision: Decision,
    round: PolicyRoundState | undefined,
  ): Promise<Reply | undefined> {
    const { log } = this.#evaluator;
    const logDenied = (error: GatewayError): GatewayError => {
      log.add(call, route, "call", { ...decision, effect: "deny" });
      return error;
    };
    // Other methods about a target, such as completions, cannot ask for approval.
    if (!RESUMABLE_METHODS.has(call.method)) throw logDenied(approvalNotPossible(call, route, rule));
    if (round?.asked !== undefined) {
      const { nonce } = round.asked;
      const answer = await this.#approvals.accept(rule, call, route, round.asked);
      log.recordAnswer(call, route, decision, answer === "accepted" ? answer : "declined", nonce);
      if (call.record !== undefined) call.record.approval = answer;
      if (answer !== "accepted") throw notApproved(route, rule);
      return undefined;
    }
    if (round?.approved === identityOf(rule)) {
      await this.#approvals.continueApproved(call);
      return undefined;
    }
    if (await this.#approvals.isRemembered(rule, call, route)) {
      // A later round is the same call, and was counted with the first.
      if (call.inputResponses?.state === undefined) log.recordAnswer(call, route, decision, "remembered");
      return undefined;
    }
    // Asking now would throw away a round that the server has begun, and run its tool a second time.
    if (call.inputResponses?.state !== undefined) throw logDenied(approvalAddedMidCall(route, rule));
    if (!supportsFormElicitation(call)) throw logDenied(hostLacksElicitation(route, rule));
    const nonce = newRoundId(Date.now());
    log.recordQuestion(call, route, decision, nonce);
    return this.#approvals.request(rule, call, route, nonce, this.#evaluator.ruleSet.conditionWords);
  }

  /** Evaluates a method without a target together with every target that it names. */
  async #handleMethod(
    call: Call,
    route: Route,
    round: PolicyRoundState | undefined,
    next: Handler,
  ): Promise<Reply> {
    const { decision, input, redacting } = await evaluateMethodYielding(this.#evaluator.ruleSet, call, route);
    const { effect, rule } = decision;
    // A method that MCP does not define cannot be approved: its effect is unknown.
    const isRefused = effect === "hide" || effect === "deny" || effect === "approve";
    const counts = isRefused || call.inputResponses?.state === undefined;
    if ((rule !== undefined || effect !== "allow") && counts) {
      this.#evaluator.log.add(
        call,
        route,
        "call",
        effect === "approve" ? { ...decision, effect: "deny" } : decision,
      );
    }
    if (effect === "hide") throw unknownTarget(input.route.kind, input.route.exposed);
    if (effect === "deny") throw this.#refusalFor(input, rule);
    if (effect === "approve" && rule !== undefined) throw approvalNotPossible(call, input.route, rule);
    // A list of tasks contains the status of tasks of any tool.
    const ofTasks =
      call.method === "tasks/list" ? this.#evaluator.ruleSet.mayRedactAt(call.client, route.upstream) : [];
    const rules = [...new Set([...redacting.flatMap(redactingRules), ...ofTasks])];
    return this.#forwardRedacted(call, route, round, undefined, next, rules);
  }

  #refusalFor(input: PolicyInput, rule: RuleConfig | undefined): GatewayError {
    const scopes = input.client.principal.byToken ? this.#evaluator.ruleSet.missingScopes(input) : undefined;
    return scopes === undefined
      ? deniedError(input.route, rule)
      : insufficientScope(input.route, rule, scopes);
  }

  /** A task is not evaluated a second time; its questions and results are. */
  async #handleTask(
    call: Call,
    route: Route,
    round: PolicyRoundState | undefined,
    next: Handler,
  ): Promise<Reply> {
    const redacting = this.#evaluator.ruleSet
      .mayRedact(call.client, route)
      .map((rule) => this.#redactions.of(rule));
    let redactedInput = call;
    for (const both of redacting) redactedInput = await redactedCall(redactedInput, both);
    let reply = await redactRefusal(
      this.#forward(call, route, round, undefined, next, redactedInput),
      redacting,
    );
    reply = await this.#taskQuestions.filterReply(call, route, reply, next);
    for (const { results } of redacting) reply = await redactedReply(reply, results);
    return reply;
  }

  /**
   * Forwards the call, as `sent`, which may be redacted: rules for questions see the whole arguments. Rounds whose questions
   * are all refused are answered here; others go to the host.
   */
  async #forward(
    call: Call,
    route: Route,
    round: PolicyRoundState | undefined,
    approved: string | undefined,
    next: Handler,
    sent: Call = call,
  ): Promise<Reply> {
    let rounds = round?.rounds ?? 0;
    let reply = await next(resumedCall(sent, round));
    for (let refusedRounds = 0; reply.kind === "input_required"; ) {
      rounds += 1;
      const { asked, refused } = await evaluateQuestions(
        this.#evaluator,
        call,
        route,
        reply.requests,
        rounds,
      );
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

  /** Adds what the policy must know in the next round; unchanged where that is nothing. */
  #withRoundState(reply: InputRequired, round: PolicyRoundState): Reply {
    const isNeeded =
      round.approved !== undefined || round.refused !== undefined || this.#evaluator.ruleSet.countsRounds;
    return isNeeded ? { ...reply, state: { ...reply.state, policy: round } } : reply;
  }

  /** A server may answer with an error that names pages a person must visit; that is a question too. */
  async #evaluateUrlError(call: Call, route: Route, reply: ErrorReply, round: number): Promise<Reply> {
    const { elicitations } = isObject(reply.error.data) ? reply.error.data : {};
    const pages = Array.isArray(elicitations) ? (elicitations as readonly unknown[]) : [];
    const requests = pages.map((params, at) => [String(at), { method: "elicitation/create", params }]);
    const { refused } = await evaluateQuestions(
      this.#evaluator,
      call,
      route,
      Object.fromEntries(requests),
      round,
    );
    if (Object.keys(refused).length > 0) throw urlNotAllowed(route);
    return reply;
  }
}

type ErrorReply = Extract<Reply, { kind: "error" }>;
const isUrlElicitationError = (reply: Reply): reply is ErrorReply =>
  reply.kind === "error" && codeOf(reply.error) === CODE.urlElicitationRequired;

const NO_RULES: readonly RedactingRule[] = [];

/** Usually none, or the deciding one. */
const redactingRules = ({ rule, redacting = NO_RULES }: Decision): readonly RedactingRule[] =>
  rule !== undefined && redacts(rule) ? [rule, ...redacting] : redacting;

/** The call as its server knows it: with the answers that are for the server, and its own state. */
function resumedCall(call: Call, round: PolicyRoundState | undefined): Call {
  if (round === undefined || call.inputResponses === undefined) return call;
  const { inputResponses, ...rest } = call;
  // The answer was for the gateway's own question; the call has not reached the server yet.
  if (round.asked !== undefined) return rest;
  const { policy: _, ...state } = inputResponses.state ?? {};
  const others = Object.keys(state).length > 0 ? state : undefined;
  return { ...rest, inputResponses: withRefusals(inputResponses, round.refused ?? {}, others) };
}

/** The same error as for a target that does not exist. */
function unknownTargetError(call: Call, route: Route): GatewayError {
  return unknownTarget(route.kind, targetOf(call.method, call.params)?.name ?? route.exposed);
}

/** The refusal of a call, or of what its server asks. */
const denied = (route: Route, message: string, rule?: RuleConfig): GatewayError =>
  new GatewayError("denied", "gateway", message, {
    server: route.upstream,
    ...(rule !== undefined && { rule: rule.name }),
  });

const deniedError = (route: Route, rule: RuleConfig | undefined): GatewayError =>
  denied(route, rule?.message ?? `"${route.exposed}" is not allowed here`, rule);

/** A client with a token can request another one, so the error names the scopes it must grant. */
function insufficientScope(
  { exposed, upstream: server }: Route,
  rule: RuleConfig | undefined,
  scopes: readonly string[],
): GatewayError {
  const message = `"${exposed}" needs a token that grants ${scopes.join(" ")}`;
  const named = rule !== undefined && { rule: rule.name };
  return new GatewayError("forbidden", "gateway", message, { server, scopes, ...named });
}

const hostLacksElicitation = (route: Route, rule: RuleConfig): GatewayError =>
  denied(route, `"${route.exposed}" needs a person's approval, and this host cannot ask for it`, rule);

const notApproved = ({ exposed, upstream: server }: Route, { name: rule }: RuleConfig): GatewayError =>
  new GatewayError("approval_declined", "downstream", `"${exposed}" was not approved`, { rule, server });

const approvalNotPossible = ({ method }: Call, route: Route, rule: RuleConfig): GatewayError =>
  denied(route, `"${route.exposed}" needs an approval, which ${method} cannot ask for`, rule);

const approvalAddedMidCall = (route: Route, rule: RuleConfig): GatewayError =>
  denied(route, `"${route.exposed}" needs an approval since this call began`, rule);

const urlNotAllowed = (route: Route): GatewayError =>
  denied(route, `"${route.upstream}" may not open the URL it asks for`);

const tooManyRefusedRounds = (route: Route): GatewayError =>
  denied(route, `"${route.upstream}" keeps asking for what policy refuses`);
