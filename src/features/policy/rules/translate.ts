/** Checks the types of a `when` expression, and puts the null-safe and bounded functions in its place. */
import type { CelEnv, CelType, parse } from "@bufbuild/cel";
import { ExpressionError } from "./cel.js";
import { INTERNAL, MAX_ITERATION_DEPTH } from "./functions.js";

/** An expression as the library parses it. */
export type Expr = ReturnType<typeof parse>["expr"];
type Kind<C extends Expr["exprKind"]["case"]> = Extract<Expr["exprKind"], { case: C }>["value"];

/** The name of a CEL type; elements of lists and maps are `dyn`, unknown until evaluation. */
type TypeName = string;
const DYN = "dyn";

/** The types of the members of a variable; a variable that is not here may have any. */
export type KnownMembers = Readonly<Record<string, Readonly<Record<string, TypeName>>>>;

/** A translated expression. */
export interface Translation extends Typed {
  /** The variables it looks at. */
  readonly uses: ReadonlySet<string>;
  /** How many parts it has; each is a step of work. */
  readonly parts: number;
}

interface Typed {
  readonly expr: Expr;
  readonly type: TypeName;
}

const CONSTANTS: Readonly<Record<string, TypeName>> = {
  boolValue: "bool",
  bytesValue: "bytes",
  doubleValue: "double",
  int64Value: "int",
  nullValue: "null_type",
  stringValue: "string",
  uint64Value: "uint",
};
const SCALARS: ReadonlySet<TypeName> = new Set(Object.values(CONSTANTS));
const NUMBERS: ReadonlySet<TypeName> = new Set(["int", "uint", "double"]);

/**
 * In standard CEL a member that is not there is an error. Here it is null, and null is less than nothing, starts
 * with nothing and is in no list, so that a rule says what it seems to say about calls that leave an argument
 * out, in both senses: `args.env == 'prod'` does not match them, `args.env != 'test'` does.
 *
 * @param compilePattern throws where a pattern is not supported
 * @throws ExpressionError naming what cannot work.
 */
export function translate(
  env: CelEnv,
  expr: Expr,
  known: KnownMembers,
  compilePattern: (pattern: string) => unknown,
): Translation {
  const translator = new Translator(env, known, compilePattern);
  const typed = translator.visit(expr, new Map(), 0);
  return { ...typed, uses: translator.uses, parts: translator.parts };
}

/** The parts that must all be true for `expr` to be, in the order in which they are asked. */
export function conjuncts(expr: Expr): readonly Expr[] {
  const { exprKind } = expr;
  const isAnd = exprKind.case === "callExpr" && exprKind.value.function === "_&&_";
  return isAnd ? exprKind.value.args.flatMap(conjuncts) : [expr];
}

/** The variables of the walks around an expression. */
type Scope = ReadonlyMap<string, TypeName>;

class Translator {
  readonly uses = new Set<string>();
  parts = 0;
  readonly #env: CelEnv;
  readonly #known: KnownMembers;
  readonly #compilePattern: (pattern: string) => unknown;
  constructor(env: CelEnv, known: KnownMembers, compilePattern: (pattern: string) => unknown) {
    this.#env = env;
    this.#known = known;
    this.#compilePattern = compilePattern;
  }

  /** `depth` counts the walks around the expression. */
  visit(expr: Expr, scope: Scope, depth: number): Typed {
    const { exprKind } = expr;
    this.parts += 1;
    switch (exprKind.case) {
      case "constExpr":
        return { expr, type: CONSTANTS[exprKind.value.constantKind.case ?? ""] ?? DYN };
      case "identExpr":
        return { expr, type: this.#variable(exprKind.value.name, scope) };
      case "selectExpr":
        return this.#select(exprKind.value, scope, depth);
      case "callExpr":
        return this.#call(exprKind.value, scope, depth);
      case "listExpr": {
        const elements = exprKind.value.elements.map((element) => this.visit(element, scope, depth).expr);
        return { expr: exprOf({ case: "listExpr", value: { ...exprKind.value, elements } }), type: "list" };
      }
      case "structExpr":
        throw new ExpressionError("maps and messages cannot be written here");
      case "comprehensionExpr":
        return this.#comprehension(exprKind.value, scope, depth);
      case undefined:
        throw new ExpressionError("the expression is empty");
    }
  }

  #variable(name: string, scope: Scope): TypeName {
    const local = scope.get(name);
    if (local !== undefined) return local;
    const type = this.#env.variables.find(name);
    if (type === undefined) throw new ExpressionError(`there is no variable "${name}"`);
    this.uses.add(name);
    return type.name;
  }

