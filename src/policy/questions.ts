/** Which questions may a server ask of the person and of the model, in a call, a task or a session? Each is evaluated once. */

import { LRUCache } from "lru-cache";
import type { RuleConfig } from "../config/config.js";
import {
  type Call,
  type Handler,
  type InputResponses,
  OWN_ROUND,
  type Reply,
  type RoundState,
  type Route,
} from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { type QuestionKind, questionKind, TASK_METHODS } from "../core/methods.js";
import { principalKey } from "../core/principal.js";
import type { RpcError } from "../wire/envelope.js";
import { isObject, type JsonObject, numberOf, objectAt, stringAt, without } from "../wire/json.js";
import { Payload } from "../wire/payload.js";
import type { DecisionLog } from "./decision-log.js";
import { methodArguments } from "./rules/method-inputs.js";
import { argsOf, type Decision } from "./rules/policy-input.js";
import { MAX_STEPS_TOGETHER, type RuleSet, type WorkBudget } from "./rules/rule-set.js";

/** A reply that asks questions. */
export type InputRequired = Extract<Reply, { kind: "input_required" }>;

/** What evaluating a question takes. */
export interface QuestionEvaluator {
  readonly ruleSet: RuleSet;
  readonly log: DecisionLog;
  /** Spends what the limits have for one question; the name of the limit when there is nothing left. */
  readonly spend: (kind: QuestionKind, call: Call, routes: readonly Route[]) => string | undefined;
}

/** The questions of one round, after evaluation. */
interface EvaluatedQuestions {
  /** Those that may be asked, as they may be asked. */
  readonly asked: JsonObject;
  /** Those that may not. */
  readonly refused: Readonly<Record<string, QuestionKind>>;
}

/** `round` counts the rounds of questions of this call, this one included. */
export async function evaluateQuestions(
  evaluator: QuestionEvaluator,
  call: Call,
  route: Route,
  requests: JsonObject,
  round: number,
): Promise<EvaluatedQuestions> {
  const asked: [string, unknown][] = [];
  const refused: [string, QuestionKind][] = [];
  for (const [key, request] of Object.entries(requests)) {
    const kind = isObject(request) ? questionKind(request) : undefined;
    if (kind === undefined || !isObject(request)) throw unknownQuestion(route);
    const passed = await evaluateQuestion(evaluator, call, route, kind, request, round);
    if (passed === undefined) refused.push([key, kind]);
    else asked.push([key, passed]);
  }
  return { asked: Object.fromEntries(asked), refused: Object.fromEntries(refused) };
}

/** Not reached: each era validates the questions of its servers. */
const unknownQuestion = ({ upstream }: Route): GatewayError =>
  new GatewayError("denied", "upstream", `"${upstream}" asks for something that no rule can match`, {
    server: upstream,
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
  // On account of everything that a method names, each with arguments that only its server knows.
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

/** The refused questions of one call that are noted. */
const MAX_NOTED = 32;

/** For the audit log. */
function noteRefused({ record }: Call, request: JsonObject, rule: string | undefined): void {
  if (record === undefined) return;
  record.refusedQuestions ??= [];
  if (record.refusedQuestions.length >= MAX_NOTED) return;
  record.refusedQuestions.push({ method: stringAt(request, "method") ?? "", rule });
}

const routesOf = (route: Route): readonly Route[] =>
  route.namedTargets === undefined ? [route] : [route, ...route.namedTargets.map((one) => one.route)];

/** What a task was begun with is no longer known. */
function questionArguments(call: Call, route: Route): { readonly args?: unknown } {
  if (TASK_METHODS.has(call.method)) return {};
  return { args: route.kind === "methods" ? methodArguments(call.params) : argsOf(call) };
}

/**
 * The request as it may be asked when it belongs to no call, or to one of several; undefined when it may not. It could
 * be on account of any of `routes`, so it is asked only where each of them lets it, and counts for all of them.
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

/** A link that is not http or https could run a program or open a file; it is refused whatever the rules. */
function isUnsafeUrl(params: JsonObject): boolean {
  if (params.mode !== "url" && params.url === undefined) return false;
  const url = stringAt(params, "url") ?? "";
  return !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol));
}

/** A sampling request within what the rule allows. */
function clampedSampling(params: JsonObject, { maxTokens, stripContext }: RuleConfig): JsonObject {
  const kept = stripContext ? without(params, ["includeContext"]) : params;
  if (maxTokens === undefined) return kept;
  const wanted = numberOf(kept.maxTokens);
  return wanted !== undefined && wanted <= maxTokens ? kept : { ...kept, maxTokens };
}

/**
 * The answers that a server gets to the questions it may not ask, together with those that the client gave.
 * A server that can receive errors gets the refusal as an error; for one that can only receive results, a person
 * who declines and a host without roots are the nearest thing, and a completion cannot be made up. Without `given` the
 * gateway itself continues the round.
 */
