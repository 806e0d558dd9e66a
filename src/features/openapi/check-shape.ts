/**
 * Do all servers read the value of an argument as rules do? In a query, a form or a header everything is text, and
 * names are taken apart by brackets and dots; in JSON some servers ignore the case of names.
 */
import { TYPE_NAMES, typeOf } from "../../core/json-types.js";
import { foldedName } from "../../wire/case-folding.js";
import { isNumber } from "../../wire/decimal.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { UnusableArgument } from "./given-values.js";
import type { Shape } from "./operation.js";
import { ANY_SHAPE } from "./shapes.js";
import { foldedField, isMethodOverride, isPlainName } from "./wire-names.js";

/** `filter[a][b]…`: qs reads deeper names as one (its `depth`). */
const MAX_LEVELS = 5;

/**
 * Checks a value that is written as text, with the names of its members.
 *
 * @param argument its path, for messages
 * @param style `flat`: a list is one name several times, or one text, so that a list of one item is read as the item;
 * members of an object are names. `json`: the same, but an object is JSON. `deep`: members and items have names of their
 * own at every level
 * @throws UnusableArgument
 */
export function checkWritten(
  argument: string,
  value: unknown,
  shape: Shape,
  style: "flat" | "json" | "deep",
): void {
  checkType(argument, value, shape);
  if (style === "deep") {
    checkDeep(argument, value, shape, 0);
  } else if (Array.isArray(value)) {
    if (shape.items === undefined && shape.types?.includes("array") !== true)
      throw new UnusableArgument(
        `the argument "${argument}" must not be a list: the document describes none`,
      );
    for (const item of value) checkJson(argument, item, shape.items ?? ANY_SHAPE);
  } else if (style === "json") {
    checkJson(argument, value, shape);
  } else if (isObject(value)) {
    checkMembers(argument, value, shape);
    for (const [name, inner] of Object.entries(value)) {
      const described = memberShape(shape, name);
      checkType(`${argument}.${name}`, inner, described);
      checkJson(`${argument}.${name}`, inner, described);
    }
  }
}

function checkDeep(argument: string, value: unknown, shape: Shape, level: number): void {
  checkType(argument, value, shape);
  if (typeof value !== "object" || value === null || isNumber(value)) return;
  if (level === MAX_LEVELS)
    throw new UnusableArgument(`the argument "${argument}" is nested deeper than ${MAX_LEVELS} levels`);
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries())
      checkDeep(`${argument}.${at}`, item, shape.items ?? ANY_SHAPE, level + 1);
    return;
  }
  checkMembers(argument, value as JsonObject, shape);
  for (const [name, inner] of Object.entries(value))
    checkDeep(`${argument}.${name}`, inner, memberShape(shape, name), level + 1);
}

/** What the schema says of the member `name`. */
export const memberShape = (shape: Shape, name: string): Shape =>
  shape.members.get(name) ?? shape.others ?? ANY_SHAPE;

/** Members that the schema does not name must be admitted by it, plain, and no other spelling of another member. */
function checkMembers(argument: string, value: JsonObject, shape: Shape): void {
  checkNames(
    argument,
    Object.keys(value).filter((name) => !shape.members.has(name)),
    shape.isOpen,
    [...shape.members.keys()],
  );
}

/**
 * Checks names that a caller chose, in a query or a form.
 *
 * @param chosen those that the document does not describe
 * @param isOpen whether the schema admits any
 * @throws UnusableArgument
 */
export function checkNames(
  argument: string,
  chosen: readonly string[],
  isOpen: boolean,
  described: readonly string[],
): void {
  const [first] = chosen;
  if (first === undefined) return;
  if (!isOpen) {
    const known = described.length === 0 ? "it has none" : `it has ${described.slice(0, 20).join(", ")}`;
    throw new UnusableArgument(`the document describes no member ${shown(first)} of "${argument}"; ${known}`);
  }
  const taken = new Set(described.map(foldedField));
  for (const name of chosen) {
    if (!isPlainName(name))
      throw new UnusableArgument(
        `the argument "${argument}" must not set ${shown(name)}: names that the document does not describe begin with a letter, have letters, digits, "_" and "-" only, and are no commands to the server`,
      );
    const folded = foldedField(name);
    if (taken.has(folded))
      throw new UnusableArgument(
        `the argument "${argument}" must not set ${shown(name)}, which some servers read as another member`,
      );
    taken.add(folded);
  }
}

function checkType(argument: string, value: unknown, { types }: Shape): void {
  if (types === undefined || value === null || value === undefined) return;
  const type = typeOf(value);
  if (types.includes(type) || (type === "number" && types.includes("integer"))) return;
  const admitted =
    types.length === 0 ? "of no type" : types.map((one) => TYPE_NAMES[one] ?? one).join(" or ");
  throw new UnusableArgument(
    `the argument "${argument}" must be ${admitted}, by the API's document; it is ${TYPE_NAMES[type]}`,
  );
}

/**
 * Checks a body of JSON. @throws UnusableArgument
 */
export function checkJsonBody(value: unknown, shape: Shape): void {
  if (isObject(value))
    for (const [name, inner] of Object.entries(value))
      checkMethodOverride(`body.${name}`, name, inner, shape.members.get(name) ?? ANY_SHAPE);
  checkJson("body", value, shape);
}

/**
 * A name that some frameworks read as the method of the request takes only the values that the document lists for it:
 * otherwise a caller of one operation chooses another one. @throws UnusableArgument
 */
export function checkMethodOverride(argument: string, name: string, value: unknown, shape: Shape): void {
  if (!isMethodOverride(name) || value === undefined || shape.values?.includes(value)) return;
  const values = shape.values?.length
    ? `lists ${shape.values.map(String).join(", ")}`
    : "lists no values for it";
  throw new UnusableArgument(
    `the argument ${shown(argument)} must not set ${shown(name)}, which some servers read as the method; the document ${values}`,
  );
}

const foldsOf = new WeakMap<Shape, ReadonlySet<string>>();

/**
 * Refuses members of JSON that are spelled as ones that the schema names, in other case: Go and .NET would read them so.
 *
 * @throws UnusableArgument
 */
function checkJson(argument: string, value: unknown, shape: Shape): void {
  if (shape === ANY_SHAPE || typeof value !== "object" || value === null || isNumber(value)) return;
  if (Array.isArray(value)) {
    if (shape.items !== undefined) for (const item of value) checkJson(argument, item, shape.items);
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    const described = shape.members.get(name);
    if (described === undefined && shape.members.size > 0) {
      let folds = foldsOf.get(shape);
      if (folds === undefined) {
        folds = new Set([...shape.members.keys()].map(foldedName));
        foldsOf.set(shape, folds);
      }
      const folded = foldedName(name);
      if (folds.has(folded)) {
        const meant = [...shape.members.keys()].find((one) => foldedName(one) === folded);
        throw new UnusableArgument(
          `the argument "${argument}" must not set ${shown(name)}, which some servers read as ${shown(meant ?? "")}`,
        );
      }
    }
    checkJson(`${argument}.${name}`, inner, described ?? shape.others ?? ANY_SHAPE);
  }
}

const shown = (name: string): string => writeJson(name.slice(0, 100));