  #select(select: Kind<"selectExpr">, scope: Scope, depth: number): Typed {
    const owner = this.visit(requireExpr(select.operand), scope, depth);
    const type = this.#memberType(select, owner.type, scope);
    const key = stringConstant(select.field);
    return select.testOnly
      ? { expr: call(INTERNAL.has, [owner.expr, key]), type: "bool" }
      : { expr: call(INTERNAL.member, [owner.expr, key]), type };
  }

  #memberType({ operand, field }: Kind<"selectExpr">, owner: TypeName, scope: Scope): TypeName {
    if (owner !== DYN && owner !== "map") {
      throw new ExpressionError(`a value of type ${owner} has no member "${field}"`);
    }
    const name = operand?.exprKind.case === "identExpr" ? operand.exprKind.value.name : "";
    if (scope.has(name) || !Object.hasOwn(this.#known, name)) return DYN;
    const members = this.#known[name] ?? {};
    const type = Object.hasOwn(members, field) ? members[field] : undefined;
    if (type !== undefined) return type;
    throw new ExpressionError(
      `"${name}" has no member "${field}"; it has ${Object.keys(members).join(", ")}`,
    );
  }

  #call(called: Kind<"callExpr">, scope: Scope, depth: number): Typed {
    const target = called.target === undefined ? undefined : this.visit(called.target, scope, depth);
    const args = called.args.map((arg) => this.visit(arg, scope, depth));
    const again = (given: readonly Typed[]): Expr => call(called.function, exprs(given), target?.expr);
    switch (called.function) {
      case "_&&_":
      case "_||_":
        return { expr: again(args.map(asTruth)), type: "bool" };
      case "_?_:_": {
        const [condition, yes, no] = args;
        if (condition === undefined || yes === undefined || no === undefined) throw incomplete();
        return { expr: again([asTruth(condition), yes, no]), type: yes.type === no.type ? yes.type : DYN };
      }
      case "@not_strictly_false":
        return { expr: again(args), type: "bool" };
      case "_[_]":
        return { expr: call(INTERNAL.index, exprs(args)), type: DYN };
      case "_==_":
      case "_!=_":
        checkComparable(args);
        break;
      case "matches":
        this.#compilePattern(literalPattern(called));
        break;
    }
    return { expr: again(args), type: this.#resultType(called.function, target, args) };
  }

  /** The result of the overloads that could be meant. */
  #resultType(name: string, target: Typed | undefined, args: readonly Typed[]): TypeName {
    const overloads = [...(this.#env.funcs.find(name) ?? [])];
    const shown = name.replaceAll("_", " ").replace("@", "").trim();
    if (overloads.length === 0 || (name.startsWith("@") && name !== "@in")) {
      throw new ExpressionError(`there is no function "${shown}"`);
    }
    const possible = overloads.filter(
      (overload) =>
        (target === undefined) === (overload.target === undefined) &&
        (target === undefined || fits(target.type, overload.target)) &&
        overload.arguments.length === args.length &&
        args.every(({ type }, at) => fits(type, overload.arguments[at])),
    );
    const given = [...(target === undefined ? [] : [target]), ...args].map(({ type }) => type);
    if (possible.length === 0) throw new ExpressionError(`"${shown}" does not take ${given.join(" and ")}`);
    const [first = DYN, ...others] = possible.map(({ result }) => result.name);
    return others.every((other) => other === first) ? first : DYN;
  }

  /** What macros such as `exists` and `map` have become: a walk through a list. */
  #comprehension(walk: Kind<"comprehensionExpr">, scope: Scope, depth: number): Typed {
    if (depth >= MAX_ITERATION_DEPTH) {
      throw new ExpressionError(`macros over lists are nested more than ${MAX_ITERATION_DEPTH} deep`);
    }
    const range = this.visit(requireExpr(walk.iterRange), scope, depth);
    if (SCALARS.has(range.type)) {
      throw new ExpressionError(`a value of type ${range.type} is no list to iterate over`);
    }
    const start = this.visit(requireExpr(walk.accuInit), scope, depth);
    const outside = new Map(scope).set(walk.accuVar, start.type);
    const inside = new Map(outside).set(walk.iterVar, range.type === "map" ? "string" : DYN);
    const result = this.visit(requireExpr(walk.result), outside, depth);
    const before = this.parts;
    const condition = this.visit(requireExpr(walk.loopCondition), inside, depth + 1).expr;
    const step = this.visit(requireExpr(walk.loopStep), inside, depth + 1).expr;
    // Each time around the work is counted; when it is too much, the walk ends with the error.
    const steps = call(INTERNAL.step, [integerConstant(this.parts - before + STEPS_PER_ITERATION)]);
    const value = {
      ...walk,
      accuInit: start.expr,
      iterRange: call(INTERNAL.walk[depth] ?? "", [range.expr]),
      loopCondition: call("_&&_", [steps, condition]),
      loopStep: step,
      result: result.expr,
    };
    return { expr: exprOf({ case: "comprehensionExpr", value }), type: result.type };
  }
}

