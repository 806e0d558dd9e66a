/** The problems of the running gateway in the report of `cardea doctor`, which has started each server itself. */
import { type JsonObject, stringAt } from "../wire/json.js";
import { runningProblemText } from "./problem-text.js";
import type { Paint } from "./terminal.js";

/** The report says the same of what it has started and read itself. */
const SAID_BEFORE: ReadonlySet<string> = new Set(["misconfigured", "malformed", "ineffective"]);

/** Empty without a running gateway. `width`: of the terminal; undefined for other output. */
export function runningText(
  problems: readonly JsonObject[] | undefined,
  paint: Paint,
  width: number = Number.POSITIVE_INFINITY,
): string {
  if (problems === undefined) return "";
  const others = problems.filter((problem) => !SAID_BEFORE.has(stringAt(problem, "kind") ?? ""));
  if (others.length === 0) return "\nThe gateway that runs with this config has no other problems.\n";
  const rows = others.map((problem) => runningProblemText(problem, paint, width));
  return `\nThe gateway that runs with this config has problems:\n${rows.join("")}`;
}
