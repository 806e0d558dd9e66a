/** The policy of one config: what it forbids, what it hides, what it limits, and why. */
import type { Config, JudgedKind, LimitConfig, RuleConfig } from "../config/config.js";
import { type Call, nextCallId, type Route } from "../core/call.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { Middleware } from "../core/handler.js";
import type { Logger } from "../core/logger.js";
import { questionKind } from "../core/methods.js";
import { Stop } from "../core/stop.js";
import type { Metrics } from "../telemetry/metrics.js";
import { codeOf } from "../wire/envelope.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { access } from "./access.js";
import { Approvals } from "./approvals.js";
import { DecisionLog, type DecisionRow } from "./decision-log.js";
import { limitFaults } from "./limits/limit.js";
import { Limits } from "./limits/limits.js";
import { judgeLooseQuestion, type QuestionJudge, refusalOf } from "./questions.js";
import { RoundStates } from "./round-state.js";
import type { Answer } from "./rules/expression.js";
import { judgeMethod, mattersOf } from "./rules/method-matters.js";
import { judgedName } from "./rules/route-readings.js";
import type { PolicyFault } from "./rules/rule.js";
import { argsOf, compileRules, type Decision, RuleBook } from "./rules/rule-book.js";

export { policyAdvice } from "./rules/advice.js";
export type { PolicyFault } from "./rules/rule.js";

export interface Policy {
  /** Below `rescue` and `sealedState`: judges calls, and what servers ask. */
  readonly access: Middleware;
  /** Right below `access`: rates, places. */
  readonly limits: Middleware;
  /**
   * What `server` asks of `client` when no call is under way that it must belong to, as it may be asked; it could be
   * on account of anything that the client sees of the server: `targets`.
   * @throws GatewayError `denied`, with the words for the server, where it may not
   */
  question(client: Client, server: string, targets: readonly Route[], question: JsonObject): JsonObject;
  /** For the catalog; undefined where no rule hides anything, so that lists stay the same for everybody. */
  readonly visible: ((client: Client, route: Route) => boolean) | undefined;
  /** Notes that somebody called what `visible` says no to. */
  readonly hid: (call: Call, route: Route) => void;
  /** Whether updates of a resource may be told; undefined where nobody is refused anything. */
  readonly mayFollow: ((client: Client, route: Route) => boolean) | undefined;
  /** The time-out that a limit sets for this call, in ms; for `deadline`. */
  timeoutMs(call: Call): number | undefined;
  /** The newest first. */
  decisions(count?: number): readonly DecisionRow[];
  /** What would become of a call, and why; nothing is called and nothing spent. */
  explain(call: Call): Explanation;
  /** For the policy that comes after this one. */
  readonly [MEMORY]: Memory;
}

const MEMORY = Symbol("memory");
interface Memory {
  readonly log: DecisionLog;
  readonly approvals: Approvals;
  readonly limits: Limits;
}

export interface Explanation {
  readonly effect: RuleConfig["effect"];
  /** The rule that decides, or `default`. */
  readonly rule: string;
  readonly message?: string;
  readonly visible: boolean;
  readonly rules: readonly {
    readonly rule: string;
    readonly effect: RuleConfig["effect"];
    readonly on: JudgedKind;
    readonly matches: boolean;
    /** Whether this is the one that decided. */
    readonly decides: boolean;
    readonly why: string;
    /** What of the call it was asked about, where a method names something: each is judged for itself. */
    readonly of?: string;
  }[];
  readonly limits: readonly {
    readonly limit: string;
    readonly per: LimitConfig["per"];
    /** How long until a call would be let through; 0 for now. */
    readonly waitMs: number;
    readonly timeoutMs?: number;
    readonly concurrency?: number;
  }[];
}

/** Everything that is wrong with `policy` and `limits` of a config; empty when they can be put into effect. */
export function policyFaults({ policy, limits }: Pick<Config, "policy" | "limits">): readonly PolicyFault[] {
  return [
    ...compileRules(policy?.rules ?? []).faults,
    ...limitFaults(limits ?? []),
    ...sameNames(policy, limits),
  ];
}

