/** A `when` expression: compiled and checked once, then asked about one call after another. */
import { CelScalar, celEnv, isCelError, listType, mapType, parse, plan } from "@bufbuild/cel";
import { ExpressionError } from "./expression-error.js";
import { FUNCTIONS, searchable } from "./functions.js";
import { celObject } from "./json-values.js";
import { compilePattern } from "./patterns.js";
import { type KnownMembers, translate } from "./translate.js";

/** What an expression may look at, as JSON. */
export interface Facts {
  /** The exposed name of the tool; "" for what is no tool. */
  readonly tool: string;
  /** The server's key in the config. */
  readonly server: string;
  /** The exposed name or URI of whatever is called. */
  readonly target: string;
  /** The arguments of the call. */
  readonly args: unknown;
  readonly principal: { readonly id: string; readonly groups: readonly string[]; readonly claims: unknown };
  /** What the tool says of itself. */
  readonly annotations: unknown;
  /** The parameters of the server's question. */
  readonly request: unknown;
}

/** `failed`: nobody can tell, because the expression asks something that makes no sense of what is there. */
export type Answer = "yes" | "no" | { readonly failed: string };

export interface Expression {
  readonly uses: ReadonlySet<keyof Facts>;
  ask(facts: Facts): Answer;
}

const LONGEST_EXPRESSION = 4096;

const { DYN, STRING } = CelScalar;
const ANYTHING = mapType(STRING, DYN);
const PRINCIPAL: KnownMembers[string] = { id: STRING, groups: listType(STRING), claims: ANYTHING };

const ENV = celEnv({
  variables: {
    tool: STRING,
    server: STRING,
    target: STRING,
    args: ANYTHING,
    principal: ANYTHING,
    annotations: ANYTHING,
    request: ANYTHING,
  },
  funcs: [...FUNCTIONS],
  re2: { compile: (pattern) => ({ test: (text) => compilePattern(pattern).test(searchable(text)) }) },
});

/** @throws ExpressionError with a sentence about what is wrong; it quotes nothing but names. */
export function compileExpression(text: string): Expression {
  if (text.length > LONGEST_EXPRESSION) {
    throw new ExpressionError(`the expression is longer than ${LONGEST_EXPRESSION} characters`);
  }
  const { expr, type, uses } = understood(() => translate(ENV, parse(text).expr, { principal: PRINCIPAL }));
  if (type !== CelScalar.BOOL && type !== DYN) {
    throw new ExpressionError(`the expression gives a value of type ${String(type)}, not true or false`);
  }
  const evaluate = understood(() => plan(ENV, expr));
  return {
    uses: new Set(VARIABLES.filter((name) => uses.has(name))),
    ask(facts) {
      const result = evaluate({
        tool: facts.tool,
        server: facts.server,
        target: facts.target,
        args: celObject(facts.args),
        principal: celObject(facts.principal),
        annotations: celObject(facts.annotations),
        request: celObject(facts.request),
      });
      if (result === true) return "yes";
      if (result === false || result === null) return "no";
      return { failed: isCelError(result) ? result.message : "the result is neither true nor false" };
    },
  };
}

const VARIABLES = ["tool", "server", "target", "args", "principal", "annotations", "request"] as const;

/** The library says what it does not understand in errors of many kinds; nesting too deep is a RangeError. */
function understood<T>(compile: () => T): T {
  try {
    return compile();
  } catch (error) {
    if (error instanceof ExpressionError) throw error;
    if (error instanceof SyntaxError && error.cause !== undefined) throw new ExpressionError(error.message);
    if (error instanceof RangeError) throw new ExpressionError("the expression is nested too deep");
    throw new ExpressionError(unreadable(error), { cause: error });
  }
}

/** Where reading stopped, without the long list of what might have stood there. */
function unreadable(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, line, column, found] = /^<input>:(\d+):(\d+): (.*?)(?: but expecting .*)?$/s.exec(message) ?? [];
  return found === undefined
    ? `the expression cannot be read: ${message}`
    : `the expression cannot be read at line ${line}, column ${column}: ${found}`;
}
