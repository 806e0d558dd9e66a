/** The engine behind `when`; it is large, so it is loaded when the first rule needs it and not before. */
import type { RuleConfig } from "../../config/config.js";
import type { Expression } from "./expression.js";

type Compile = (text: string) => Expression;

let compile: Compile | undefined;

/** Loads what the rules need. Await it before rules are compiled. */
export async function loadEngine(rules: readonly RuleConfig[]): Promise<void> {
  if (compile !== undefined || rules.every(({ when }) => when === undefined)) return;
  compile = (await import("./expression.js")).compileExpression;
}

/**
 * @throws ExpressionError with a sentence about what is wrong with the text.
 * @throws Error when nobody has loaded the engine, which is a fault of the program.
 */
export function expression(text: string): Expression {
  if (compile === undefined) throw new Error("the engine for expressions was not loaded");
  return compile(text);
}