/** The same for whoever reads configs, which may be done before the engine for expressions is there. */
export const checkPolicy = async (
  config: Pick<Config, "policy" | "limits">,
): Promise<readonly PolicyFault[]> => policyFaults(config);

/**
 * Puts the policy of a config into effect. What the policy of the config before it remembers (approvals, rates,
 * decisions) goes on, as far as the two agree.
 *
 * @throws RangeError naming the first fault; ask `policyFaults` for all of them.
 */
export function createPolicy(
  config: Pick<Config, "policy" | "limits">,
  parts: PolicyParts,
  before?: Policy,
): Policy {
  const [fault] = policyFaults(config);
  if (fault !== undefined) throw new RangeError(`${fault.path.join(".")}: ${fault.message}`);
  const { rules } = compileRules(config.policy?.rules ?? []);
  const fallback = config.policy?.default ?? "allow";
  const book = new RuleBook(rules, fallback);
  const memory = before?.[MEMORY];
  const log = memory?.log ?? new DecisionLog(parts.metrics, parts.logger);
  const states = new RoundStates(parts.stateSecret);
  const approvals = memory?.approvals ?? new Approvals(states);
  const limits = new Limits(config.limits ?? [], parts.metrics, memory?.limits);
  const spend: QuestionJudge["spend"] = (kind, call, routes) => limits.spendQuestion(kind, call, routes);
  const judge = { book, log, spend };
  const judging = access(judge, approvals, states);
  const nothingToJudge = rules.length === 0 && fallback === "allow" && !limitsQuestions(config.limits);

  return {
    access: nothingToJudge ? onlyForLinks(judging, states) : judging,
    limits: (config.limits ?? []).length === 0 ? (next) => next : limits.middleware,
    question: (client, server, targets, question) => {
      // Of nothing in particular: rules and limits that name targets are asked about each of them.
      const alone: Route = { upstream: server, target: "", exposed: "", kind: "tools" };
      const others = nothingToJudge ? [] : targets;
      const judged = judgeLooseQuestion(judge, callFor(client, question), [alone, ...others], question);
      if (judged !== undefined) return judged;
      const refusal = refusalOf(questionKind(question) ?? "elicitation");
      throw new GatewayError("denied", "gateway", refusal.message, { server, rpc: codeOf(refusal) });
    },
    visible: book.hides ? (client, route) => book.isVisible(client, route) : undefined,
    hid: (call, route) => {
      const decision =
        route.kind === "methods"
          ? judgeMethod(book, call, route).decision
          : book.judge({ on: "call", route, client: call.client, args: argsOf(call) });
      if (decision.effect === "hide") log.add(call, route, "call", decision);
    },
    mayFollow: nothingToJudge ? undefined : (client, route) => book.lets(client, route),
    timeoutMs: (call) => limits.timeoutMs(call),
    decisions: (count) => log.latest(count),
    explain: (call) => explain(book, limits, call),
    [MEMORY]: { log, approvals, limits },
  };
}

/** A question that belongs to no call is judged, logged and limited like one that does. */
const callFor = (client: Client, { method, params }: JsonObject): Call => ({
  id: nextCallId(),
  method: String(method),
  params: isObject(params) ? params : {},
  client,
  signal: new Stop().signal,
  notify: () => {},
});

/**
 * Where there are no rules, only those are judged whom a server may send to a page, and those who come back to a round
 * that began under an earlier config, which had rules.
 */
const onlyForLinks =
  (judging: Middleware, states: Pick<RoundStates, "isOurs">): Middleware =>
  (next) => {
    const judged = judging(next);
    return function onlyForLinks(call) {
      const { elicitation } = call.client.capabilities;
      if (isObject(elicitation) && Object.hasOwn(elicitation, "url")) return judged(call);
      const state = call.answers?.state;
      return state !== undefined && states.isOurs(state) ? judged(call) : next(call);
    };
  };

