/** What is wrong with rules and limits that their schema does not show? They are compiled. */
import { writeJson } from "../../wire/json-text.js";
import type { LimitConfig, PolicyConfig, PolicySettings } from "./config.js";
import { limitFaults } from "./limits/limit.js";
import type { PolicyFault } from "./rules/rule.js";
import { compileRules } from "./rules/rule-set.js";

/** The compiled rules, and everything that is wrong with `policy` and `limits` of a config. */
export function compilePolicy({ policy, limits = [] }: PolicySettings) {
  const { rules, faults } = compileRules(policy?.rules ?? []);
  return { rules, faults: [...faults, ...limitFaults(limits), ...duplicateNames(policy, limits)] };
}

/** Those of rules. */
export const faultsOfRules = (policy: PolicyConfig): readonly PolicyFault[] => [
  ...compileRules(policy.rules).faults,
  ...duplicateNames(policy, []),
];

/** Those of limits, whose names differ from those of the rules. */
export const faultsOfLimits = (
  limits: readonly LimitConfig[],
  policy: PolicyConfig | undefined,
): readonly PolicyFault[] => [
  ...limitFaults(limits),
  ...duplicateNames(policy, limits).filter(({ path }) => path[0] === "limits"),
];

/** Names must be unique: refusals, metrics and decisions refer to rules and limits by name. */
function duplicateNames(
  policy: PolicyConfig | undefined,
  limits: readonly LimitConfig[],
): readonly PolicyFault[] {
  const names = [
    ...(policy?.rules ?? []).map(({ name }, at) => ({
      name,
      path: ["policy", "rules", at, "name"] as const,
    })),
    ...limits.map(({ name }, at) => ({ name, path: ["limits", at, "name"] as const })),
  ];
  const seen = new Set<string>();
  return names.flatMap(({ name, path }): PolicyFault[] => {
    if (!seen.has(name)) {
      seen.add(name);
      return name === "default"
        ? [{ path, message: '"default" is the name of what happens without a rule' }]
        : [];
    }
    return [{ path, message: `the name ${writeJson(name)} is taken by an earlier rule or limit` }];
  });
}
