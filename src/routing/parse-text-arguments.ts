/**
 * Which arguments are JSON texts where the schema admits no text? Models and hosts write objects so: `body: "{\"a\":1}"`.
 * They are parsed before rules evaluate them.
 */
import { TYPE_NAMES, typeOf } from "../core/json-types.js";
import { LARGE_BYTES, type Steps, Work } from "../runtime/cooperative-yield.js";
import { prototypeMemberSentence } from "../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { exceedsDepth, MAX_DEPTH, NestedTooDeep } from "../wire/json-scan.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import { parseInSteps } from "../wire/parse-in-steps.js";
import { prototypeMembersInSteps } from "../wire/prototype-members.js";

/** An argument is a text where the schema admits none, and cannot be parsed. The message names the argument. */
export class UnreadableText extends Error {
  override readonly name = "UnreadableText";
}

/** The most levels of a schema that say which types it admits. */
const MAX_LEVELS = 16;
/** The most schemas that describe one value. */
const MAX_PARTS = 200;

/** The arguments with JSON texts parsed, by the input schema of the tool; the same object where there are none. */
export const parseTextArguments = (args: JsonObject, inputSchema: JsonObject): Steps<JsonObject> =>
  new TextParser(inputSchema).members(args, [inputSchema], []);

type Path = readonly (string | number)[];

class TextParser {
  readonly #root: JsonObject;
  readonly #work = new Work();
  readonly #types = new Map<JsonObject, readonly string[] | undefined>();
  readonly #parts = new Map<unknown, readonly JsonObject[]>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  *members(value: JsonObject, schemas: readonly unknown[], path: Path): Steps<JsonObject> {
    const parts = this.#partsOf(schemas);
    if (parts.length === 0) return value;
    const members: [string, unknown][] = [];
    let isChanged = false;
    for (const [name, inner] of Object.entries(value)) {
      if (this.#work.mustYield(64 + parts.length)) yield;
      const made = yield* this.#value(inner, memberSchemas(parts, name), [...path, name]);
      isChanged ||= made !== inner;
      members.push([name, made]);
    }
    return isChanged ? Object.fromEntries(members) : value;
  }