/** What a walk itself takes for each element. */
const STEPS_PER_ITERATION = 3;

/** A value that may not be a boolean is checked at evaluation. */
function asTruth(value: Typed): Typed {
  if (value.type === "bool") return value;
  if (value.type !== DYN) {
    throw new ExpressionError(`a value of type ${value.type} is neither true nor false`);
  }
  return { expr: call(INTERNAL.truth, [value.expr]), type: "bool" };
}

/** A pattern must be a literal, compiled with the rule; one that a caller could choose is refused. */
function literalPattern({ args }: Kind<"callExpr">): string {
  const [pattern] = args;
  const { constantKind } = pattern?.exprKind.case === "constExpr" ? pattern.exprKind.value : {};
  if (constantKind?.case !== "stringValue") {
    throw new ExpressionError("the pattern of matches() must be written out as a text");
  }
  return constantKind.value;
}

/** Values of different kinds are never equal, so comparing them is a mistake. */
function checkComparable([left, right]: readonly Typed[]): void {
  if (left === undefined || right === undefined) return;
  const kinds = [left.type, right.type].map((type) => (NUMBERS.has(type) ? "number" : type));
  if (kinds[0] !== kinds[1] && !kinds.includes(DYN) && !kinds.includes("null_type")) {
    throw new ExpressionError(`values of type ${left.type} and ${right.type} are never equal`);
  }
}

const fits = (given: TypeName, wanted: CelType | undefined): boolean =>
  wanted !== undefined && (given === DYN || wanted.name === DYN || given === wanted.name);

const incomplete = (): ExpressionError => new ExpressionError("the expression is not complete");

const requireExpr = (expr: Expr | undefined): Expr => {
  if (expr === undefined) throw incomplete();
  return expr;
};

const exprs = (values: readonly Typed[]): readonly Expr[] => values.map(({ expr }) => expr);

/** Ids lead back to the source text; what was put in place of it has none. */
const exprOf = (exprKind: Expr["exprKind"]): Expr => ({ $typeName: "cel.expr.Expr", id: 0n, exprKind });

const call = (name: string, args: readonly Expr[], target?: Expr): Expr =>
  exprOf({
    case: "callExpr",
    value: {
      $typeName: "cel.expr.Expr.Call",
      function: name,
      args: [...args],
      ...(target !== undefined && { target }),
    },
  });

const stringConstant = (text: string): Expr =>
  exprOf({
    case: "constExpr",
    value: { $typeName: "cel.expr.Constant", constantKind: { case: "stringValue", value: text } },
  });

const integerConstant = (value: number): Expr =>
  exprOf({
    case: "constExpr",
    value: { $typeName: "cel.expr.Constant", constantKind: { case: "int64Value", value: BigInt(value) } },
  });
