/** Compacts a tool's JSON Schema without changing the accepted values: removes texts for people, never a constraint. */
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";

/** The maximum length of a description in a compact schema, in characters; 90 % are shorter. */
export const SCHEMA_DESCRIPTION_LENGTH = 200;

/** Keywords whose value is one schema, a list of schemas, or schemas by name. */
const ONE = new Set([
  ...["additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"],
  ...["propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"],
]);
const LIST = new Set(["allOf", "anyOf", "items", "oneOf", "prefixItems"]);
const BY_NAME = new Set([
  ...["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"],
]);

/**
 * The schema without `title`, `$comment` and `examples`, without descriptions that only repeat a name, and with long
 * descriptions cut; the same object if nothing changes. All other keywords stay, including data (`enum`, `const`,
 * `default`) and unknown keywords with their content.
 *
 * @param known what a description may repeat: the name of the schema, the description of its tool
 */
export function compactSchema(schema: JsonObject, known: readonly string[] = []): JsonObject {
  return new Compaction(schema).schema(schema, known);
}

class Compaction {
  readonly #whole: JsonObject;
  #keepsExamples: boolean | undefined;

  constructor(whole: JsonObject) {
    this.#whole = whole;
  }

  schema(schema: JsonObject, known: readonly string[]): JsonObject {
    return mapMembers(schema, (keyword, value) => this.#member(keyword, value, known));
  }

  /** Undefined if the member is omitted. */
  #member(keyword: string, value: unknown, known: readonly string[]): unknown {
    if (keyword === "title" || keyword === "$comment") return typeof value === "string" ? undefined : value;
    if (keyword === "examples") return Array.isArray(value) && !this.#hasReferences() ? undefined : value;
    if (keyword === "description" && typeof value === "string") {
      return isRepetition(value, known) ? undefined : cutText(value, SCHEMA_DESCRIPTION_LENGTH);
    }
    if (Array.isArray(value) && LIST.has(keyword)) return this.#list(value);
    if (!isObject(value)) return value;
    if (BY_NAME.has(keyword)) {
      return mapMembers(value, (name, each) => (isObject(each) ? this.schema(each, [name]) : each));
    }
    return ONE.has(keyword) ? this.schema(value, []) : value;
  }

  #list(schemas: readonly unknown[]): readonly unknown[] {
    const compact = schemas.map((each) => (isObject(each) ? this.schema(each, []) : each));
    return compact.some((each, index) => each !== schemas[index]) ? compact : schemas;
  }

  /** A reference may point into the examples, which then stay. */
  #hasReferences(): boolean {
    this.#keepsExamples ??= refersIntoExamples(this.#whole);
    return this.#keepsExamples;
  }
}

/**
 * The object with `change` applied to each value, without members for which it returns undefined; the same object if
 * nothing changes.
 */
function mapMembers(object: JsonObject, change: (key: string, value: unknown) => unknown): JsonObject {
  let changed: [string, unknown][] | undefined;
  const entries = Object.entries(object);
  for (const [at, [key, value]] of entries.entries()) {
    const next = change(key, value);
    if (next !== value) changed ??= entries.slice(0, at);
    if (next !== undefined) changed?.push([key, next]);
  }
  return changed === undefined ? object : Object.fromEntries(changed);
}

/** Whether a description only repeats known text: `user_id`, "User ID." and "The user id" are equal. */
function isRepetition(description: string, known: readonly string[]): boolean {
  if (description === "") return true;
  // A much longer text is not compared: it says more.
  const near = known.filter(({ length }) => description.length <= length * 2 + "the ".length);
  if (near.length === 0) return false;
  const words = wordsOf(description);
  return near.some((each) => wordsOf(each) === words);
}

const wordsOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/^(?:the|an?)\s/, "")
    .replace(/[^\p{L}\p{N}]/gu, "");

function refersIntoExamples(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(refersIntoExamples);
  if (!isObject(value)) return false;
  const references = [stringAt(value, "$ref"), stringAt(value, "$dynamicRef")];
  // An escaped letter, as in `%65xamples`, may be part of the name.
  if (references.some((reference) => reference !== undefined && /examples\/|%/i.test(reference))) return true;
  return Object.values(value).some(refersIntoExamples);
}

const SENTENCE_ENDS = [". ", ".\n", "! ", "!\n", "? ", "?\n", ":\n", "\n\n", "。"] as const;

/** `text` with at most `maxLength` UTF-16 code units, and an ellipsis where something is left out. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  // The ellipsis, and the space before it, need two.
  const start = text.slice(0, Math.max(0, maxLength - 2));
  const sentence = Math.max(...SENTENCE_ENDS.map((end) => start.lastIndexOf(end)));
  if (sentence >= start.length / 2) return `${start.slice(0, sentence + 1).trimEnd()} …`;
  const space = start.search(/\s\S*$/);
  const word = space >= start.length / 2 ? start.slice(0, space) : start;
  // Not half of a surrogate pair, and no comma before the ellipsis.
  const whole = word.replace(/[\ud800-\udbff]$/, "").trimEnd();
  return `${whole.replace(/[,;:(–—-]$/, "").trimEnd()}…`;
}
