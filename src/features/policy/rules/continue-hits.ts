/** Which rules of a new config continue the hits of those before it? */
import { isDeepStrictEqual } from "node:util";
import { withoutNumber } from "../identity.js";
import type { Rule } from "./rule.js";

/** Those that are the same, perhaps under another number; each once. */
export function continueHits(rules: readonly Rule[], before: readonly Rule[]): readonly Rule[] {
  const held = new Set(before);
  return rules.map((rule) => {
    for (const earlier of held) {
      if (!isDeepStrictEqual(withoutNumber(rule.config), withoutNumber(earlier.config))) continue;
      held.delete(earlier);
      return { ...rule, hits: earlier.hits };
    }
    return rule;
  });
}
