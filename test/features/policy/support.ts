/** A policy made from config, and helpers for the calls that it evaluates. */
import { createSecretKey } from "node:crypto";
import { type Call, compose, type Handler, type Reply } from "../../../src/core/call.js";
import { SILENT } from "../../../src/core/logger.js";
import type { LimitConfig, PolicyConfig, RuleConfig } from "../../../src/features/policy/config.js";
import { COUNTERS, countedIn, type PolicyMetrics } from "../../../src/features/policy/metrics.js";
import { createPolicy, type Policy } from "../../../src/features/policy/policy.js";
import { errorBoundary } from "../../../src/resilience/error-boundary.js";
import { sealedState } from "../../../src/resilience/sealed-state.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import { result } from "../../support/calls.js";
import { throughCallTool } from "../../support/through.js";

type GivenRule = Partial<RuleConfig> & Pick<RuleConfig, "effect">;
type GivenLimit = Partial<LimitConfig>;

export const rule = (given: GivenRule, at = 0): RuleConfig => ({
  name: `rule-${at + 1}`,
  on: "call",
  ...given,
});
export const limit = (given: GivenLimit, at = 0): LimitConfig => ({
  name: `limit-${at + 1}`,
  on: "call",
  per: "all",
  ...given,
});

export interface GivenPolicy {
  readonly default?: PolicyConfig["default"];
  readonly rules?: readonly GivenRule[];
  readonly limits?: readonly GivenLimit[];
  /** Whether hosts get states sealed, as from the gateway (`answered`). Default: they can be read. */
  readonly sealsStates?: boolean;
}

export interface PolicyUnderTest {
  readonly policy: Policy;
  readonly metrics: Metrics;
  /** The whole stack as the gateway has it, in front of `server`. */
  readonly handle: Handler;
  /** The calls that reached the server. */
  readonly calls: readonly Call[];
}

export function policyOf(given: GivenPolicy, server: Handler = async () => ok()): PolicyUnderTest {
  const metrics = new Metrics({ version: "1", process: false });
  const config = {
    policy: { default: given.default ?? "allow", rules: (given.rules ?? []).map(rule) },
    limits: (given.limits ?? []).map(limit),
  };
  const policy = createPolicy(config, { metrics: countedBy(metrics), logger: SILENT });
  const calls: Call[] = [];
  const seal = given.sealsStates === true ? [sealedState({ key: createSecretKey(Buffer.alloc(32, 7)) })] : [];
  const handle = compose([errorBoundary(SILENT), ...seal, policy.access, policy.limits], (call) => {
    calls.push(call);
    return server(call);
  });
  return { policy, metrics, handle: throughCallTool(handle), calls };
}

/** What rules and limits report, as a gateway counts it. */
export function countedBy(metrics: Metrics): PolicyMetrics {
  const counters = new Map(COUNTERS.map((counter) => [counter.name, metrics.featureCounter(counter)]));
  return countedIn({
    count: ({ name }, labels) => counters.get(name)?.(labels),
    enterQueue: (server) => metrics.enterQueue(server),
  });
}

/** For tests that do not look at metrics. */
export const uncounted = (): PolicyMetrics => countedBy(new Metrics({ version: "1", process: false }));

const ok = (): Reply => result({ content: [{ type: "text", text: "done" }] });
