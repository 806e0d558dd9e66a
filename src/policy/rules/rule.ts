/** One rule of the policy, compiled. */
import type { RuleConfig } from "../../config/config.js";
import { ExpressionError } from "./cel.js";
import type { Expression } from "./expression.js";
import { compileExpression } from "./expression.js";
import { compileMatcher, type Matcher } from "./matcher.js";
import { compilePattern } from "./patterns.js";

/** A compiled rule. */
export interface Rule {
  readonly config: RuleConfig;
  readonly matcher: Matcher;
  readonly when: Expression | undefined;
  /** Whether it takes something away. In doubt such a rule applies, and one that only allows does not. */
  readonly restricts: boolean;
}

/** What is wrong with one place of `policy` or `limits`, as a plain sentence. */
export interface PolicyFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The rule, or everything that is wrong with it; `path` is where it stands in the config. */
export function compileRule(
  config: RuleConfig,
  path: PolicyFault["path"],
): { readonly rule?: Rule; readonly faults: readonly PolicyFault[] } {
  const faults: PolicyFault[] = [...misplacedKeys(config, path), ...badPatterns(config, path)];
  let when: Expression | undefined;
  try {
    when = config.when === undefined ? undefined : compileExpression(config.when);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    faults.push({ path: [...path, "when"], message: error.message });
  }
  // A list has no arguments, so `hide` cannot depend on them.
  for (const fact of ["args", "request"] as const) {
    if (config.effect === "hide" && when?.uses.has(fact)) {
      faults.push({ path: [...path, "when"], message: `a rule that hides cannot look at "${fact}"` });
    }
  }
  if (faults.length > 0) return { faults };
  const restricts = config.effect !== "allow";
  return { rule: { config, matcher: compileMatcher(config), when, restricts }, faults };
}

const ONLY_FOR_CALLS: ReadonlySet<string> = new Set(["approve", "hide", "redact"]);

function misplacedKeys(config: RuleConfig, path: PolicyFault["path"]): PolicyFault[] {
  const faults: PolicyFault[] = [];
  const add = (key: string, message: string): void => void faults.push({ path: [...path, key], message });
  if (config.on !== "call" && ONLY_FOR_CALLS.has(config.effect)) {
    add("effect", `"${config.effect}" is for calls; what a server asks can be allowed or denied`);
  }
  if (config.effect === "approve" && config.methods !== undefined) {
    add(
      "methods",
      `"approve" is for tools, prompts and resources; nobody can be asked on account of a method`,
    );
  }
  if (config.annotations !== undefined && config.methods !== undefined) {
    add("annotations", "annotations are of tools; a rule about methods cannot ask for them");
  }
  if (config.effect === "redact" && config.redact === undefined) {
    add("effect", `"redact" needs a key "redact" that says what to take out`);
  }
  if (config.effect !== "redact" && config.redact !== undefined)
    add("redact", 'this key needs the effect "redact"');
  if (config.effect !== "approve" && config.rememberMs !== undefined) {
    add("remember", 'this key needs the effect "approve"');
  }
  if (config.on !== "sampling" && (config.maxTokens !== undefined || config.stripContext !== undefined)) {
    add(config.maxTokens === undefined ? "stripContext" : "maxTokens", 'this key needs "on": "sampling"');
  }
  if (config.on === "call" && config.maxRounds !== undefined) {
    add("maxRounds", "this key is for rules about what a server asks");
  }
  return faults;
}

function badPatterns({ redact }: RuleConfig, path: PolicyFault["path"]): PolicyFault[] {
  if (redact === undefined) return [];
  return (["arguments", "results"] as const).flatMap((where) =>
    redact[where].patterns.flatMap((pattern, at) => {
      try {
        compilePattern(pattern);
        return [];
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return [{ path: [...path, "redact", where, "patterns", at], message: error.message }];
      }
    }),
  );
}
