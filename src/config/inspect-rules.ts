/** Adds to what was found wrong with a config what only those can tell who put its rules into effect. */
import type { Config } from "./config.js";
import type { Problem } from "./problem.js";
import type { BadConfig, GoodConfig } from "./read.js";
import type { Path } from "./tree.js";
import { subject } from "./variables.js";

export type Rules = Pick<Config, "policy" | "limits">;
export type Inspect = (rules: Rules) => Promise<readonly { readonly path: Path; readonly message: string }[]>;

/** `inspect` is asked only when there are rules or limits. */
export async function inspectRules(
  outcome: GoodConfig | BadConfig,
  inspect: Inspect,
): Promise<GoodConfig | BadConfig> {
  const { rules, remark, warnings } = outcome;
  if (rules.policy === undefined && rules.limits === undefined) return outcome;
  const faults = await inspect(rules);
  if (faults.length === 0) return outcome;
  const found = faults.map(({ path, message }) => remark(path, `${subject(path)}: ${message}`));
  const known: readonly Problem[] = outcome.ok ? [] : outcome.problems;
  const problems = [...known, ...found].sort((a, b) => a.line - b.line || a.column - b.column);
  return { ok: false, problems, warnings, rules, remark };
}
