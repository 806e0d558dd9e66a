/** Which of the decisions on several readings of a URI counts? */
import type { RuleConfig } from "../config.js";
import { type Decision, redacts } from "./policy-input.js";

/** The strictest decision, with what the others redact. */
export function strictest(decisions: readonly Decision[]): Decision {
  const [first, ...others] = [...decisions].sort((a, b) => strictness(b) - strictness(a));
  if (first === undefined) throw new TypeError("a URI has at least one reading");
  const redacting = new Map(
    others.flatMap(({ rule, hits }) => (rule !== undefined && redacts(rule) ? [[rule, hits] as const] : [])),
  );
  if (first.rule !== undefined && redacts(first.rule)) redacting.delete(first.rule);
  if (redacting.size === 0) return first;
  const redactingHits = [...redacting.values()].filter((hits) => hits !== undefined);
  return { ...first, redacting: [...redacting.keys()], redactingHits };
}

const EFFECTS: readonly RuleConfig["effect"][] = ["allow", "redact", "approve", "deny", "hide"];

/** Of two equal effects the one with a rule is stricter. */
const strictness = ({ effect, rule }: Decision): number =>
  EFFECTS.indexOf(effect) * 2 + (rule === undefined ? 0 : 1);