export function withRefusals(
  given: InputResponses | undefined,
  refused: Readonly<Record<string, QuestionKind>>,
  state: RoundState | undefined,
): InputResponses {
  const kinds = Object.entries(refused);
  const responses = kinds.flatMap(([key, kind]) => {
    const instead = FALLBACK_RESULTS[kind];
    return instead === undefined ? [] : [[key, instead] as const];
  });
  const errors = kinds.map(([key, kind]) => [key, questionRefusal(kind)] as const);
  const refusals = { ...given?.refusals, ...Object.fromEntries(errors) };
  const round = given === undefined ? OWN_ROUND : given.round;
  return {
    responses: { ...given?.responses, ...Object.fromEntries(responses) },
    ...(Object.keys(refusals).length > 0 && { refusals }),
    ...(state !== undefined && { state }),
    ...(round !== undefined && { round }),
  };
}

const FALLBACK_RESULTS: Readonly<Partial<Record<QuestionKind, JsonObject>>> = {
  elicitation: { action: "decline" },
  roots: { roots: [] },
};

/** `-1` is what clients answer when their user rejects a request (2025-11-25: client/sampling, "Error Handling"). */
export const questionRefusal = (kind: QuestionKind): RpcError => ({
  code: -1,
  message: `the gateway's policy does not let this server use ${kind}`,
});

/** The questions of one task. */
interface EvaluatedTask {
  /** The decisions on the questions that the server sent last, by key; keys are unique within a task. */
  readonly decisions: Map<string, unknown>;
  /** How many there have been. */
  count: number;
  /** Set while questions are evaluated; a reply with the same questions waits for the decisions. */
  pending?: ReturnType<typeof evaluateQuestions> | undefined;
}

/** The decision on a refused question. */
const REFUSED = Symbol("refused");

/** Evaluates the questions of tasks, once each. */
export class TaskQuestions {
  readonly #evaluator: QuestionEvaluator;
  /** By principal and handle. After eviction each question is evaluated, and counted, again. */
  readonly #tasks = new LRUCache<string, EvaluatedTask>({ max: 5_000 });

  constructor(evaluator: QuestionEvaluator) {
    this.#evaluator = evaluator;
  }

  /**
   * `reply` to `tasks/get` with the questions that may be asked. The others are answered through `next`, as a
   * person who declines would; a task that cannot be answered so is cancelled.
   */
  async filterReply(call: Call, route: Route, reply: Reply, next: Handler): Promise<Reply> {
    if (call.method !== "tasks/get" || reply.kind !== "result") return reply;
    const { object } = reply.result;
    const questions = objectAt(object, "inputRequests");
    if (questions === undefined) return reply;
    const task = await this.#evaluate(call, route, questions, next);
    const asked = Object.entries(questions).flatMap(([key]): readonly [string, unknown][] => {
      const decision = task.decisions.get(key);
      return decision === REFUSED ? [] : [[key, decision]];
    });
    const left =
      asked.length > 0
        ? { ...object, inputRequests: Object.fromEntries(asked) }
        : // It was answered, and continues.
          { ...without(object, ["inputRequests"]), status: "working" };
    return { ...reply, result: Payload.ofObject(left) };
  }

  async #evaluate(call: Call, route: Route, questions: JsonObject, next: Handler): Promise<EvaluatedTask> {
    const task = `${principalKey(call.client.principal)}\0${stringAt(call.params, "taskId") ?? ""}`;
    const evaluated = this.#tasks.get(task) ?? { decisions: new Map<string, unknown>(), count: 0 };
    this.#tasks.set(task, evaluated);
    while (evaluated.pending !== undefined) await evaluated.pending;
    const { decisions } = evaluated;
    // A question that is no longer sent was answered.
    for (const key of decisions.keys()) if (!Object.hasOwn(questions, key)) decisions.delete(key);
    const fresh = Object.fromEntries(Object.entries(questions).filter(([key]) => !decisions.has(key)));
    if (Object.keys(fresh).length === 0) return evaluated;
    // Each question of a task stands for itself, so the one that comes next is a round of its own.
    const evaluation = evaluateQuestions(this.#evaluator, call, route, fresh, evaluated.count + 1);
    evaluated.pending = evaluation.finally(() => {
      evaluated.pending = undefined;
    });
    const { asked, refused } = await evaluated.pending;
    evaluated.count += Object.keys(fresh).length;
    for (const [key, question] of Object.entries(asked)) decisions.set(key, question);
    for (const key of Object.keys(refused)) decisions.set(key, REFUSED);
    if (Object.keys(refused).length === 0) return evaluated;
    try {
      await refuse(call, refused, next);
    } catch (error) {
      // The refusal has not reached the server, so it is sent again with the next reply.
      for (const key of Object.keys(refused)) decisions.delete(key);
      evaluated.count -= Object.keys(refused).length;
      throw error;
    }
    return evaluated;
  }
}

async function refuse(call: Call, refused: Parameters<typeof withRefusals>[1], next: Handler): Promise<void> {
  const { responses } = withRefusals(undefined, refused, undefined);
  const { taskId } = call.params;
  const answerable = Object.keys(refused).every((key) => Object.hasOwn(responses, key));
  const [method, params] = answerable
    ? ["tasks/update", { taskId, inputResponses: responses }]
    : // A completion cannot be made up, and a server that waits for one would wait for ever.
      ["tasks/cancel", { taskId }];
  await next({ ...call, method, params });
}
