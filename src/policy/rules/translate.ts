/** Checks the types of a `when` expression, and puts the null-safe and bounded functions in its place. */
import { type CelEnv, CelScalar, type CelType, listType, type parse } from "@bufbuild/cel";
import { ExprSchema } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { create } from "@bufbuild/protobuf";
import { ExpressionError } from "./expression-error.js";
import { DEEPEST_WALK, INTERNAL } from "./functions.js";
import { compilePattern } from "./patterns.js";

type Expr = ReturnType<typeof parse>["expr"];
type Kind<C extends Expr["exprKind"]["case"]> = Extract<Expr["exprKind"], { case: C }>["value"];

/** The members of a variable whose members are known; a variable that is not here may have any. */
export type KnownMembers = Readonly<Record<string, Readonly<Record<string, CelType>>>>;

export interface Translation {
  readonly expr: Expr;
  readonly type: CelType;
  /** The variables it looks at. */
  readonly uses: ReadonlySet<string>;
}

interface Typed {
  readonly expr: Expr;
  readonly type: CelType;
}

const { BOOL, BYTES, DOUBLE, DYN, INT, NULL, STRING, UINT } = CelScalar;
const CONSTANTS: Readonly<Record<string, CelType>> = {
  boolValue: BOOL,
  bytesValue: BYTES,
  doubleValue: DOUBLE,
  int64Value: INT,
  nullValue: NULL,
  stringValue: STRING,
  uint64Value: UINT,
};

/**
 * In standard CEL a member that is not there is an error. Here it is null, and null is less than nothing, starts
 * with nothing and is in no list, so that a rule says what it seems to say about calls that leave an argument
 * out, in both senses: `args.env == 'prod'` does not match them, `args.env != 'test'` does.
 *
 * @throws ExpressionError naming what cannot work.
 */
export function translate(env: CelEnv, expr: Expr, known: KnownMembers): Translation {
  const translator = new Translator(env, known);
  const { expr: translated, type } = translator.visit(expr, new Map(), 0);
  return { expr: translated, type, uses: translator.uses };
}

type Scope = ReadonlyMap<string, CelType>;

class Translator {
  readonly uses = new Set<string>();
  readonly #env: CelEnv;
  readonly #known: KnownMembers;
  constructor(env: CelEnv, known: KnownMembers) {
    this.#env = env;
    this.#known = known;
  }

  /** `depth` counts the walks around the expression. */
  visit(expr: Expr, scope: Scope, depth: number): Typed {
    const { exprKind } = expr;
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
        return {
          expr: like(expr, { case: "listExpr", value: { ...exprKind.value, elements } }),
          type: listType(DYN),
        };
      }
      case "structExpr":
        throw new ExpressionError("maps and messages cannot be written here");
      case "comprehensionExpr":
        return this.#comprehension(expr, exprKind.value, scope, depth);
      case undefined:
        throw new ExpressionError("the expression is empty");
    }
  }

  #variable(name: string, scope: Scope): CelType {
    const type = scope.get(name) ?? this.#env.variables.find(name);
    if (type === undefined) throw new ExpressionError(`there is no variable "${name}"`);
    if (!scope.has(name)) this.uses.add(name);
    return type;
  }

  #select(select: Kind<"selectExpr">, scope: Scope, depth: number): Typed {
    const owner = this.visit(present(select.operand), scope, depth);
    const type = this.#memberType(select, owner.type, scope);
    const key = constant(select.field);
    return select.testOnly
      ? { expr: call(INTERNAL.has, [owner.expr, key]), type: BOOL }
      : { expr: call(INTERNAL.member, [owner.expr, key]), type };
  }

  #memberType({ operand, field }: Kind<"selectExpr">, owner: CelType, scope: Scope): CelType {
    if (owner !== DYN && owner.kind !== "map") {
      throw new ExpressionError(`a value of type ${String(owner)} has no member "${field}"`);
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
    const again = (given: readonly Typed[]): Expr =>
      call(
        called.function,
        given.map(({ expr }) => expr),
        target?.expr,
      );
    switch (called.function) {
      case "_&&_":
      case "_||_":
        return { expr: again(args.map(asTruth)), type: BOOL };
      case "_?_:_": {
        const [condition, ...branches] = args;
        const [yes, no] = branches.map(({ type }) => type);
        const type = yes !== undefined && yes === no ? yes : DYN;
        return { expr: again([asTruth(condition as Typed), ...branches]), type };
      }
      case "@not_strictly_false":
        return { expr: again(args), type: BOOL };
      case "_[_]":
        return {
          expr: call(
            INTERNAL.index,
            args.map(({ expr }) => expr),
          ),
          type: DYN,
        };
      case "_==_":
      case "_!=_":
        checkComparable(args);
        break;
      case "matches":
        checkPattern(called);
        break;
    }
    return { expr: again(args), type: this.#resultType(called.function, target, args) };
  }

  /** The result of the overloads that could be meant. */
  #resultType(name: string, target: Typed | undefined, args: readonly Typed[]): CelType {
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
    const given = [...(target === undefined ? [] : [target]), ...args].map(({ type }) => String(type));
    if (possible.length === 0) throw new ExpressionError(`"${shown}" does not take ${given.join(" and ")}`);
    const [first, ...others] = possible.map(({ result }) => result);
    return first !== undefined && others.every((other) => other === first) ? first : DYN;
  }

  #comprehension(expr: Expr, loop: Kind<"comprehensionExpr">, scope: Scope, depth: number): Typed {
    if (depth >= DEEPEST_WALK)
      throw new ExpressionError(`walks through lists are nested more than ${DEEPEST_WALK} deep`);
    const range = this.visit(present(loop.iterRange), scope, depth);
    if (range.type !== DYN && range.type.kind === "scalar") {
      throw new ExpressionError(`a value of type ${String(range.type)} is no list to walk through`);
    }
    const start = this.visit(present(loop.accuInit), scope, depth);
    const element =
      range.type.kind === "list" ? range.type.element : range.type.kind === "map" ? STRING : DYN;
    const outside = new Map(scope).set(loop.accuVar, start.type);
    const inside = new Map(outside).set(loop.iterVar, element);
    const result = this.visit(present(loop.result), outside, depth);
    const value = {
      ...loop,
      accuInit: start.expr,
      iterRange: call(INTERNAL.walk[depth] ?? "", [range.expr]),
      loopCondition: this.visit(present(loop.loopCondition), inside, depth + 1).expr,
      loopStep: this.visit(present(loop.loopStep), inside, depth + 1).expr,
      result: result.expr,
    };
    return { expr: like(expr, { case: "comprehensionExpr", value }), type: result.type };
  }
}

