/** Does the answer of an API fit the output schema of its tool, so that hosts take it? In steps, for long answers. */
import { type Steps, Work } from "../../runtime/cooperative-yield.js";
import { isNumber } from "../../wire/decimal.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { definitionAt, describeMisfit } from "./loosen-schema.js";

/** Pairs of a value and a schema; more are not compared, and the answer counts as one that does not fit. */
const MAX_PAIRS = 20_000_000;
/** References and compositions without a step into the value. */
const MAX_SCHEMA_STEPS = 64;
/** Comparing a pair costs about as much as searching 16 characters, the unit of work. */
const PAIR_WORK = 16;

type Path = readonly (string | number)[];

/** Why `value` does not fit `schema`, a loosened one, as a sentence without values; undefined where it fits. */
export const outputMisfit = (value: unknown, schema: JsonObject): Steps<string | undefined> =>
  new Comparison(schema).misfit(value, schema, [], 0);

class Comparison {
  readonly #root: JsonObject;
  readonly #work = new Work();
  #left = MAX_PAIRS;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  *misfit(value: unknown, schema: unknown, path: Path, level: number): Steps<string | undefined> {
    if (!isObject(schema) || level > MAX_SCHEMA_STEPS) return undefined;
    if (--this.#left < 0) return "it is too large to be checked";
    if (this.#work.mustYield(PAIR_WORK)) yield;
    const { type, allOf, anyOf } = schema;
    if (Array.isArray(type) ? !type.includes(typeOf(value)) : type !== undefined && type !== typeOf(value))
      return describeMisfit(path, `must be ${[type].flat().join(" or ")}, not ${typeOf(value)}`);
    const ref = stringAt(schema, "$ref");
    if (ref !== undefined) {
      const found = yield* this.misfit(value, definitionAt(this.#root, ref), path, level + 1);
      if (found !== undefined) return found;
    }
    for (const part of Array.isArray(allOf) ? allOf : []) {
      const found = yield* this.misfit(value, part, path, level + 1);
      if (found !== undefined) return found;
    }
    const choice = Array.isArray(anyOf) ? yield* this.#choice(value, anyOf, path, level) : undefined;
    return choice ?? (yield* this.#inside(value, schema, path));
  }

  /** The misfit with the first choice, where none fits. */
  *#choice(
    value: unknown,
    choices: readonly unknown[],
    path: Path,
    level: number,
  ): Steps<string | undefined> {
    let first: string | undefined;
    for (const choice of choices) {
      const found = yield* this.misfit(value, choice, path, level + 1);
      if (found === undefined) return undefined;
      first ??= found;
    }
    return first;
  }

  *#inside(value: unknown, schema: JsonObject, path: Path): Steps<string | undefined> {
    if (Array.isArray(value)) {
      if (!isObject(schema.items)) return undefined;
      for (const [at, item] of value.entries()) {
        const found = yield* this.misfit(item, schema.items, [...path, at], 0);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    const { properties, additionalProperties: others } = schema;
    if (!isObject(value) || (!isObject(properties) && !isObject(others))) return undefined;
    for (const [name, inner] of Object.entries(value)) {
      const isDescribed = isObject(properties) && Object.hasOwn(properties, name);
      const described = isDescribed ? properties[name] : others;
      // A name that the document does not have is the API's data.
      const found = yield* this.misfit(inner, described, [...path, isDescribed ? name : "*"], 0);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (isNumber(value)) return "number";
  return Array.isArray(value) ? "array" : typeof value;
}
