/**
 * Which conditions are answered without the CEL library? Most compare a member with a constant of the config, and in most calls
 * that member is a short text, a number or absent. The library answers all others, and gives the same answer to these.
 */
import type { RE2JS } from "../../../patterns/re2.js";
import { isObject } from "../../../wire/json.js";
import type { Facts } from "./expression.js";
import { codePoints } from "./functions.js";
import type { Expr } from "./translate.js";

/** Undefined where the library must answer. */
export type PlainCondition = (facts: Facts) => boolean | undefined;

/** A scalar of the facts; null where there is none, undefined where only the library can read it. */
type Read = (facts: Facts) => string | number | boolean | null | undefined;
type Call = Extract<Expr["exprKind"], { case: "callExpr" }>["value"];
type Compile = (pattern: string) => RE2JS;

/** Work with longer texts is counted. */
const MAX_TEXT = 4096;

/** @returns undefined where some part of the expression has another form */
export function plainCondition(expr: Expr, compile: Compile): PlainCondition | undefined {
  if (expr.exprKind.case !== "callExpr") return truthOf(readOf(expr));
  const call = expr.exprKind.value;
  const { function: name, args } = call;
  switch (name) {
    case "_&&_":
      return joined(args, compile, false);
    case "_||_":
      return joined(args, compile, true);
    case "!_":
      return negated(args.length === 1 ? plainCondition(args[0] as Expr, compile) : undefined);
    case "_==_":
      return equals(args);
    case "_!=_":
      return negated(equals(args));
    case "@in":
      return isIn(args);
    case "_[_]":
      return truthOf(readOf(expr));
  }
  return Object.hasOwn(COMPARISONS, name) ? compares(call) : textTest(call, compile);
}

/** `and` and `or`, from left to right; `end` is the value that ends them. */
function joined(args: readonly Expr[], compile: Compile, end: boolean): PlainCondition | undefined {
  const parts = args.map((arg) => plainCondition(arg, compile));
  if (!parts.every((part) => part !== undefined)) return undefined;
  return (facts) => {
    for (const part of parts) {
      const answer = part(facts);
      if (answer !== !end) return answer;
    }
    return !end;
  };
}

function negated(part: PlainCondition | undefined): PlainCondition | undefined {
  if (part === undefined) return undefined;
  return (facts) => {
    const answer = part(facts);
    return answer === undefined ? undefined : !answer;
  };
}

function truthOf(read: Read | undefined): PlainCondition | undefined {
  if (read === undefined) return undefined;
  return (facts) => {
    const value = read(facts);
    if (typeof value === "boolean") return value;
    return value === null ? false : undefined;
  };
}

/** Values of two kinds are left to the library. */
function equals([left, right]: readonly Expr[]): PlainCondition | undefined {
  const [of, constant] =
    constantOf(right) === undefined ? [right, constantOf(left)] : [left, constantOf(right)];
  const read = readOf(of);
  if (read === undefined || constant === undefined) return undefined;
  return (facts) => {
    const value = read(facts);
    if (value === null) return false;
    return typeof value === typeof constant ? value === constant : undefined;
  };
}

/** A constant in the groups of the principal, or a member in a list of constant texts. */
function isIn([left, right]: readonly Expr[]): PlainCondition | undefined {
  const constant = constantOf(left);
  if (typeof constant === "string")
    return isMemberOf(right, "principal", "groups")
      ? ({ principal }) => principal.groups.includes(constant)
      : undefined;
  const read = readOf(left);
  if (read === undefined || right?.exprKind.case !== "listExpr") return undefined;
  const texts = right.exprKind.value.elements.map(constantOf);
  if (!texts.every((text) => typeof text === "string")) return undefined;
  return (facts) => {
    const value = read(facts);
    if (value === null) return false;
    return typeof value === "string" ? texts.includes(value) : undefined;
  };
}

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  "_<_": (a, b) => a < b,
  "_<=_": (a, b) => a <= b,
  "_>_": (a, b) => a > b,
  "_>=_": (a, b) => a >= b,
};

