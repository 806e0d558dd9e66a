/** Problems of a config beyond its schema: rules and limits. */
import type { Config } from "./config.js";
import type { Problem } from "./problem.js";
import type { BadConfig, GoodConfig } from "./read.js";
import type { Path } from "./tree.js";
import { describePath } from "./variables.js";

/** The sections whose rules are compiled. */
export type Rules = Pick<Config, "policy" | "limits">;
/** Compiles rules and limits; returns the errors, by path. */
export type CheckRules = (
  rules: Rules,
) => Promise<readonly { readonly path: Path; readonly message: string }[]>;

/** The outcome with the errors of `check`; `check` runs only if there are rules or limits. */
export async function checkRules(
  outcome: GoodConfig | BadConfig,
  check: CheckRules,
): Promise<GoodConfig | BadConfig> {
  const { rules, problemAt, warnings } = outcome;
  if (rules.policy === undefined && rules.limits === undefined) return outcome;
  const faults = await check(rules);
  if (faults.length === 0) return outcome;
  const found = faults.map(({ path, message }) => problemAt(path, `${describePath(path)}: ${message}`));
  const known: readonly Problem[] = outcome.problems;
  const problems = [...known, ...found].sort((a, b) => a.line - b.line || a.column - b.column);
  return { ok: false, problems, warnings, rules, problemAt };
}
