/** May this call be made, and may its server ask these questions? Applies the rules. */

import type { Call, Handler, Middleware, PolicyRoundState, Reply, Route } from "../../core/call.js";
import type { CallConstraint } from "../../core/call-constraint.js";
import { GatewayError, unknownTarget } from "../../core/errors.js";
import { RESUMABLE_METHODS, TASK_METHODS, targetOf } from "../../core/methods.js";
import { QuestionRounds } from "../../resilience/question-rounds.js";
import { newRoundId } from "../../resilience/used-rounds.js";
import { type Approvals, shownIdentity, supportsFormElicitation } from "./approvals.js";
import type { RuleConfig } from "./config.js";
import { constrainedDecision } from "./constrained-rules.js";
import { identityOf } from "./identity.js";
import { type QuestionEvaluator, questionRules } from "./questions.js";
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
import type { SecondPerson } from "./second-person/second-person.js";
import { shownArguments } from "./second-person/shown-arguments.js";

/**
 * Belongs below `sealedState`, which has verified the state that comes back with answers, and above the limits: what
 * is refused here costs nothing. Calls without a route have no target that a rule could be about.
 */
export function access(
  evaluator: QuestionEvaluator,
  approvals: Approvals,
  redactions: RuleRedactions,
  secondPerson: SecondPerson,
  constraints: readonly CallConstraint[] = [],
): Middleware {
  const rules = new AccessRules(evaluator, approvals, redactions, secondPerson, constraints);
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
  readonly #secondPerson: SecondPerson;
  readonly #constraints: readonly CallConstraint[];
  readonly #rounds: QuestionRounds;

  constructor(
    evaluator: QuestionEvaluator,
    approvals: Approvals,
    redactions: RuleRedactions,
    secondPerson: SecondPerson,
    constraints: readonly CallConstraint[],
  ) {
    this.#constraints = constraints;
    this.#evaluator = evaluator;
    this.#approvals = approvals;
    this.#redactions = redactions;
    this.#secondPerson = secondPerson;
    this.#rounds = new QuestionRounds(questionRules(evaluator));
  }

  /** @throws GatewayError for a call that a rule refuses or hides */
  async apply(call: Call, next: Handler): Promise<Reply> {
    const { route } = call;
    if (route === undefined) return next(call);
    const round = call.inputResponses?.state?.policy;
    if (TASK_METHODS.has(call.method)) return this.#handleTask(call, route, next);
    if (route.kind === "methods") return this.#handleMethod(call, route, next);
    const input = { on: "call", route, client: call.client, args: argsOf(call) } as const;
    const evaluated = this.#evaluator.ruleSet.evaluateYielding(input);
    const byRules = evaluated instanceof Promise ? await evaluated : evaluated;
    const together = constrainedDecision(this.#constraints, call, route, byRules);
    const { decision, observed } = together instanceof Promise ? await together : together;
    const { effect, rule } = decision;
    // With the config that is in effect now the call needs no approver.
    if (round?.waits !== undefined && (effect !== "approve" || rule?.approvers === undefined))
      this.#secondPerson.withdraw(round.waits.id);
    // A later round is the same call: it counts again only where it is refused.
    const counts = call.inputResponses?.state === undefined || effect === "hide" || effect === "deny";
    if ((rule !== undefined || effect !== "allow") && effect !== "approve" && counts) {
      this.#evaluator.log.add(call, route, "call", decision);
    }
    if (observed !== undefined && counts) this.#logObserved(call, route, observed);
    if (effect === "hide") throw unknownTargetError(call, route);
    // More scopes do not help against a constraint.
    if (effect === "deny")
      throw decision === byRules ? this.#refusalFor(input, rule) : deniedError(route, rule);
    if (effect === "approve" && rule !== undefined) {
      const question = await this.#requireApproval(call, route, rule, decision, round);
      if (question !== undefined) return question;
    }
    const approved = effect === "approve" && rule !== undefined ? identityOf(rule) : undefined;
    const rules = redactingRules(decision);
    return rules.length === 0
      ? this.#rounds.forward(call, route, next, approved)
      : this.#forwardRedacted(call, route, next, approved, rules);
  }

  /** What would have become of the call is in its record, and among the decisions. */
  #logObserved(call: Call, route: Route, rule: RuleConfig): void {
    this.#evaluator.log.add(call, route, "call", { effect: "observe", rule });
  }

  /** Forwards the call, without what the rules take out of it and its reply. */
  async #forwardRedacted(
    call: Call,
    route: Route,
    next: Handler,
    approved: string | undefined,
    rules: readonly RedactingRule[],
  ): Promise<Reply> {
    const each = rules.map((redacting) => this.#redactions.of(redacting));
    let redactedInput = call;
    for (const both of each) redactedInput = await redactedCall(redactedInput, both);
    if (call.record !== undefined && rules.length > 0)
      call.record.forwardedArguments = redactedInput.params.arguments;
    let reply = await redactRefusal(this.#rounds.forward(call, route, next, approved, redactedInput), each);
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
    if (
      rule.approvers !== undefined &&
      (round?.waits !== undefined || call.inputResponses?.state === undefined)
    )
      return this.#requireOthers(call, route, rule, decision);
    // Asking now would throw away a round that the server has begun, and run its tool a second time.
    if (call.inputResponses?.state !== undefined) throw logDenied(approvalAddedMidCall(route, rule));
    if (!supportsFormElicitation(call)) throw logDenied(hostLacksElicitation(route, rule));
    const nonce = newRoundId(Date.now());
    log.recordQuestion(call, route, decision, nonce);
    return this.#approvals.request(rule, call, route, nonce, this.#evaluator.ruleSet.conditionWords);
  }

  /** The reply for another round while no approver has decided; undefined where another person has approved the call. @throws GatewayError otherwise */
  async #requireOthers(
    call: Call,
    route: Route,
    rule: RuleConfig,
    decision: Decision,
  ): Promise<Reply | undefined> {
    const { log, ruleSet } = this.#evaluator;
    // What a rule takes out where it decides, an approver need not see either.
    const redacting = ruleSet.redactingRulesOf(call.client, route).map((each) => this.#redactions.of(each));
    const outcome = await this.#secondPerson.wait({
      ...{ call, route, rule },
      shown: await shownIdentity(call, route),
      args: () => shownArguments(call, route, redacting, ruleSet.conditionWords),
      onOpened: (id) => log.recordQuestion(call, route, decision, id),
    });
    if (outcome.kind === "again") return outcome.reply;
    const { id, end } = outcome;
    if (end === "accepted") await this.#approvals.acceptOther(rule, call, route, id);
    log.recordAnswer(call, route, decision, end === "accepted" ? end : "declined", id);
    if (end !== "accepted") throw notApprovedByOthers(route, rule, end);
    return undefined;
  }

  /** Evaluates a method without a target together with every target that it names. */
  async #handleMethod(call: Call, route: Route, next: Handler): Promise<Reply> {
    const evaluated = await evaluateMethodYielding(this.#evaluator.ruleSet, call, route);
    const { input, redacting } = evaluated;
    const together = await constrainedDecision(this.#constraints, call, route, evaluated.decision);
    const { decision, observed } = together;
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
    if (observed !== undefined && counts) this.#logObserved(call, route, observed);
    if (effect === "hide") throw unknownTarget(input.route.kind, input.route.exposed);
    if (effect === "deny")
      throw decision === evaluated.decision ? this.#refusalFor(input, rule) : deniedError(route, rule);
    if (effect === "approve" && rule !== undefined) throw approvalNotPossible(call, input.route, rule);
    // A list of tasks contains the status of tasks of any tool.
    const ofTasks =
      call.method === "tasks/list" ? this.#evaluator.ruleSet.mayRedactAt(call.client, route.upstream) : [];
    const rules = [...new Set([...redacting.flatMap(redactingRules), ...ofTasks])];
    if (counts) countRedactions(redacting, decision);
    return this.#forwardRedacted(call, route, next, undefined, rules);
  }

  #refusalFor(input: PolicyInput, rule: RuleConfig | undefined): GatewayError {
    const scopes = input.client.principal.byToken ? this.#evaluator.ruleSet.missingScopes(input) : undefined;
    return scopes === undefined
      ? deniedError(input.route, rule)
      : insufficientScope(input.route, rule, scopes);
  }

  /** A task is not evaluated a second time; its questions and results are. */
  async #handleTask(call: Call, route: Route, next: Handler): Promise<Reply> {
    const redacting = this.#evaluator.ruleSet
      .mayRedact(call.client, route)
      .map((rule) => this.#redactions.of(rule));
    let redactedInput = call;
    for (const both of redacting) redactedInput = await redactedCall(redactedInput, both);
    let reply = await redactRefusal(
      this.#rounds.forward(call, route, next, undefined, redactedInput),
      redacting,
    );
    reply = await this.#rounds.filterTask(call, route, reply, next);
    for (const { results } of redacting) reply = await redactedReply(reply, results);
    return reply;
  }
}

