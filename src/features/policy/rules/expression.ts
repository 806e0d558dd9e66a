/** A `when` expression: compiled and checked once, then asked about one call after another. */
import { compilePattern, type RE2JS } from "../../../patterns/re2.js";
import { EvaluationWork, ExpressionError, loadLibrary, MAX_STEPS, matchCost, WorkLimitError } from "./cel.js";
import { celFunctions, searchable } from "./functions.js";
import { jsonValues } from "./json-values.js";
import { MemberReading } from "./member-twins.js";
import { plainCondition } from "./plain-conditions.js";
import { conjuncts, type Expr, type KnownMembers, translate } from "./translate.js";

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
  /** The tool's own annotations. */
  readonly annotations: unknown;
  /** The parameters of the server's question. */
  readonly request: unknown;
}

/** `failed`: the expression cannot be evaluated for these values; the text is the reason. */
export type ConditionResult = "yes" | "no" | { readonly failed: string };

/** A compiled condition. */
export interface Expression {
  readonly uses: ReadonlySet<keyof Facts>;
  evaluate(facts: Facts): ConditionResult;
  /** The same; undefined where that is more than `most` steps of work, and could be done later. */
  tryEvaluate(facts: Facts, most: number): ConditionResult | undefined;
  /** How much work the last answer was, in steps. */
  readonly spent: number;
  /** True where the result is "no" for every call and question: parts that do not depend on them are false. */
  isRuledOut(facts: Omit<Facts, "args" | "request">): boolean;
}

const MAX_EXPRESSION_LENGTH = 4096;

/** What is known of the members of `principal`; the other variables may have any. */
const KNOWN: KnownMembers = { principal: { id: "string", groups: "list", claims: "map" } };

/** Everything that compiling and evaluating need of the library. */
function createEngine(
  work: EvaluationWork,
  reading: MemberReading,
  compilePattern: (pattern: string) => RE2JS,
) {
  const library = loadLibrary();
  const { CelScalar, celEnv, isCelError, mapType, parse, plan } = library.cel;
  const { DYN, STRING } = CelScalar;
  const values = jsonValues(library.cel, work, reading);
  const anything = mapType(STRING, DYN);
  const env = celEnv({
    variables: {
      tool: STRING,
      server: STRING,
      target: STRING,
      args: anything,
      principal: anything,
      annotations: anything,
      request: anything,
    },
    funcs: celFunctions(library, values, { work, reading }),
    re2: { compile: (pattern) => ({ test: (text) => isMatch(pattern, text) }) },
  });
  return { env, isCelError, parse, plan, values };

  /** @throws WorkLimitError, or RangeError where the text is too long to be searched */
  function isMatch(pattern: string, text: string): boolean {
    const compiled = compilePattern(pattern);
    work.spend(matchCost(searchable(text).length, compiled.programSize()));
    return compiled.test(text);
  }
}

