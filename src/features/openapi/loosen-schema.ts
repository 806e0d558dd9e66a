/**
 * Which output schema can the answers of an API keep? APIs send `null`, members and values that their documents do not
 * have, and omit others; hosts then refuse the result. What stays of a schema are names, types and texts.
 */
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";

/** Longer lists of values (characters of JSON) are left out of descriptions. */
const MAX_VALUES_LENGTH = 200;

/** The schema of an object, and its `$defs`, loosened. `schema` is one of JSON Schema 2020-12. */
export function loosenedOutput(schema: JsonObject, definitions: JsonObject | undefined): JsonObject {
  return {
    ...loosened(schema),
    type: "object",
    ...(definitions !== undefined && {
      $defs: Object.fromEntries(Object.entries(definitions).map(([name, one]) => [name, loosened(one)])),
    }),
  };
}

function loosened(schema: unknown): JsonObject {
  if (!isObject(schema)) return {};
  const { $ref, type, properties, items, prefixItems, additionalProperties, allOf } = schema;
  const description = describedValues(schema);
  const title = stringAt(schema, "title");
  const types = typesOf(type);
  const choices = [schema.anyOf, schema.oneOf].find(Array.isArray);
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(schema.deprecated === true && { deprecated: true }),
    ...($ref !== undefined && { $ref }),
    ...(types !== undefined && { type: types }),
    ...(isObject(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, loosened(one)])),
    }),
    ...(isObject(items) && prefixItems === undefined && { items: loosened(items) }),
    ...(isObject(additionalProperties) && { additionalProperties: loosened(additionalProperties) }),
    ...(Array.isArray(allOf) && { allOf: allOf.map(loosened) }),
    ...(choices !== undefined && { anyOf: choices.map(loosened) }),
  };
}

/** With `null`; a number need not be an integer. */
function typesOf(type: unknown): readonly unknown[] | undefined {
  if (type === undefined) return undefined;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return [...new Set([...types.map((one) => (one === "integer" ? "number" : one)), "null"])];
}

/** The description, with the values that the document lists: an answer may have others. */
function describedValues(schema: JsonObject): string | undefined {
  const description = stringAt(schema, "description");
  const values: readonly unknown[] = Object.hasOwn(schema, "const")
    ? [schema.const]
    : Array.isArray(schema.enum)
      ? schema.enum
      : [];
  const text = values.map((one) => writeJson(one)).join(", ");
  if (text === "" || text.length > MAX_VALUES_LENGTH) return description;
  return `${description === undefined ? "" : `${description} `}(${text})`;
}

/** Where `value` does not fit a loosened schema, as a sentence: `items[0].id must be string or null`. */
export const describeMisfit = (path: readonly (string | number)[], what: string): string => {
  const where = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
  return `${where === "" ? "it" : where.replace(/^\./, "")} ${what}`;
};

/** The definition that a reference of a loosened schema leads to. */
export const definitionAt = (root: JsonObject, ref: string): unknown =>
  ref.startsWith("#/$defs/") ? objectAt(root, "$defs")?.[ref.slice("#/$defs/".length)] : undefined;
