/** Makes `policy` and `limits` of the file complete: every rule and limit has a name, times are in milliseconds. */
import type { LimitConfig, PolicyConfig } from "./config.js";
import type { LimitShape, PolicyShape } from "./policy-schema.js";
import { parseDuration, parseRate } from "./units.js";

export function completePolicy({ default: fallback, rules }: PolicyShape): PolicyConfig {
  return {
    default: fallback,
    rules: rules.map(({ remember, ...rule }, index) => {
      const rememberMs = remember === undefined ? undefined : parseDuration(remember);
      return {
        ...rule,
        name: rule.name ?? `rule-${index + 1}`,
        ...(rememberMs !== undefined && { rememberMs }),
      };
    }),
  };
}

export function completeLimits(limits: readonly LimitShape[]): readonly LimitConfig[] {
  return limits.map(({ rate: written, quota: counted, timeout, ...limit }, index) => {
    const rate = written === undefined ? undefined : parseRate(written);
    const quota = counted === undefined ? undefined : parseRate(counted);
    const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
    return {
      ...limit,
      name: limit.name ?? `limit-${index + 1}`,
      ...(rate !== undefined && { rate }),
      ...(quota !== undefined && { quota }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
  });
}