  *#value(value: unknown, schemas: readonly unknown[], path: Path): Steps<unknown> {
    if (schemas.length === 0) return value;
    if (typeof value === "string") {
      const parsed = yield* this.#text(value, schemas, path);
      return parsed === value ? value : yield* this.#inside(parsed, schemas, path);
    }
    return yield* this.#inside(value, schemas, path);
  }

  *#inside(value: unknown, schemas: readonly unknown[], path: Path): Steps<unknown> {
    if (isObject(value)) return yield* this.members(value, schemas, path);
    if (!Array.isArray(value)) return value;
    const inner = this.#partsOf(schemas).flatMap(itemSchemas);
    if (inner.length === 0) return value;
    const items: unknown[] = [];
    for (const [at, item] of value.entries()) {
      if (this.#work.mustYield(64)) yield;
      items.push(yield* this.#value(item, inner, [...path, at]));
    }
    return items.some((item, at) => item !== value[at]) ? items : value;
  }

  /** The value of a JSON text, where every schema of it admits other types only. */
  *#text(text: string, schemas: readonly unknown[], path: Path): Steps<unknown> {
    const each = schemas.map((schema) => this.#typesOf(schema, 0));
    const stated = each.every((types) => types !== undefined && !types.includes("string"));
    const types = new Set(stated ? each.flatMap((one) => one ?? []) : impliedTypes(schemas, this));
    if (types.size === 0) return text;
    const parsed = yield* parsedText(text, path);
    if (parsed !== undefined && isOfType(parsed.value, types)) return parsed.value;
    // Of a member the server says what is wrong with it; a schema that only implies its type admits texts.
    if (!stated || path.length > 1) return text;
    const admitted = [...types].map((type) => TYPE_NAMES[type] ?? type).join(" or ");
    throw new UnreadableText(
      `the argument ${writeJson(String(path[0]).slice(0, 100))} must be ${admitted}; it is a text that ${parsed === undefined ? "is no JSON" : "holds another type"}`,
    );
  }

  /** The schema that a reference leads to. */
  resolved(schema: unknown): unknown {
    let found = schema;
    for (let level = 0; level < MAX_LEVELS && isObject(found); level++) {
      const ref = stringAt(found, "$ref");
      if (ref === undefined) return found;
      found = pointed(this.#root, ref);
    }
    return found;
  }

  #partsOf(schemas: readonly unknown[]): readonly JsonObject[] {
    const [only] = schemas;
    const known = schemas.length === 1 ? this.#parts.get(only) : undefined;
    if (known !== undefined) return known;
    const found = new Set<JsonObject>();
    const waiting = [...schemas];
    while (waiting.length > 0 && found.size < MAX_PARTS) {
      const part = waiting.pop();
      if (!isObject(part) || found.has(part)) continue;
      found.add(part);
      waiting.push(this.resolved(part));
      for (const list of [part.allOf, part.anyOf, part.oneOf])
        if (Array.isArray(list)) waiting.push(...(list as readonly unknown[]).slice(0, MAX_PARTS));
    }
    const parts = [...found];
    if (schemas.length === 1) this.#parts.set(only, parts);
    return parts;
  }

  /** The types of JSON that a schema admits; undefined where it names none. */
  #typesOf(schema: unknown, level: number): readonly string[] | undefined {
    const found = this.resolved(schema);
    if (!isObject(found) || level > MAX_LEVELS) return undefined;
    if (this.#types.has(found)) return this.#types.get(found);
    this.#types.set(found, undefined);
    const { type, allOf, anyOf, oneOf } = found;
    const listed = typeof type === "string" ? [type] : Array.isArray(type) ? type.map(String) : [];
    const own =
      listed.length > 0 && listed.every((one) => Object.hasOwn(TYPE_NAMES, one)) ? listed : undefined;
    const inner = (list: unknown): readonly (readonly string[] | undefined)[] =>
      Array.isArray(list) ? list.slice(0, MAX_PARTS).map((one) => this.#typesOf(one, level + 1)) : [];
    const choices = [inner(anyOf), inner(oneOf)]
      .filter((list) => list.length > 0)
      .map((list) => (list.includes(undefined) ? undefined : list.flatMap((types) => types ?? [])));
    const all = [own, valueTypes(found), ...inner(allOf), ...choices].filter((types) => types !== undefined);
    const [first, ...rest] = all;
    const types = first?.filter((one) => rest.every((other) => other.includes(one)));
    this.#types.set(found, types);
    return types;
  }
}

/** The types of the values that a schema lists. */
function valueTypes(schema: JsonObject): readonly string[] | undefined {
  const values: readonly unknown[] | undefined = Object.hasOwn(schema, "const")
    ? [schema.const]
    : Array.isArray(schema.enum)
      ? schema.enum
      : undefined;
  return values?.flatMap((value) => {
    const type = typeOf(value);
    return type === "number" ? ["number", "integer"] : [type];
  });
}

/** A schema that describes members or items and names no type means objects or lists, and admits texts too. */
function impliedTypes(schemas: readonly unknown[], parser: TextParser): readonly string[] {
  return schemas.flatMap((schema) => {
    const found = parser.resolved(schema);
    if (!isObject(found) || found.type !== undefined) return [];
    if (isObject(found.properties)) return ["object"];
    return isObject(found.items) ? ["array"] : [];
  });
}

function isOfType(value: unknown, types: ReadonlySet<string>): boolean {
  const type = typeOf(value);
  return types.has(type) || (type === "number" && types.has("integer"));
}

/** Undefined for a text that is no JSON. @throws UnreadableText for one that sets prototypes or is nested too deeply */
function* parsedText(text: string, path: Path): Steps<{ readonly value: unknown } | undefined> {
  if (!/^\s*[[{\-\dtfn]/.test(text)) return undefined;
  const limit = MAX_DEPTH - path.length;
  const named = writeJson(path.join(".").slice(0, 100));
  const tooDeep = (): UnreadableText => new UnreadableText(`the argument ${named} is nested too deeply`);
  let value: unknown;
  try {
    if (text.length < LARGE_BYTES) {
      if (exceedsDepth(text, limit)) throw tooDeep();
      value = parseJson(text);
    } else value = yield* parseInSteps(text, limit);
  } catch (error) {
    if (error instanceof NestedTooDeep) throw tooDeep();
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const [member] = yield* prototypeMembersInSteps(text);
  if (member !== undefined)
    throw new UnreadableText(`in the argument ${named}, ${prototypeMemberSentence(member)}`);
  return { value };
}

/** The value at a JSON Pointer in a URI fragment. */
function pointed(root: JsonObject, ref: string): unknown {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let place: unknown = root;
  for (const step of decoded(ref.slice(2)).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, key)) return undefined;
    place = (place as JsonObject)[key];
  }
  return place;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function memberSchemas(parts: readonly JsonObject[], name: string): readonly unknown[] {
  const described = parts.flatMap((part) => {
    const properties = objectAt(part, "properties");
    return properties !== undefined && Object.hasOwn(properties, name) ? [properties[name]] : [];
  });
  return described.length > 0
    ? described
    : parts.flatMap(({ additionalProperties }) =>
        isObject(additionalProperties) ? [additionalProperties] : [],
      );
}

const itemSchemas = ({ items, prefixItems }: JsonObject): readonly unknown[] =>
  Array.isArray(prefixItems) || !isObject(items) ? [] : [items];
