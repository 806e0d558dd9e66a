/** How does a schema of an OpenAPI document become a JSON Schema of 2020-12 that stands alone? */
import { isObject, type JsonObject, numberOf, objectAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { References } from "./references.js";
import { isFile, isRegExp, keywordValue } from "./schema-keywords.js";

/** Keywords whose value is one schema, a list of schemas, or schemas by name. */
const ONE = new Set([
  ...["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"],
  ...["unevaluatedItems", "unevaluatedProperties", "contentSchema"],
]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const NAMED = new Set(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]);

/** Keywords of OpenAPI that JSON Schema has not, and those that only make sense in the document. */
const DROPPED = new Set([
  ...["nullable", "discriminator", "xml", "externalDocs", "example", "readOnly", "writeOnly"],
  ...["$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$comment", "$vocabulary"],
]);

/** Deeper nesting than any person wrote. */
const MAX_DEPTH = 100;
/** Longer examples (characters of JSON) are left out. */
const MAX_EXAMPLE_LENGTH = 200;

/** How schemas are converted. */
export interface ConversionOptions {
  readonly references: References;
  /** True for 3.0, whose schemas are a dialect of their own. */
  readonly isVersion30: boolean;
  /** `input` leaves out what only the API sets (`readOnly`), `output` what it never sends (`writeOnly`). */
  readonly direction: "input" | "output";
  /** The most characters that `$defs` may have; definitions beyond it accept anything. */
  readonly maxLength: number;
  /** Called with each reference that leads nowhere. */
  readonly onUnresolved: (ref: string) => void;
}

/** Converts the schemas of one tool, which share their `$defs`. */
export class SchemaConverter {
  readonly #options: ConversionOptions;
  /** By the reference in the document. */
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #waiting: string[] = [];
  #wasCut = false;

  constructor(options: ConversionOptions) {
    this.#options = options;
  }

  /** True when definitions were left out for their length. */
  get wasCut(): boolean {
    return this.#wasCut;
  }

  /** A schema with references to `$defs`. */
  convert(schema: unknown, depth = 0): JsonObject | boolean {
    if (typeof schema === "boolean") return schema;
    if (!isObject(schema) || depth > MAX_DEPTH) return {};
    const { $ref: ref } = schema;
    if (typeof ref === "string") return this.#reference(ref, schema, depth);
    return this.#withNull(schema, this.#members(schema, depth));
  }

  /** `schema` with the reference at its top replaced by what it refers to, so that its `type` stands at the top. */
  convertInline(schema: unknown): JsonObject {
    const target = this.#options.references.resolved(schema) ?? {};
    const converted = this.convert(target);
    return isObject(converted) ? converted : {};
  }

  /** The definitions that the converted schemas refer to; undefined where there are none. */
  definitions(): JsonObject | undefined {
    const found: Record<string, unknown> = {};
    let length = 0;
    for (let ref = this.#waiting.shift(); ref !== undefined; ref = this.#waiting.shift()) {
      const name = this.#names.get(ref) as string;
      const converted =
        length > this.#options.maxLength ? {} : this.convert(this.#options.references.at(ref));
      const size = writeJson(converted).length;
      if (length + size > this.#options.maxLength) {
        this.#wasCut = true;
        length = Number.POSITIVE_INFINITY;
        found[name] = { description: `any ${name}: its schema is too long to be listed here` };
      } else {
        length += size;
        found[name] = converted;
      }
    }
    return Object.keys(found).length === 0 ? undefined : found;
  }

  #reference(ref: string, schema: JsonObject, depth: number): JsonObject {
    const { references, isVersion30, onUnresolved } = this.#options;
    if (references.at(ref) === undefined) {
      onUnresolved(ref);
      return {};
    }
    const target = { $ref: `#/$defs/${this.#nameOf(ref)}` };
    // In 3.0 members beside `$ref` are ignored (3.0.4, "Reference Object").
    if (isVersion30 || Object.keys(schema).length === 1) return target;
    const { $ref: _, ...beside } = schema;
    return { ...this.#members(beside, depth), ...target };
  }

  #nameOf(ref: string): string {
    const known = this.#names.get(ref);
    if (known !== undefined) return known;
    const last = ref.slice(ref.lastIndexOf("/") + 1).replace(/[^\w.-]/g, "_") || "root";
    let name = last;
    for (let number = 2; this.#taken.has(name); number++) name = `${last}_${number}`;
    this.#taken.add(name);
    this.#names.set(ref, name);
    this.#waiting.push(ref);
    return name;
  }

  #members(given: JsonObject, depth: number): JsonObject {
    const schema = inCurrentForm(given);
    const members: [string, unknown][] = [];
    const add = (key: string, value: unknown): void => void members.push([key, value]);
    for (const [key, value] of Object.entries(schema)) {
      if (DROPPED.has(key) || key.startsWith("x-")) continue;
      if (ONE.has(key)) {
        if (isObject(value) || typeof value === "boolean") add(key, this.convert(value, depth + 1));
      } else if (LISTS.has(key)) {
        if (Array.isArray(value) && value.length > 0)
          add(
            key,
            value.map((one) => this.convert(one, depth + 1)),
          );
      } else if (NAMED.has(key)) {
        if (isObject(value)) add(key, this.#named(key, value, depth));
      } else {
        const read = keywordValue(key, value);
        if (read !== undefined) add(key, key === "required" ? this.#required(read, schema) : read);
      }
    }
    const converted = withBytes(schema, Object.fromEntries(members));
    return this.#withExample(schema, withExclusiveBounds(schema, converted));
  }

  #named(key: string, schemas: JsonObject, depth: number): JsonObject {
    const entries = Object.entries(schemas).filter(
      ([name, schema]) =>
        name !== "__proto__" &&
        (key !== "properties" || !this.#isHidden(schema)) &&
        (key !== "patternProperties" || isRegExp(name)),
    );
    return Object.fromEntries(entries.map(([name, schema]) => [name, this.convert(schema, depth + 1)]));
  }

  #required(names: unknown, { properties }: JsonObject): readonly unknown[] {
    return (Array.isArray(names) ? names : []).filter(
      (name) =>
        typeof name === "string" &&
        !(isObject(properties) && Object.hasOwn(properties, name) && this.#isHidden(properties[name])),
    );
  }

  #isHidden(property: unknown): boolean {
    const { references, direction } = this.#options;
    const schema = references.resolved(property);
    return schema?.[direction === "input" ? "readOnly" : "writeOnly"] === true;
  }

  /** `example` of OpenAPI as `examples`, for a model that writes arguments. */
  #withExample({ example }: JsonObject, converted: JsonObject): JsonObject {
    if (this.#options.direction === "output") {
      const { examples: _, default: __, ...rest } = converted;
      return rest;
    }
    if (example === undefined || Object.hasOwn(converted, "examples")) return converted;
    if (writeJson(example).length > MAX_EXAMPLE_LENGTH) return converted;
    return { ...converted, examples: [example] };
  }

  /** `nullable` of 3.0 as a type; documents of 3.1 have it too. */
  #withNull({ nullable }: JsonObject, converted: JsonObject): JsonObject {
    if (nullable !== true) return converted;
    const { type, enum: values } = converted;
    const types = Array.isArray(type) ? type : [type];
    if (type === undefined) {
      const isOpen = ["allOf", "anyOf", "oneOf", "not", "enum"].every(
        (key) => !Object.hasOwn(converted, key),
      );
      return isOpen ? converted : { anyOf: [converted, { type: "null" }] };
    }
    const withNull = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
    return { ...converted, type: [...new Set([...types, "null"])], ...withNull };
  }
}

