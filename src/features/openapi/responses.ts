/** What does an operation answer with, and is that an object that a tool can declare? */
import { isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { loosenedOutput } from "./loosen-schema.js";
import type { References } from "./references.js";
import { isObjectSchema, type SchemaConverter } from "./tool-schema.js";

const isSuccess = (status: string): boolean => /^2(\d\d|XX)$/i.test(status);
/** Whether a media type is JSON. */
export const isJsonType = (mediaType: string): boolean =>
  /^(application|text)\/json\b|^[^;]+\+json\b/i.test(mediaType);

/** The successful responses. */
function successes(responses: JsonObject, references: References): readonly JsonObject[] {
  const named = Object.entries(responses).filter(([status]) => isSuccess(status));
  const chosen =
    named.length > 0 ? named : Object.entries(responses).filter(([status]) => status === "default");
  return chosen.map(([, response]) => references.resolved(response) ?? {});
}

/**
 * The schema of the structured content; undefined where a success may be anything but one kind of JSON object, because
 * a tool with an output schema must always answer by it (2026-07-28, server/tools, "Output Schema").
 */
export function outputSchemaOf(
  responses: JsonObject,
  references: References,
  converter: SchemaConverter,
): JsonObject | undefined {
  const found = successes(responses, references);
  const [only, ...others] = found.map((response) => objectAt(response, "content") ?? {});
  if (only === undefined || others.length > 0) return undefined;
  const types = Object.keys(only);
  const [type] = types;
  if (type === undefined || types.length !== types.filter(isJsonType).length) return undefined;
  const media = objectAt(only, type);
  const schema = media?.schema;
  if (!isObject(schema) || !isObjectSchema(schema, references)) return undefined;
  const converted = converter.convertInline(schema);
  const whole = loosenedOutput(converted, converter.definitions());
  return converter.wasCut || writeJson(whole).length > MAX_LENGTH ? undefined : whole;
}

/** The most characters of an output schema. */
const MAX_LENGTH = 16 * 1024;

/** The `Accept` header: the media types of the successes, JSON first, then anything. */
export function acceptOf(responses: JsonObject, references: References): string {
  const types = successes(responses, references).flatMap((response) =>
    Object.keys(objectAt(response, "content") ?? {}),
  );
  const plain = [...new Set(types)].filter((type) => /^[\w.+*-]+\/[\w.+*-]+$/.test(type));
  const ordered = [...plain.filter(isJsonType), ...plain.filter((type) => !isJsonType(type))].slice(0, 8);
  if (ordered.length === 0) return "application/json, */*;q=0.5";
  return ordered.includes("*/*") ? ordered.join(", ") : `${ordered.join(", ")}, */*;q=0.1`;
}