/** A number, or the length of a text, beside a constant. */
function compares({ function: name, args: [left, right] }: Call): PlainCondition | undefined {
  const holds = COMPARISONS[name];
  const constant = constantOf(right);
  const read = sizeOf(left) ?? readOf(left);
  if (holds === undefined || read === undefined || typeof constant !== "number") return undefined;
  return (facts) => {
    const value = read(facts);
    if (value === null) return false;
    return typeof value === "number" ? holds(value, constant) : undefined;
  };
}

/** `size(text)` or `text.size()`. */
function sizeOf(expr: Expr | undefined): Read | undefined {
  if (expr?.exprKind.case !== "callExpr" || expr.exprKind.value.function !== "size") return undefined;
  const { target, args } = expr.exprKind.value;
  const read = readOf(target ?? args[0]);
  if (read === undefined) return undefined;
  return (facts) => {
    const value = read(facts);
    if (value === null) return 0;
    return typeof value === "string" ? codePoints(value) : undefined;
  };
}

const TEXT_TESTS: Readonly<Record<string, (text: string, part: string) => boolean>> = {
  startsWith: (text, part) => text.startsWith(part),
  endsWith: (text, part) => text.endsWith(part),
  contains: (text, part) => text.includes(part),
};

function textTest({ function: name, target, args }: Call, compile: Compile): PlainCondition | undefined {
  const read = readOf(target);
  const part = constantOf(args[0]);
  const test = Object.hasOwn(TEXT_TESTS, name) ? TEXT_TESTS[name] : undefined;
  if (read === undefined || typeof part !== "string" || (test === undefined && name !== "matches"))
    return undefined;
  const pattern = test === undefined ? compile(part) : undefined;
  return (facts) => {
    const value = read(facts);
    if (value === null) return false;
    if (typeof value !== "string") return undefined;
    return test === undefined ? pattern?.test(value) : test(value, part);
  };
}

/** A variable that is a text, or a member of one that is a map. */
function readOf(expr: Expr | undefined): Read | undefined {
  if (expr === undefined) return undefined;
  const { exprKind } = expr;
  if (exprKind.case === "identExpr") {
    const { name } = exprKind.value;
    return name === "tool" || name === "server" || name === "target"
      ? (facts) => scalarOf(facts[name])
      : undefined;
  }
  if (isMemberOf(expr, "principal", "id")) return ({ principal }) => scalarOf(principal.id);
  const [owner, key] = memberOf(expr) ?? [];
  if (owner?.exprKind.case !== "identExpr" || key === undefined) return undefined;
  const { name } = owner.exprKind.value;
  if (name !== "args" && name !== "request" && name !== "annotations") return undefined;
  return (facts) => {
    const map = facts[name];
    if (!isObject(map)) return undefined;
    return Object.hasOwn(map, key) ? scalarOf(map[key]) : null;
  };
}

const isMemberOf = (expr: Expr | undefined, variable: string, key: string): boolean => {
  const [owner, name] = memberOf(expr) ?? [];
  return name === key && owner?.exprKind.case === "identExpr" && owner.exprKind.value.name === variable;
};

/** What `owner.key` or `owner["key"]` reads. */
function memberOf(expr: Expr | undefined): readonly [Expr | undefined, string] | undefined {
  const { exprKind } = expr ?? {};
  if (exprKind?.case === "selectExpr" && !exprKind.value.testOnly)
    return [exprKind.value.operand, exprKind.value.field];
  if (exprKind?.case !== "callExpr" || exprKind.value.function !== "_[_]") return undefined;
  const [owner, key] = exprKind.value.args;
  const name = constantOf(key);
  return typeof name === "string" ? [owner, name] : undefined;
}

function scalarOf(value: unknown): ReturnType<Read> {
  if (typeof value === "string") return value.length <= MAX_TEXT ? value : undefined;
  return value === null || typeof value === "boolean" || typeof value === "number" ? value : undefined;
}

/** A text, a boolean, or a number that a double has exactly. */
function constantOf(expr: Expr | undefined): string | number | boolean | undefined {
  if (expr?.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  if (constantKind.case === "int64Value") {
    const value = Number(constantKind.value);
    return Number.isSafeInteger(value) ? value : undefined;
  }
  const isPlain =
    constantKind.case === "stringValue" ||
    constantKind.case === "boolValue" ||
    constantKind.case === "doubleValue";
  return isPlain ? constantKind.value : undefined;
}
