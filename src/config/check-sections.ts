/** Problems of a config beyond its schema, which sections find when it was read. */
import type { Problem } from "./problem.js";
import type { BadConfig, GoodConfig } from "./read.js";
import { describePath } from "./variables.js";

/** The outcome with the errors that the checks of its sections find. */
export async function checkSections(outcome: GoodConfig | BadConfig): Promise<GoodConfig | BadConfig> {
  const { check, problemAt, warnings } = outcome;
  const faults = await check();
  if (faults.length === 0) return outcome;
  const found = faults.map(({ path, message }) => problemAt(path, `${describePath(path)}: ${message}`));
  const known: readonly Problem[] = outcome.problems;
  const problems = [...known, ...found].sort((a, b) => a.line - b.line || a.column - b.column);
  return { ok: false, problems, warnings, check, problemAt };
}
