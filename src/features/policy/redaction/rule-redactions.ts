/** The compiled redactions of rules, each compiled once. */
import type { RuleConfig } from "../config.js";
import type { RedactingRule } from "../rules/policy-input.js";
import type { Redactions } from "./messages.js";
import { redaction } from "./redaction.js";

/** Those of the rules of one policy. */
export class RuleRedactions {
  readonly #made = new Map<RuleConfig, Redactions>();

  of(rule: RedactingRule): Redactions {
    const known = this.#made.get(rule);
    if (known !== undefined) return known;
    const { arguments: args, results, detect = [], replacement } = rule.redact;
    const made = {
      args: redaction({ ...args, detect }, replacement),
      results: redaction({ ...results, detect }, replacement),
    };
    this.#made.set(rule, made);
    return made;
  }
}
