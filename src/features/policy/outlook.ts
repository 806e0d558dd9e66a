/** What becomes of the calls of one tool, for lists that people read. */
import type { CallOutlook } from "../../core/call-policy.js";
import type { Decision } from "./rules/policy-input.js";

/** `possible`: the decisions that calls with different arguments may have; at least one. */
export function outlookOf(possible: readonly Decision[]): CallOutlook {
  const effects = new Set(possible.map(effectOf));
  const [only = "allow"] = effects;
  const named = possible.find((decision) => effectOf(decision) !== "allow") ?? possible[0];
  return {
    effect: effects.size > 1 ? "depends" : only,
    ...(named?.rule !== undefined && { rule: named.rule.name }),
    ...(named?.rule?.message !== undefined && { message: named.rule.message }),
  };
}

/** A redacted call is made; a hidden one is refused as if there were no such tool. */
function effectOf({ effect }: Decision): "allow" | "deny" | "approve" {
  if (effect === "approve") return effect;
  return effect === "allow" || effect === "redact" ? "allow" : "deny";
}