/** Compiles the conditions of one config; the library is loaded with the first one. */
export class ExpressionCompiler {
  readonly #work = new EvaluationWork();
  readonly #reading = new MemberReading(this.#work);
  #engine: ReturnType<typeof createEngine> | undefined;
  readonly #patterns = new Map<string, RE2JS>();
  /** Each pattern is a literal of the config. */
  readonly #compilePattern = (pattern: string): RE2JS => {
    const compiled = this.#patterns.get(pattern) ?? compilePattern(pattern);
    this.#patterns.set(pattern, compiled);
    return compiled;
  };

  /** @throws ExpressionError with a sentence about what is wrong; it quotes nothing but names. */
  compile(text: string): Expression {
    if (text.length > MAX_EXPRESSION_LENGTH) {
      throw new ExpressionError(`the expression is longer than ${MAX_EXPRESSION_LENGTH} characters`);
    }
    this.#engine ??= createEngine(this.#work, this.#reading, this.#compilePattern);
    const { env, isCelError, parse, plan, values } = this.#engine;
    const work = this.#work;
    const reading = this.#reading;
    const translated = (expr: Expr) => translate(env, expr, KNOWN, this.#compilePattern);
    const { expr, type, uses, parts } = withExpressionErrors(() => translated(parse(text).expr));
    if (type !== "bool" && type !== "dyn") {
      throw new ExpressionError(`the expression gives a value of type ${type}, not true or false`);
    }
    const program = withExpressionErrors(() => plan(env, expr));
    const precheck = withExpressionErrors(() =>
      beforeCall(conjuncts(parse(text).expr).map(translated)).map((part) => plan(env, part.expr)),
    );
    const plain = plainCondition(parse(text).expr, this.#compilePattern);
    const bindings = (facts: Facts) => ({
      tool: facts.tool,
      server: facts.server,
      target: facts.target,
      args: values.any(facts.args),
      principal: values.object(facts.principal),
      annotations: values.object(facts.annotations),
      request: values.any(facts.request),
    });
    return {
      get spent() {
        return work.spent;
      },
      uses: new Set(VARIABLES.filter((name) => uses.has(name))),
      isRuledOut(facts) {
        work.begin(MAX_STEPS);
        const known = bindings({ ...facts, args: {}, request: {} });
        for (const part of precheck) {
          const result = part(known);
          if (work.isExceeded) return false;
          if (result === false) return true;
          // An error in a part is left to the whole expression.
          if (result !== true) return false;
        }
        return false;
      },
      evaluate: (facts) => evaluateWithin(facts, MAX_STEPS) ?? TOO_MUCH,
      tryEvaluate: (facts, most) =>
        evaluateWithin(facts, Math.min(most, MAX_STEPS)) ?? (most < MAX_STEPS ? undefined : TOO_MUCH),
    };

    function runProgram(facts: Facts): unknown {
      try {
        work.spend(parts);
        return program(bindings(facts));
      } catch (error) {
        if (error instanceof WorkLimitError) return undefined;
        throw error;
      }
    }

    function evaluateWithin(facts: Facts, most: number): ConditionResult | undefined {
      work.begin(most);
      if (parts > most) return undefined;
      const answer = plain?.(facts);
      if (answer !== undefined) {
        work.spend(parts);
        return answer ? "yes" : "no";
      }
      reading.begin();
      const exact = evaluateReading(facts);
      if (!reading.sawTwin || exact === undefined) return exact;
      reading.beginFolded();
      const folded = evaluateReading(facts);
      if (reading.isUnclear) return SEVERAL_TWINS;
      if (folded === undefined || folded === exact) return folded;
      return typeof exact === "string" ? ONE_TWIN : exact;
    }

    /** Undefined where it is more work than was given. */
    function evaluateReading(facts: Facts): ConditionResult | undefined {
      const result = runProgram(facts);
      if (work.isExceeded) return undefined;
      if (result === true) return "yes";
      if (result === false || result === null) return "no";
      return { failed: isCelError(result) ? result.message : "the result is neither true nor false" };
    }
  }
}

/** The parts of a condition before the first that depends on the call. */
function beforeCall(parts: readonly ReturnType<typeof translate>[]): readonly ReturnType<typeof translate>[] {
  const at = parts.findIndex(({ uses }) => uses.has("args") || uses.has("request"));
  return at === -1 ? parts : parts.slice(0, at);
}

const ONE_TWIN: ConditionResult = {
  failed: "another member could be read as one that it asks for, by a server that ignores case",
};
const SEVERAL_TWINS: ConditionResult = {
  failed: "several members could be read as one that it asks for, by a server that ignores case",
};
const TOO_MUCH: ConditionResult = { failed: "it exceeds the work budget of a condition" };

const VARIABLES = ["tool", "server", "target", "args", "principal", "annotations", "request"] as const;

/** The library throws errors of many kinds for invalid expressions; a RangeError means nested too deeply. */
function withExpressionErrors<T>(compile: () => T): T {
  try {
    return compile();
  } catch (error) {
    if (error instanceof ExpressionError) throw error;
    if (error instanceof SyntaxError && error.cause !== undefined) throw new ExpressionError(error.message);
    if (error instanceof RangeError) throw new ExpressionError("the expression is nested too deep");
    throw new ExpressionError(syntaxErrorMessage(error), { cause: error });
  }
}

/** Where reading stopped, without the long list of what might have stood there. */
function syntaxErrorMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, line, column, found] = /^<input>:(\d+):(\d+): (.*?)(?: but expecting .*)?$/s.exec(message) ?? [];
  return found === undefined
    ? `the expression cannot be read: ${message}`
    : `the expression cannot be read at line ${line}, column ${column}: ${found}`;
}
