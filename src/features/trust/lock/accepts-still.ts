/** Does a server still accept the arguments that a host makes by an earlier schema? In doubt it does not. */
import { isObject, isSame, type JsonObject, without } from "../../../wire/json.js";

/** Keywords that accept and refuse nothing. */
const WORDS: readonly string[] = [
  ...["title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"],
  ...["$schema", "$id"],
];

/** Keywords that are compared by their parts. */
const COMPARED: readonly string[] = ["properties", "required", "items", "enum"];

/** Nested deeper, a schema is compared as a whole. */
const MAX_DEPTH = 16;

/** Whether all that `before` accepts is accepted by `now`, as far as that can be seen from the keywords. */
export function acceptsStill(before: unknown, now: unknown, depth = 0): boolean {
  if (isSame(before, now) || now === true) return true;
  if (!isObject(before) || !isObject(now) || depth > MAX_DEPTH) return false;
  const rest = (schema: JsonObject): JsonObject => without(schema, [...WORDS, ...COMPARED]);
  return (
    isSame(rest(before), rest(now)) &&
    requiresNoMore(before, now) &&
    hasNoFewerValues(before, now) &&
    propertiesAccept(before, now, depth) &&
    memberAccepts(before.items, now.items, depth)
  );
}

const listOf = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined);

function requiresNoMore(before: JsonObject, now: JsonObject): boolean {
  const earlier = listOf(before.required) ?? [];
  return (listOf(now.required) ?? []).every((name) => earlier.includes(name));
}

function hasNoFewerValues(before: JsonObject, now: JsonObject): boolean {
  const values = listOf(now.enum);
  if (values === undefined) return true;
  const earlier = listOf(before.enum);
  return earlier?.every((value) => values.some((other) => isSame(other, value))) === true;
}

/** A property that only the later schema has is one that hosts do not send. */
function propertiesAccept(before: JsonObject, now: JsonObject, depth: number): boolean {
  const [earlier, later] = [before.properties ?? {}, now.properties ?? {}];
  if (!isObject(earlier) || !isObject(later)) return false;
  return Object.entries(earlier).every(([name, schema]) =>
    Object.hasOwn(later, name)
      ? acceptsStill(schema, later[name], depth + 1)
      : now.additionalProperties === undefined || now.additionalProperties === true,
  );
}

const memberAccepts = (before: unknown, now: unknown, depth: number): boolean =>
  now === undefined || (before !== undefined && acceptsStill(before, now, depth + 1));
