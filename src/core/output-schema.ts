/**
 * Can hosts compile a tool's output schema? SDKs up to 1.x compile those of all tools when they list, with a validator
 * for draft 7 (Ajv), and one that fails to compile makes them reject the list. Checked is what Ajv refuses: a keyword of
 * the wrong type, an invalid pattern, an unresolved reference. Ajv compiles only reachable parts, so only these are
 * checked.
 */
import { isObject, type JsonObject, numberOf } from "../wire/json.js";
import type { Flaw } from "./list-entries.js";

/** Deeper than any schema that a person wrote; compiling it would exhaust the stack. */
const MAX_SCHEMA_DEPTH = 200;

const TYPES: ReadonlySet<unknown> = new Set([
  ...["string", "number", "integer", "boolean", "null", "object", "array"],
]);

type Test = (value: unknown) => boolean;
const isNumber: Test = (value) => numberOf(value) !== undefined;
const isBoolean: Test = (value) => typeof value === "boolean";
const isSchema: Test = (value) => isObject(value) || isBoolean(value);
const isList: Test = Array.isArray;
const isPattern: Test = (value) => typeof value === "string" && isRegExp(value);
const isType: Test = (value) =>
  Array.isArray(value) ? value.every((one) => TYPES.has(one)) : value === "" || TYPES.has(value);

/** The type of each keyword. Keywords not listed are annotations, or unknown to draft 7. */
const KEYWORDS: Readonly<Record<string, readonly [Test, string]>> = {
  type: [isType, "a type, or a list of them"],
  nullable: [isBoolean, "true or false"],
  enum: [(value) => Array.isArray(value) && value.length > 0, "a list that is not empty"],
  pattern: [isPattern, "a regular expression"],
  format: [(value) => typeof value === "string", "a string"],
  $ref: [(value) => typeof value === "string", "a string"],
  // The `$id` of draft 4; newer validators refuse it.
  id: [() => false, "written as $id"],
  uniqueItems: [isBoolean, "true or false"],
  required: [isList, "a list"],
  properties: [isObject, "an object"],
  patternProperties: [isObject, "an object"],
  dependencies: [isObject, "an object"],
  const: [() => true, ""],
  ...each(["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"], isNumber, "a number"),
  ...each(["maxLength", "minLength", "maxItems", "minItems"], isNumber, "a number"),
  ...each(["maxProperties", "minProperties"], isNumber, "a number"),
  ...each(["anyOf", "oneOf", "allOf"], isList, "a list of schemas"),
  ...each(["additionalProperties", "additionalItems", "propertyNames", "contains"], isSchema, "a schema"),
  ...each(["not", "if", "then", "else"], isSchema, "a schema"),
  items: [(value) => isSchema(value) || isList(value), "a schema, or a list of them"],
};

function each(
  keywords: readonly string[],
  test: Test,
  what: string,
): Record<string, readonly [Test, string]> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, [test, what] as const]));
}

const IN_ONE = ["additionalProperties", "propertyNames", "contains", "not", "items"];
const IN_LIST = ["anyOf", "oneOf", "allOf", "items"];
const BY_NAME = ["properties", "patternProperties", "dependencies"];

/** The first fault in `schema` that Ajv refuses to compile; `at` is its path in the entry. */
export function outputSchemaFlaw(schema: JsonObject, at: string): Flaw | undefined {
  return new Compilation(schema).flaw(schema, at, 0);
}

class Compilation {
  readonly #root: JsonObject;
  readonly #seen = new Set<JsonObject>();
  #addresses: Addresses | undefined;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  flaw(schema: unknown, member: string, depth: number): Flaw | undefined {
    if (schema === null || schema === undefined) return { member, reason: "must be a schema, not null" };
    // A value that is no schema has no keywords and is skipped.
    if (!isObject(schema) || this.#seen.has(schema)) return undefined;
    this.#seen.add(schema);
    const rules = Object.keys(schema).filter((key) => Object.hasOwn(KEYWORDS, key));
    // A schema without keywords accepts everything, and Ajv does not look inside.
    if (rules.length === 0) return undefined;
    if (depth > MAX_SCHEMA_DEPTH) return { member, reason: `is nested deeper than ${MAX_SCHEMA_DEPTH}` };
    const own = keywordFlaw(schema, rules, member) ?? this.#refFlaw(schema, member, depth);
    if (own !== undefined) return own;
    for (const [path, inner] of subschemas(schema)) {
      const flaw = this.flaw(inner, `${member}.${path}`, depth + 1);
      if (flaw !== undefined) return flaw;
    }
    return undefined;
  }

