/** Which types and member names does a schema of an OpenAPI document admit? What requests are checked by. */
import { isObject, type JsonObject } from "../../wire/json.js";
import type { Shape } from "./operation.js";
import type { References } from "./references.js";

/** Deeper members may have any name, as far as the document is concerned. */
const MAX_DEPTH = 10;
/** The most shapes of one document; schemas beyond it say nothing. */
const MAX_SHAPES = 50_000;
/** The most parts of one schema that are looked at. */
const MAX_PARTS = 200;

/** Longer lists of values are no methods of HTTP, which are what they are looked at for. */
const MAX_VALUES = 20;

/** Admits any value. */
export const ANY_SHAPE: Shape = { members: new Map(), isOpen: true };

/** Reads the shapes of one document; schemas that are used in several operations are read once. */
export class ShapeReader {
  readonly #references: References;
  readonly #ids = new Map<unknown, number>();
  readonly #known = new Map<string, Shape>();

  constructor(references: References) {
    this.#references = references;
  }

  /** The shape of a schema; undefined or a boolean is a schema that says nothing. */
  read(schema: unknown): Shape {
    return this.#of([schema], 0);
  }

  /** `schemas` are all descriptions of one value: parts of `allOf`, and choices. */
  #of(schemas: readonly unknown[], depth: number): Shape {
    const parts = this.#partsOf(schemas);
    if (depth > MAX_DEPTH || parts.length === 0 || this.#known.size > MAX_SHAPES) return ANY_SHAPE;
    const key = `${depth} ${schemas.map((one) => this.#idOf(one)).join()}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const types = this.#typesOfAll(schemas);
    const values = parts.flatMap(valuesOf);
    const members = new Map(
      [...groupedProperties(parts)].map(([name, found]) => [name, this.#of(found, depth + 1)] as const),
    );
    const stated = parts.flatMap(statedOthers);
    const others = stated.filter(isObject);
    const items = parts.flatMap(itemsOf);
    const shape = {
      ...(types !== undefined && { types }),
      ...(values.length > 0 && values.length <= MAX_VALUES && { values }),
      members,
      isOpen: stated.length > 0 || (members.size === 0 && parts.some(isFreeForm)),
      ...(others.length > 0 && { others: this.#of(others, depth + 1) }),
      ...(items.length > 0 && { items: this.#of(items, depth + 1) }),
    };
    this.#known.set(key, shape);
    return shape;
  }

  #idOf(schema: unknown): number {
    const target = this.#references.resolved(schema) ?? schema;
    const id = this.#ids.get(target) ?? this.#ids.size;
    this.#ids.set(target, id);
    return id;
  }

  /** The schemas with all that they are composed of, each once. */
  #partsOf(schemas: readonly unknown[]): readonly JsonObject[] {
    const found = new Set<JsonObject>();
    const waiting = [...schemas];
    while (waiting.length > 0) {
      const part = this.#references.resolved(waiting.pop());
      if (part === undefined || found.has(part) || found.size >= MAX_PARTS) continue;
      found.add(part);
      for (const list of [part.allOf, part.anyOf, part.oneOf])
        if (Array.isArray(list)) waiting.push(...list.slice(0, MAX_PARTS));
      waiting.push(part.then, part.else);
    }
    return [...found];
  }

  /** Undefined where one of the schemas admits all types. */
  #typesOfAll(schemas: readonly unknown[]): readonly string[] | undefined {
    const each = schemas.map((schema) => this.#typesOf(schema, 0));
    return each.includes(undefined) ? undefined : [...new Set(each.flatMap((types) => types ?? []))];
  }

  #typesOf(schema: unknown, depth: number): readonly string[] | undefined {
    const found = this.#references.resolved(schema);
    if (found === undefined || depth > MAX_DEPTH) return undefined;
    const { type, allOf, anyOf, oneOf } = found;
    const listed = typeof type === "string" ? [type] : Array.isArray(type) ? type.map(String) : [];
    // `file` and `date` are no types of JSON: such a schema says nothing.
    const own = listed.length > 0 && listed.every((one) => TYPES.has(one)) ? listed : undefined;
    const inner = (list: unknown): readonly (readonly string[] | undefined)[] =>
      Array.isArray(list) ? list.slice(0, MAX_PARTS).map((one) => this.#typesOf(one, depth + 1)) : [];
    const choices = [inner(anyOf), inner(oneOf)]
      .filter((list) => list.length > 0)
      .map((list) => (list.includes(undefined) ? undefined : list.flatMap((types) => types ?? [])));
    const stated = [own, ...inner(allOf), ...choices].filter((types) => types !== undefined);
    const [first, ...rest] = stated;
    return first?.filter((one) => rest.every((types) => types.includes(one)));
  }
}

const TYPES: ReadonlySet<string> = new Set([
  ...["array", "boolean", "integer", "null", "number", "object", "string"],
]);

const valuesOf = (part: JsonObject): readonly unknown[] => [
  ...(Array.isArray(part.enum) ? part.enum.slice(0, MAX_VALUES + 1) : []),
  ...(Object.hasOwn(part, "const") ? [part.const] : []),
];

function groupedProperties(parts: readonly JsonObject[]): ReadonlyMap<string, readonly unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const { properties } of parts) {
    for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
      const known = found.get(name);
      if (known === undefined) found.set(name, [schema]);
      else known.push(schema);
    }
  }
  return found;
}

/** The schemas of members that have no name in the document; `true` is one. */
function statedOthers(part: JsonObject): readonly unknown[] {
  const { additionalProperties, unevaluatedProperties, patternProperties } = part;
  const patterns = isObject(patternProperties) ? Object.values(patternProperties) : [];
  return [additionalProperties, unevaluatedProperties, ...patterns].filter(
    (one) => one === true || isObject(one),
  );
}

/** A schema that describes no members at all: OpenAPI calls such an object free-form. */
function isFreeForm(part: JsonObject): boolean {
  const { type, allOf, anyOf, oneOf, additionalProperties, unevaluatedProperties } = part;
  const isComposed = [allOf, anyOf, oneOf].some((list) => Array.isArray(list) && list.length > 0);
  if (isComposed || additionalProperties === false || unevaluatedProperties === false) return false;
  return type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
}

const itemsOf = ({ items, prefixItems, contains }: JsonObject): readonly unknown[] =>
  [items, contains, ...(Array.isArray(prefixItems) ? prefixItems : [])].filter(
    (one) => isObject(one) || typeof one === "boolean",
  );
