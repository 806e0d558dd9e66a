/** Which questions may a server ask of the person and of the model, in a call, a task or a session? Each is evaluated once. */

import type { Call, Route } from "../../core/call.js";
import { type QuestionKind, questionKind, TASK_METHODS } from "../../core/methods.js";
import { noteRefused, type QuestionRules } from "../../resilience/refused-questions.js";
import { isUnsafeUrl } from "../../resilience/safe-links.js";
import { type JsonObject, numberOf, objectAt, without } from "../../wire/json.js";
import type { RuleConfig } from "./config.js";
import type { DecisionLog } from "./decision-log.js";
import { methodArguments } from "./rules/method-inputs.js";
import { argsOf, type Decision } from "./rules/policy-input.js";
import type { RuleSet } from "./rules/rule-set.js";
import { MAX_STEPS_TOGETHER, type WorkBudget } from "./rules/work-budget.js";

/** What evaluating a question takes. */
export interface QuestionEvaluator {
  readonly ruleSet: RuleSet;
  readonly log: DecisionLog;
  /** Spends what the limits have for one question; the name of the limit when there is nothing left. */
  readonly spend: (kind: QuestionKind, call: Call, routes: readonly Route[]) => string | undefined;
}

/** The rules and limits for questions within calls and tasks. */
export const questionRules = (evaluator: QuestionEvaluator): QuestionRules => ({
  permit: (call, route, kind, request, round) =>
    evaluateQuestion(evaluator, call, route, kind, request, round),
  countsRounds: evaluator.ruleSet.countsRounds,
});

/** The request as it may be asked; undefined when it may not. */
async function evaluateQuestion(
  { ruleSet, log, spend }: QuestionEvaluator,
  call: Call,
  route: Route,
  kind: QuestionKind,
  request: JsonObject,
  round: number,
): Promise<JsonObject | undefined> {
  let params = objectAt(request, "params") ?? {};
  let decisive: Decision | undefined;
  const { client } = call;
  // Anything that a method names may have caused it, with arguments that only its server knows.
  for (const about of routesOf(route)) {
    const args = about === route ? questionArguments(call, route) : {};
    const decision = await ruleSet.evaluateYielding({
      on: kind,
      route: about,
      client,
      ...args,
      request: params,
    });
    const { rule } = decision;
    const tooMany = rule?.maxRounds !== undefined && round > rule.maxRounds;
    if (decision.effect === "deny" || tooMany || (kind === "elicitation" && isUnsafeUrl(params))) {
      log.add(call, about, kind, { ...decision, effect: "deny" });
      noteRefused(call, request, rule?.name);
      return undefined;
    }
    if (rule === undefined) continue;
    decisive ??= decision;
    params = clampedSampling(params, rule);
  }
  if (decisive !== undefined) log.add(call, route, kind, decisive);
  const limit = spend(kind, call, routesOf(route));
  if (limit !== undefined) {
    noteRefused(call, request, limit);
    return undefined;
  }
  return decisive === undefined ? request : { ...request, params };
}

const routesOf = (route: Route): readonly Route[] =>
  route.namedTargets === undefined ? [route] : [route, ...route.namedTargets.map((one) => one.route)];

/** The arguments with which a task was created are no longer known. */
function questionArguments(call: Call, route: Route): { readonly args?: unknown } {
  if (TASK_METHODS.has(call.method)) return {};
  return { args: route.kind === "methods" ? methodArguments(call.params) : argsOf(call) };
}

/**
 * The request as it may be asked when it belongs to no call, or to one of several; undefined when it may not. Any
 * of `routes` may have caused it, so it is asked only if each of them allows it, and counts for all of them.
 */
export function evaluateSessionQuestion(
  { ruleSet, log, spend }: QuestionEvaluator,
  call: Call,
  routes: readonly [Route, ...Route[]],
  request: JsonObject,
): JsonObject | undefined {
  const kind = questionKind(request);
  if (kind === undefined) return undefined;
  const [first] = routes;
  let params = objectAt(request, "params") ?? {};
  const { client } = call;
  let decisive: Decision | undefined;
  const budget: WorkBudget = { steps: MAX_STEPS_TOGETHER };
  for (const route of routes) {
    const decision = ruleSet.evaluate({ on: kind, route, client, request: params }, budget);
    const { rule } = decision;
    if (
      decision.effect === "deny" ||
      rule?.maxRounds === 0 ||
      (kind === "elicitation" && isUnsafeUrl(params))
    ) {
      log.add(call, route, kind, { ...decision, effect: "deny" });
      return undefined;
    }
    if (rule === undefined) continue;
    decisive ??= decision;
    params = clampedSampling(params, rule);
  }
  if (decisive !== undefined) log.add(call, first, kind, decisive);
  if (spend(kind, call, routes) !== undefined) return undefined;
  return request.params === undefined && Object.keys(params).length === 0 ? request : { ...request, params };
}

/** A sampling request within what the rule allows. */
function clampedSampling(params: JsonObject, { maxTokens, stripContext }: RuleConfig): JsonObject {
  const kept = stripContext ? without(params, ["includeContext"]) : params;
  if (maxTokens === undefined) return kept;
  const wanted = numberOf(kept.maxTokens);
  return wanted !== undefined && wanted <= maxTokens ? kept : { ...kept, maxTokens };
}