const MAX_SCHEMAS = 1_000;

/** Whether a value of this schema can only be an object. At most MAX_SCHEMAS of its parts are looked at. */
export function isObjectSchema(
  schema: unknown,
  references: References,
  known = new Map<JsonObject, boolean>(),
): boolean {
  const found = references.resolved(schema);
  if (found === undefined || found.nullable === true) return false;
  if (found.type !== undefined) return found.type === "object";
  const before = known.get(found);
  if (before !== undefined) return before;
  if (known.size >= MAX_SCHEMAS) return false;
  // Of a schema that contains itself, the inner one says nothing more; each schema is looked at once.
  known.set(found, false);
  const says = (one: unknown): boolean => isObjectSchema(one, references, known);
  const every = (list: unknown): boolean => Array.isArray(list) && list.length > 0 && list.every(says);
  const some = (list: unknown): boolean => Array.isArray(list) && list.some(says);
  const is = isObject(found.properties) || some(found.allOf) || every(found.oneOf) || every(found.anyOf);
  known.set(found, is);
  return is;
}

/** In 3.0 `exclusiveMinimum: true` makes `minimum` exclusive. */
function withExclusiveBounds(schema: JsonObject, converted: JsonObject): JsonObject {
  let bounded = converted;
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (schema[exclusive] !== true || numberOf(converted[bound]) === undefined) continue;
    const { [bound]: limit, ...rest } = bounded;
    bounded = { ...rest, [exclusive]: limit };
  }
  return bounded;
}

/** What earlier drafts and OpenAPI 2 write otherwise: lists in `items`, `dependencies`, `required` in a property. */
function inCurrentForm(schema: JsonObject): JsonObject {
  const { items, additionalItems, dependencies, properties, required, ...rest } = schema;
  const isList = Array.isArray(items);
  const own = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, one]) =>
    isObject(one) && one.required === true ? [name] : [],
  );
  const listed: readonly unknown[] = Array.isArray(required) ? required : [];
  const needed = isObject(dependencies) ? Object.entries(dependencies) : [];
  const [names, schemas] = [true, false].map((isNames) =>
    Object.fromEntries(needed.filter(([, one]) => Array.isArray(one) === isNames)),
  ) as [JsonObject, JsonObject];
  return {
    ...rest,
    ...(properties !== undefined && { properties }),
    ...(listed.length + own.length > 0 && { required: [...listed, ...own] }),
    ...(items !== undefined && !isList && { items }),
    ...(isList && items.length > 0 && { prefixItems: items }),
    ...(isList && additionalItems !== undefined && { items: additionalItems }),
    ...(Object.keys(names).length > 0 && {
      dependentRequired: { ...objectAt(schema, "dependentRequired"), ...names },
    }),
    ...(Object.keys(schemas).length > 0 && {
      dependentSchemas: { ...objectAt(schema, "dependentSchemas"), ...schemas },
    }),
  };
}

/** Files and bytes as base64, by `format: binary` or `byte` of 3.0, or `type: file` of 2.0. */
function withBytes(schema: JsonObject, converted: JsonObject): JsonObject {
  const { format, ...rest } = converted;
  const isBytes = format === "binary" || format === "byte" || isFile(schema);
  return isBytes ? { ...rest, contentEncoding: "base64" } : converted;
}
