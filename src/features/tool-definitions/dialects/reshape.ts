/**
 * How is an input schema listed for a family of models that refuses parts of it? Parts are written otherwise, or left out;
 * what is left out stands in a description, and in `changes`. Calls are still checked against the tool's own schema.
 */
import { isObject, type JsonObject, numberOf, objectAt, stringAt } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { FAMILIES, type Family, type SchemaDialect } from "./families.js";
import { folded, type Note } from "./fold.js";

/** A schema as the family takes it. */
export interface Reshaped {
  readonly schema: JsonObject;
  /** What is different, a sentence each; empty where nothing is. Beyond MAX_CHANGES they are counted. */
  readonly changes: readonly string[];
  /** The number of schemas in it. */
  readonly count: number;
}

const MAX_CHANGES = 500;
/** The most schemas of one result: inlined references multiply. */
const MAX_SCHEMAS = 5_000;
const MAX_DEPTH = 64;
/** The most characters of a left out value in a description. */
const MAX_NOTE_LENGTH = 120;

/** Keywords that only make sense in a document, or say nothing of values: they are left out without a note. */
const SILENT = new Set([
  "$schema",
  "$id",
  "$comment",
  "$anchor",
  "$defs",
  "definitions",
  "title",
  "examples",
  "example",
]);

/** The schema for `dialect`; the same object where the family takes it. */
export function reshape(schema: JsonObject, dialect: SchemaDialect): Reshaped {
  const reshaper = new Reshaper(schema, FAMILIES[dialect]);
  const made = reshaper.schema(schema, { path: "", isTop: true, refs: [] });
  const { changes, count } = reshaper;
  return { schema: changes.length === 0 ? schema : made, changes, count };
}

interface Place {
  readonly path: string;
  readonly isTop: boolean;
  /** The references that led here. */
  readonly refs: readonly string[];
}

class Reshaper {
  readonly #changes = new Set<string>();
  #unlisted = 0;
  readonly #root: JsonObject;
  readonly #family: Family;
  /** The number of schemas written. */
  count = 0;

  constructor(root: JsonObject, family: Family) {
    this.#root = root;
    this.#family = family;
  }

  schema(given: unknown, place: Place): JsonObject {
    if (!isObject(given)) return {};
    this.count += 1;
    const isTooMuch = this.count > MAX_SCHEMAS || place.path.split(".").length > MAX_DEPTH;
    if (isTooMuch) {
      this.#change(place, "is too deep for this family, and any value is listed");
      return {};
    }
    const notes: string[] = [];
    const note: Note = (what) => {
      notes.push(what);
      this.#change(place, what);
    };
    const { schema, refs } = this.#withoutReference(given, place, note);
    const whole = this.#composed(schema, place, note);
    const members = Object.entries(whole).flatMap(([key, value]) =>
      this.#member(key, value, { ...place, refs }, note),
    );
    const typed = this.#withType(Object.fromEntries(members), note);
    const made = this.#withItems(this.#withOneType(typed, note), note);
    return this.#withOnlyChoice(withNotes(made, notes));
  }