export interface PolicyParts {
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Marks what the policy writes into the states of rounds. Default: one of this process alone. */
  readonly stateSecret?: string;
}

const limitsQuestions = (limits: readonly LimitConfig[] | undefined): boolean =>
  (limits ?? []).some(({ on }) => on !== "call");

function explain(book: RuleBook, limits: Limits, call: Call): Explanation {
  const { route, client } = call;
  if (route === undefined) return { effect: "allow", rule: "default", visible: true, rules: [], limits: [] };
  const matters =
    route.kind === "methods"
      ? mattersOf(call, route)
      : ([{ on: "call", route, client, args: argsOf(call) }] as const);
  const decision: Decision =
    route.kind === "methods" ? judgeMethod(book, call, route).decision : book.judge(matters[0]);
  // Of what a method names, one line for each rule: with the arguments, among those that may be meant, that it takes.
  const rows = new Map<string, Explanation["rules"][number]>();
  for (const matter of matters) {
    const own = book.judge(matter);
    for (const { rule, answer } of book.explain(matter)) {
      const of = matter.route === route ? undefined : judgedName(matter.route);
      const key = `${rule.name}\0${of ?? ""}`;
      const decides = rule === own.rule;
      if (rows.has(key) && !decides) continue;
      rows.set(key, {
        rule: rule.name,
        effect: rule.effect,
        on: rule.on,
        matches: answer === "yes",
        decides,
        why: reason(answer, rule),
        ...(of !== undefined && { of }),
      });
    }
  }
  return {
    effect: decision.effect,
    rule: decision.rule?.name ?? "default",
    ...(decision.rule?.message !== undefined && { message: decision.rule.message }),
    visible: book.isVisible(client, route),
    rules: [...rows.values()],
    limits: limits.about("call", call, route).map(({ limit, route: about }) => ({
      limit: limit.config.name,
      per: limit.config.per,
      waitMs: Math.ceil(limit.waitMs(call, about)),
      ...(limit.config.timeoutMs !== undefined && { timeoutMs: limit.config.timeoutMs }),
      ...(limit.config.concurrency !== undefined && { concurrency: limit.config.concurrency }),
    })),
  };
}

function reason(
  answer: Answer | "other kind" | "other target" | "other principal",
  rule: RuleConfig,
): string {
  if (typeof answer === "object") return `its condition cannot be answered: ${answer.failed}`;
  switch (answer) {
    case "other kind":
      return "it judges something else";
    case "other target":
      return "it is about other tools, prompts, resources or servers";
    case "other principal":
      return "it is about other principals";
    case "no":
      return "its condition is not met";
    case "yes":
      return `it matches ${matchedBy(rule)}`;
  }
}

/** What of a rule there was to match; all of it has. */
function matchedBy(rule: RuleConfig): string {
  const parts = [
    ...(["tools", "prompts", "resources", "methods", "servers", "annotations"] as const),
    ...(["principals", "groups", "scopes", "when"] as const),
  ].filter((key) => rule[key] !== undefined);
  return parts.length === 0 ? "every call" : `by its ${parts.join(", ")}`;
}

/** Rules and limits are told apart by their names, in refusals, metrics and decisions. */
function sameNames(policy: Config["policy"], limits: Config["limits"]): readonly PolicyFault[] {
  const places = [
    ...(policy?.rules ?? []).map(({ name }, at) => ({
      name,
      path: ["policy", "rules", at, "name"] as const,
    })),
    ...(limits ?? []).map(({ name }, at) => ({ name, path: ["limits", at, "name"] as const })),
  ];
  const seen = new Set<string>();
  return places.flatMap(({ name, path }): PolicyFault[] => {
    if (!seen.has(name)) {
      seen.add(name);
      return name === "default"
        ? [{ path, message: '"default" is the name of what happens without a rule' }]
        : [];
    }
    return [{ path, message: `the name ${writeJson(name)} is taken by an earlier rule or limit` }];
  });
}
