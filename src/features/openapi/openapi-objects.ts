/** Where may an OpenAPI document have references, and what is at each place (OpenAPI 3.1.1, "Schema")? */
import { isObject, type JsonObject } from "../../wire/json.js";

/** The objects of OpenAPI that tools are made of. */
export type ObjectKind =
  | "document"
  | "components"
  | "pathItem"
  | "operation"
  | "parameter"
  | "requestBody"
  | "mediaType"
  | "response"
  | "schema";

type Form = "one" | "list" | "map";

/** The members that hold objects; everything else is data, in which `$ref` is a member like any other. */
const INNER: Readonly<Record<ObjectKind, Readonly<Record<string, readonly [Form, ObjectKind]>>>> = {
  document: { paths: ["map", "pathItem"], components: ["one", "components"] },
  components: {
    schemas: ["map", "schema"],
    parameters: ["map", "parameter"],
    requestBodies: ["map", "requestBody"],
    responses: ["map", "response"],
    pathItems: ["map", "pathItem"],
  },
  pathItem: {
    parameters: ["list", "parameter"],
    ...Object.fromEntries(
      ["get", "put", "post", "delete", "options", "head", "patch", "trace"].map(
        (method) => [method, ["one", "operation"]] as const,
      ),
    ),
  },
  operation: {
    parameters: ["list", "parameter"],
    requestBody: ["one", "requestBody"],
    responses: ["map", "response"],
  },
  parameter: { schema: ["one", "schema"], content: ["map", "mediaType"] },
  requestBody: { content: ["map", "mediaType"] },
  mediaType: { schema: ["one", "schema"] },
  response: { content: ["map", "mediaType"] },
  schema: {
    ...Object.fromEntries(
      [
        ...["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"],
        ...["unevaluatedItems", "unevaluatedProperties", "contentSchema"],
      ].map((keyword) => [keyword, ["one", "schema"]] as const),
    ),
    ...Object.fromEntries(
      ["allOf", "anyOf", "oneOf", "prefixItems"].map((keyword) => [keyword, ["list", "schema"]] as const),
    ),
    ...Object.fromEntries(
      ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"].map(
        (keyword) => [keyword, ["map", "schema"]] as const,
      ),
    ),
  },
};

/** The other members that an object may have. */
const OTHERS: Readonly<Record<ObjectKind, readonly string[]>> = {
  document: [
    "openapi",
    "info",
    "servers",
    "security",
    "tags",
    "externalDocs",
    "webhooks",
    "jsonSchemaDialect",
  ],
  components: ["examples", "headers", "securitySchemes", "links", "callbacks"],
  pathItem: ["$ref", "summary", "description", "servers"],
  operation: [
    ...["tags", "summary", "description", "externalDocs", "operationId", "callbacks", "deprecated"],
    ...["security", "servers"],
  ],
  parameter: [
    ...["$ref", "name", "in", "description", "required", "deprecated", "allowEmptyValue", "style", "explode"],
    ...["allowReserved", "example", "examples"],
  ],
  requestBody: ["$ref", "description", "required"],
  mediaType: ["example", "examples", "encoding"],
  response: ["$ref", "description", "headers", "links"],
  schema: [
    ...[
      "$ref",
      "$schema",
      "$id",
      "id",
      "$anchor",
      "$dynamicAnchor",
      "$dynamicRef",
      "$comment",
      "$vocabulary",
    ],
    ...[
      "type",
      "enum",
      "const",
      "title",
      "description",
      "default",
      "example",
      "examples",
      "format",
      "nullable",
    ],
    ...["multipleOf", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "maxLength", "minLength"],
    ...["pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties"],
    ...["minProperties", "required", "dependentRequired", "dependencies", "additionalItems", "readOnly"],
    ...[
      "writeOnly",
      "discriminator",
      "xml",
      "externalDocs",
      "deprecated",
      "contentEncoding",
      "contentMediaType",
    ],
  ],
};

/** An object inside another one, and what it is. */
export interface InnerObject {
  readonly value: unknown;
  readonly kind: ObjectKind;
}

/** The objects inside `value`, where OpenAPI has them. */
export function innerObjects(value: JsonObject, kind: ObjectKind): readonly InnerObject[] {
  return Object.entries(INNER[kind]).flatMap(([key, [form, inner]]) => {
    const found = Object.hasOwn(value, key) ? value[key] : undefined;
    if (form === "one") return [{ value: found, kind: inner }];
    if (form === "list")
      return Array.isArray(found) ? found.map((one: unknown) => ({ value: one, kind: inner })) : [];
    return isObject(found) ? Object.values(found).map((one) => ({ value: one, kind: inner })) : [];
  });
}

/**
 * Why `value` is no object of this kind, as the end of a sentence; undefined where it may be one: it has some of the
 * members that OpenAPI names, and no others but extensions.
 *
 * @param isTarget a reference leads to it: a schema must say more than a title then, which other JSON has too
 */
export function objectFlaw(value: unknown, kind: ObjectKind, isTarget: boolean): string | undefined {
  if (kind === "schema" && typeof value === "boolean") return undefined;
  if (!isObject(value)) return `is no ${kind} object`;
  const names = Object.keys(value);
  const foreign = names.find(
    (name) => !Object.hasOwn(INNER[kind], name) && !OTHERS[kind].includes(name) && !name.startsWith("x-"),
  );
  if (foreign !== undefined) return `has members that no ${kind} object has`;
  const isEmpty =
    kind === "schema"
      ? isTarget && !names.some(saysWhatValuesAre)
      : !names.some((name) => !name.startsWith("x-"));
  const isRight = !isEmpty && hasRightTypes(value, kind) && hasRightForms(value, kind);
  return isRight ? undefined : `is no ${kind} object`;
}

const saysWhatValuesAre = (name: string): boolean =>
  Object.hasOwn(INNER.schema, name) || ["$ref", "type", "enum", "const"].includes(name);

/** What holds objects is a list or a map of them, so that all of them are looked at. */
const hasRightForms = (value: JsonObject, kind: ObjectKind): boolean =>
  Object.entries(INNER[kind]).every(([key, [form]]) => {
    const found = Object.hasOwn(value, key) ? value[key] : undefined;
    if (found === undefined || form === "one") return true;
    return form === "list" ? Array.isArray(found) : isObject(found);
  });

function hasRightTypes(value: JsonObject, kind: ObjectKind): boolean {
  if (value.$ref !== undefined) return typeof value.$ref === "string";
  if (kind === "parameter") return typeof value.name === "string" && typeof value.in === "string";
  if (kind !== "schema") return true;
  const types = Array.isArray(value.type) ? value.type : [value.type ?? "object"];
  return types.every((type) => TYPES.has(type));
}

const TYPES: ReadonlySet<unknown> = new Set([
  ...["array", "boolean", "integer", "null", "number", "object", "string"],
]);