  /** Where the family refuses references, what this one leads to in its place. */
  #withoutReference(given: JsonObject, { refs: before }: Place, note: Note) {
    let schema = given;
    let refs = before;
    if (!this.#family.inlinesReferences) return { schema, refs };
    for (let ref = stringAt(schema, "$ref"); ref !== undefined; ref = stringAt(schema, "$ref")) {
      const { $ref: _, ...beside } = schema;
      const target = refs.includes(ref) ? undefined : pointed(this.#root, ref);
      this.#mark(`${ref} is written out`);
      if (!isObject(target)) {
        note("(more of the same, as deep as needed)");
        return { schema: { type: "object", ...beside }, refs };
      }
      schema = { ...target, ...beside };
      refs = [...refs, ref];
    }
    return { schema, refs };
  }

  /** Compositions that the family refuses, as one schema. */
  #composed(schema: JsonObject, place: Place, note: Note): JsonObject {
    const { isTop } = place;
    const { composesByAnyOf, dropsAtTop } = this.#family;
    const isFolded = (key: string): boolean =>
      Array.isArray(schema[key]) && ((isTop && dropsAtTop.has(key)) || (composesByAnyOf && key === "allOf"));
    const keys = ["allOf", "anyOf", "oneOf"].filter(isFolded);
    for (const key of keys) this.#change(place, `the branches of ${key} are one schema`);
    const whole = keys.length === 0 ? schema : folded(schema, keys, (ref) => pointed(this.#root, ref), note);
    const { oneOf, ...others } = whole;
    if (!composesByAnyOf || !Array.isArray(oneOf)) return whole;
    if (others.anyOf !== undefined) return whole;
    note("(one of these forms, not several)");
    return { ...others, anyOf: oneOf };
  }

  #member(key: string, value: unknown, place: Place, note: Note): readonly (readonly [string, unknown])[] {
    const { keeps, drops, dropsAtTop, composesByAnyOf, formats, listsTextsOnly } = this.#family;
    if (key === "const" && composesByAnyOf && !place.isTop) {
      this.#change(place, "const is an enum of one value");
      return this.#member("enum", [value], place, note);
    }
    if (key === "enum" && listsTextsOnly && Array.isArray(value)) {
      const texts = value.filter((one) => one !== null);
      if (!texts.every((one) => typeof one === "string")) return left(key, value, note);
      if (texts.length < value.length) this.#mark("null is nullable, not a value of enum");
      return [["enum", texts]];
    }
    if (key === "format" && typeof value === "string" && formats?.has(value) === false)
      return left(key, value, note);
    if ((key === "exclusiveMinimum" || key === "exclusiveMaximum") && keeps?.has(key) === false)
      return this.#bound(key, value, note);
    if (key.startsWith("x-") || (keeps !== undefined && !keeps.has(key) && SILENT.has(key))) {
      this.#mark(`${place.path === "" ? "" : `${place.path}: `}${key} is left out`);
      return [];
    }
    const isRefused = keeps?.has(key) === false || drops.has(key) || (place.isTop && dropsAtTop.has(key));
    if (isRefused) return left(key, value, note);
    return [[key, this.#inner(key, value, place)]];
  }

  /** The value of a keyword, with the schemas in it. */
  #inner(key: string, value: unknown, place: Place): unknown {
    const inside = (step: string): Place => ({
      path: place.path === "" ? step : `${place.path}.${step}`,
      isTop: false,
      refs: place.refs,
    });
    if (key === "properties" && isObject(value)) {
      const shown = place.isTop ? this.#usableKeys(value) : value;
      return Object.fromEntries(
        Object.entries(shown).map(([name, one]) => [name, this.schema(one, inside(name))]),
      );
    }
    if (BY_NAME.has(key) && isObject(value))
      return Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, this.schema(one, inside(name))]),
      );
    if (LISTS.has(key) && Array.isArray(value))
      return value.map((one, at) => this.schema(one, inside(`${key}[${at}]`)));
    if (ONE.has(key) && isObject(value)) return this.schema(value, inside(key));
    return value;
  }

  /** Optional arguments whose names the family refuses are left out: they cannot be given. */
  #usableKeys(properties: JsonObject): JsonObject {
    const { keys } = this.#family;
    if (keys === undefined) return properties;
    const required: unknown = this.#root.required;
    return Object.fromEntries(
      Object.entries(properties).filter(([name]) => {
        if (keys.test(name)) return true;
        const isNeeded = Array.isArray(required) && required.includes(name);
        this.#mark(
          `the argument ${writeJson(name.slice(0, 100))} has a name that this family refuses; ${isNeeded ? "it is required, so hosts may refuse the whole list: filter the tool, or fix the argument with overrides" : "it is left out"}`,
        );
        return isNeeded;
      }),
    );
  }

  #bound(key: "exclusiveMinimum" | "exclusiveMaximum", value: unknown, note: Note) {
    const bound = key === "exclusiveMinimum" ? "minimum" : "maximum";
    if (numberOf(value) === undefined) return left(key, value, note);
    note(`(${key === "exclusiveMinimum" ? "more" : "less"} than ${writeJson(value)})`);
    return [[bound, value]] as const;
  }

  /** A family whose schemas have one type needs it. */
  #withType(schema: JsonObject, note: Note): JsonObject {
    const { type, anyOf, properties, items, enum: values } = schema;
    if (!this.#family.hasOneType || type !== undefined || anyOf !== undefined) return schema;
    const implied = properties !== undefined ? "object" : items !== undefined ? "array" : "string";
    if (implied === "string" && values === undefined) note("(any type)");
    else this.#mark("a schema without a type has the one that its other keywords are about");
    return { type: implied, ...schema };
  }

  #withOneType(schema: JsonObject, note: Note): JsonObject {
    const { type, ...others } = schema;
    if (!this.#family.hasOneType || !Array.isArray(type)) return schema;
    const types = type.filter((one) => one !== "null");
    const nullable = types.length < type.length && { nullable: true };
    if (types.length <= 1) {
      this.#mark("a list of types is one type, and nullable");
      return { type: types[0] ?? "string", ...others, ...nullable };
    }
    if (others.anyOf !== undefined) note(`(${types.join(" or ")})`);
    this.#mark("a list of types is a choice of schemas");
    return {
      anyOf: types.map((one) => (one === "array" ? { type: one, items: {} } : { type: one })),
      ...others,
      ...nullable,
    };
  }

  /** A family whose schemas have one type takes nothing beside `anyOf`, and no type `null`. */
  #withOnlyChoice(schema: JsonObject): JsonObject {
    const { anyOf, type: _, ...others } = schema;
    if (!this.#family.hasOneType || !Array.isArray(anyOf)) return schema;
    const all = anyOf.filter(isObject);
    const branches = all.filter(({ type }) => type !== "null");
    const isNullable = others.nullable === true || branches.length < all.length;
    const nullable = isNullable && { nullable: true };
    const [only] = branches;
    if (only === undefined) return { ...others, type: "string", ...nullable };
    if (branches.length === 1) {
      if (all.length > 1) this.#mark("a choice of one schema and null is that schema, and nullable");
      return { ...others, ...only, ...described(others, only), ...nullable };
    }
    const { description: __, nullable: ___, ...lost } = others;
    if (Object.keys(lost).length > 0) this.#mark(`${Object.keys(lost).join(", ")} beside anyOf is left out`);
    return {
      anyOf: branches.map((one, at) => ({ ...one, ...(at === 0 && described(others, one)), ...nullable })),
    };
  }

  #withItems(schema: JsonObject, note: Note): JsonObject {
    if (!this.#family.needsItems || schema.type !== "array" || schema.items !== undefined) return schema;
    if (this.#family.hasOneType) {
      note("(items of any type)");
      return { ...schema, items: { type: "string" } };
    }
    this.#mark("a list without items has items of any kind");
    return { ...schema, items: {} };
  }

  #change({ path }: Place, what: string): void {
    this.#mark(`${path === "" ? "the schema" : path}: ${what}`);
  }

  #mark(sentence: string): void {
    if (this.#changes.has(sentence)) return;
    if (this.#changes.size < MAX_CHANGES) this.#changes.add(sentence);
    else this.#unlisted += 1;
  }

  /** What is different, a sentence each. */
  get changes(): readonly string[] {
    const more = this.#unlisted;
    return more === 0
      ? [...this.#changes]
      : [
          ...this.#changes,
          `and ${more} more; what is left out stands in the descriptions of the listed schema`,
        ];
  }
}

const ONE = new Set([
  ...["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"],
  ...["unevaluatedItems", "unevaluatedProperties", "additionalItems"],
]);
const LISTS = new Set(["anyOf", "oneOf", "allOf", "prefixItems", "items"]);
const BY_NAME = new Set(["$defs", "definitions", "patternProperties", "dependentSchemas"]);

/** The keyword is left out, and its value stands in the description. */
function left(key: string, value: unknown, note: Note): readonly [] {
  const text = writeJson(value);
  note(
    `(${key}: ${text.length <= MAX_NOTE_LENGTH ? text : `${text.slice(0, MAX_NOTE_LENGTH).toWellFormed()}…`})`,
  );
  return [];
}

/** The descriptions of a schema and of what takes its place. */
function described(...schemas: readonly JsonObject[]): JsonObject {
  const words = schemas.flatMap((schema) => stringAt(schema, "description") ?? []);
  return words.length === 0 ? {} : { description: [...new Set(words)].join(" ") };
}

function withNotes(schema: JsonObject, notes: readonly string[]): JsonObject {
  if (notes.length === 0) return schema;
  const words = [stringAt(schema, "description") ?? "", ...new Set(notes)].filter((one) => one !== "");
  return { ...schema, description: words.join(" ") };
}

/** The schema at a JSON Pointer in a URI fragment. */
function pointed(root: JsonObject, ref: string): unknown {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let place: unknown = root;
  for (const step of ref.slice(2).split("/")) {
    const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    place = Array.isArray(place)
      ? place[Number(key)]
      : isObject(place)
        ? objectOrValue(place, key)
        : undefined;
  }
  return place;
}

const objectOrValue = (object: JsonObject, key: string): unknown =>
  objectAt(object, key) ?? (Object.hasOwn(object, key) ? object[key] : undefined);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
