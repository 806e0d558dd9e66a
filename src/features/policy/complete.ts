/** Completes `policy` and `limits` of the file: names and defaults are filled in, times are in ms, own names are exposed ones. */
import type { ExposeOf } from "../../config/own-names.js";
import { parseDuration, parseRate } from "../../config/units.js";
import type { LimitConfig, MatcherConfig, PolicyConfig } from "./config.js";
import type { LimitShape, PolicyShape } from "./schema.js";

/** Names each rule and reads its durations. */
export function completePolicy({
  default: fallback,
  rules,
  approvalTimeout: usual,
  notify: receiver,
}: PolicyShape): PolicyConfig {
  return {
    default: fallback,
    ...(receiver !== undefined && { notify: receiver }),
    rules: rules.map(({ remember, approvalTimeout, ...rule }, index) => {
      const rememberMs = remember === undefined ? undefined : parseDuration(remember);
      const timeout = approvalTimeout ?? (rule.approvers === undefined ? undefined : usual);
      const notify = rule.notify ?? (rule.approvers === undefined ? undefined : receiver);
      const approvalTimeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
      return {
        ...rule,
        ...named(rule.name, `rule-${index + 1}`),
        ...(rememberMs !== undefined && { rememberMs }),
        ...(approvalTimeoutMs !== undefined && { approvalTimeoutMs }),
        ...(notify !== undefined && { notify }),
      };
    }),
  };
}

const named = (name: string | undefined, number: string): { name: string; isUnnamed?: true } =>
  name === undefined ? { name: number, isUnnamed: true } : { name };

/** Names each limit and reads its rate, quota and timeout. */
export function completeLimits(limits: readonly LimitShape[]): readonly LimitConfig[] {
  return limits.map(({ rate: written, quota: counted, timeout, ...limit }, index) => {
    const rate = written === undefined ? undefined : parseRate(written);
    const quota = counted === undefined ? undefined : parseRate(counted);
    const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
    return {
      ...limit,
      ...named(limit.name, `limit-${index + 1}`),
      ...(rate !== undefined && { rate }),
      ...(quota !== undefined && { quota }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
  });
}

/** Rules with own names of tools and prompts as hosts see them. */
export const exposedPolicy = (policy: PolicyConfig, exposeOf: ExposeOf): PolicyConfig => ({
  ...policy,
  rules: policy.rules.map((rule) => exposed(rule, exposeOf)),
});

/** The same of limits. */
export const exposedLimits = (limits: readonly LimitConfig[], exposeOf: ExposeOf): readonly LimitConfig[] =>
  limits.map((limit) => exposed(limit, exposeOf));

/** A glob is an own name where no exposed name begins like it, and its servers are known. */
function exposed<T extends MatcherConfig>(subject: T, exposeOf: ExposeOf): T {
  const expose = exposeOf(subject.servers);
  if (expose === undefined) return subject;
  return {
    ...subject,
    ...(subject.tools !== undefined && { tools: subject.tools.map(expose) }),
    ...(subject.prompts !== undefined && { prompts: subject.prompts.map(expose) }),
  };
}