  #refFlaw({ $ref: ref }: JsonObject, member: string, depth: number): Flaw | undefined {
    if (typeof ref !== "string" || ref === "" || ref === "#" || ref === "#/") return undefined;
    this.#addresses ??= addressesIn(this.#root);
    // With `$id` in subschemas a reference may resolve elsewhere.
    if (this.#addresses.hasIds || META_SCHEMA.test(ref)) return undefined;
    const target = ref.startsWith("#/") ? resolvePointer(this.#root, ref) : this.#addresses.anchors.get(ref);
    return target === undefined
      ? { member: `${member}.$ref`, reason: "must lead to a part of the schema" }
      : this.flaw(target, `${member}(${ref})`, depth + 1);
  }
}

function keywordFlaw(schema: JsonObject, rules: readonly string[], member: string): Flaw | undefined {
  for (const rule of rules) {
    const [test, what] = KEYWORDS[rule] ?? [];
    if (test?.(schema[rule]) === false) return { member: `${member}.${rule}`, reason: `must be ${what}` };
  }
  const { type, nullable } = schema;
  const types = Array.isArray(type) ? type : [type].filter(Boolean);
  const named = unreadablePattern(schema);
  if (named !== undefined)
    return { member: `${member}.patternProperties.${named}`, reason: "must be a regular expression" };
  const clash = types.length === 0 ? nullable !== undefined : nullable === false && types.includes("null");
  return clash ? { member: `${member}.nullable`, reason: "must go with the type" } : undefined;
}

/** A key of `patternProperties` that is no regular expression; Ajv compiles them only where a schema constrains them. */
function unreadablePattern({
  patternProperties: named,
  additionalProperties: others,
}: JsonObject): string | undefined {
  if (!isObject(named)) return undefined;
  const isIdle =
    Object.values(named).every(acceptsEverything) && (others === undefined || acceptsEverything(others));
  return isIdle ? undefined : Object.keys(named).find((pattern) => !isRegExp(pattern));
}

/** The reachable subschemas, with their paths. */
function* subschemas(schema: JsonObject): Generator<readonly [string, unknown]> {
  const { additionalItems } = schema;
  if (Array.isArray(schema.items) && isObject(additionalItems)) yield ["additionalItems", additionalItems];
  for (const key of IN_ONE) if (isObject(schema[key])) yield [key, schema[key]];
  if (isObject(schema.if)) {
    // Ajv compiles `if` only where `then` or `else` has keywords.
    const branches = ["then", "else"].filter(
      (key) => schema[key] !== undefined && !acceptsEverything(schema[key]),
    );
    for (const key of branches.length > 0 ? ["if", ...branches] : []) yield [key, schema[key]];
  }
  for (const key of IN_LIST) {
    const list: unknown = schema[key];
    if (!Array.isArray(list)) continue;
    // Ajv skips an `anyOf` in which one schema accepts everything.
    if (key === "anyOf" && list.some(acceptsEverything)) continue;
    for (const [index, one] of list.entries()) yield [`${key}[${index}]`, one];
  }
  for (const key of BY_NAME) {
    const named = schema[key];
    if (!isObject(named)) continue;
    for (const [name, one] of Object.entries(named)) {
      if (name !== "__proto__" && !(key === "dependencies" && Array.isArray(one)))
        yield [`${key}.${name}`, one];
    }
  }
}

const acceptsEverything: Test = (schema) =>
  schema === true || (schema !== null && typeof schema !== "boolean" && !hasKeywords(schema));
const hasKeywords: Test = (schema) =>
  isObject(schema) && Object.keys(schema).some((key) => Object.hasOwn(KEYWORDS, key));

const META_SCHEMA = /^http:\/\/json-schema\.org\/draft-07\/schema#?$/;

interface Addresses {
  readonly anchors: ReadonlyMap<string, unknown>;
  readonly hasIds: boolean;
}

/** The anchors in the schema, and whether it has `$id`s. */
function addressesIn(root: JsonObject): Addresses {
  const anchors = new Map<string, unknown>();
  let hasIds = false;
  const open: unknown[] = [root];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (typeof place !== "object" || place === null) continue;
    const { $id, $anchor, $dynamicAnchor } = place as JsonObject;
    hasIds ||= typeof $id === "string";
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor === "string") anchors.set(`#${anchor}`, place);
    }
    for (const inner of Object.values(place))
      if (typeof inner === "object" && inner !== null) open.push(inner);
  }
  return { anchors, hasIds };
}

/** Resolves a JSON Pointer in a URI fragment (RFC 6901, 6). */
function resolvePointer(root: JsonObject, ref: string): unknown {
  let place: unknown = root;
  for (const part of ref.slice(2).split("/")) {
    if (typeof place !== "object" || place === null) return undefined;
    const key = decodePointer(part).replaceAll("~1", "/").replaceAll("~0", "~");
    place = Object.hasOwn(place, key) ? (place as JsonObject)[key] : undefined;
  }
  return place;
}

function decodePointer(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Whether it compiles as a regular expression; it is never run. */
function isRegExp(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").source !== "";
  } catch {
    return false;
  }
}