const NO_RULES: readonly RedactingRule[] = [];

/** Usually none, or the deciding one. */
const redactingRules = ({ rule, redacting = NO_RULES }: Decision): readonly RedactingRule[] =>
  rule !== undefined && redacts(rule) ? [rule, ...redacting] : redacting;

/** Of the rules that redact what another one decides. */
function countRedactions(decisions: readonly Decision[], { hits: decisive }: Decision): void {
  const others = decisions.flatMap(({ rule, hits }) =>
    rule !== undefined && redacts(rule) && hits !== undefined && hits !== decisive ? [hits] : [],
  );
  for (const hits of new Set(others)) hits.add();
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

function notApprovedByOthers(
  { exposed, upstream: server }: Route,
  { name: rule }: RuleConfig,
  end: "declined" | "expired" | "withdrawn",
): GatewayError {
  const sentence =
    end === "declined"
      ? `an approver declined "${exposed}"`
      : `no approver decided about "${exposed}" in time; call again to ask once more`;
  const reason = end === "declined" ? "declined" : "expired";
  return new GatewayError("approval_declined", "downstream", sentence, { rule, server, reason });
}

const approvalNotPossible = ({ method }: Call, route: Route, rule: RuleConfig): GatewayError =>
  denied(route, `"${route.exposed}" needs an approval, which ${method} cannot ask for`, rule);

const approvalAddedMidCall = (route: Route, rule: RuleConfig): GatewayError =>
  denied(route, `"${route.exposed}" needs an approval since this call began`, rule);