/** A value that may turn out to be no truth value is asked for one when the time comes. */
function asTruth(value: Typed): Typed {
  if (value.type === BOOL) return value;
  if (value.type !== DYN)
    throw new ExpressionError(`a value of type ${String(value.type)} is neither true nor false`);
  return { expr: call(INTERNAL.truth, [value.expr]), type: BOOL };
}

/** A pattern must be there to be compiled before anybody calls; one that a caller could choose is refused. */
function checkPattern({ args }: Kind<"callExpr">): void {
  const [pattern] = args;
  const { constantKind } = pattern?.exprKind.case === "constExpr" ? pattern.exprKind.value : {};
  if (constantKind?.case !== "stringValue") {
    throw new ExpressionError("the pattern of matches() must be written out as a text");
  }
  compilePattern(constantKind.value);
}

/** Values of different kinds are never equal, so whoever compares them has made a mistake. */
function checkComparable([left, right]: readonly Typed[]): void {
  if (left === undefined || right === undefined) return;
  const kinds = [left.type, right.type].map((type) => (NUMBERS.has(type) ? "number" : type.name));
  if (kinds[0] !== kinds[1] && !kinds.includes(DYN.name) && !kinds.includes(NULL.name)) {
    throw new ExpressionError(
      `values of type ${String(left.type)} and ${String(right.type)} are never equal`,
    );
  }
}

const NUMBERS: ReadonlySet<CelType> = new Set([INT, UINT, DOUBLE]);

function fits(given: CelType, wanted: CelType | undefined): boolean {
  if (wanted === undefined) return false;
  if (given === DYN || wanted === DYN || given === wanted) return true;
  return given.kind === wanted.kind && given.name === wanted.name;
}

const present = (expr: Expr | undefined): Expr => {
  if (expr === undefined) throw new ExpressionError("the expression is not complete");
  return expr;
};

const like = (expr: Expr, exprKind: Expr["exprKind"]): Expr => create(ExprSchema, { id: expr.id, exprKind });

const call = (name: string, args: readonly Expr[], target?: Expr): Expr =>
  create(ExprSchema, {
    exprKind: {
      case: "callExpr",
      value: { function: name, args: [...args], ...(target !== undefined && { target }) },
    },
  });

const constant = (text: string): Expr =>
  create(ExprSchema, {
    exprKind: { case: "constExpr", value: { constantKind: { case: "stringValue", value: text } } },
  });
