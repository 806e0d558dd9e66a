/** Does the schema of a parameter admit an object? */
import { isObject, type JsonObject } from "../../wire/json.js";
import type { References } from "./references.js";

/** Keywords that say something of objects only. */
const OF_OBJECTS = ["properties", "patternProperties", "additionalProperties", "propertyNames"];

/** `open` is a schema that says nothing of the type of its values. */
export type ObjectAdmission = "yes" | "no" | "open";

/** Whether values of a schema may be objects. Each schema is looked at once, however many refer to it. */
export function objectAdmission(
  schema: unknown,
  references: References,
  known = new Map<unknown, ObjectAdmission>(),
): ObjectAdmission {
  if (schema === false) return "no";
  const found = references.resolved(schema);
  if (found === undefined) return "open";
  const before = known.get(found);
  if (before !== undefined) return before;
  // For references in a circle.
  known.set(found, "open");
  const admission = admissionOf(found, (one) => objectAdmission(one, references, known));
  known.set(found, admission);
  return admission;
}

function admissionOf(found: JsonObject, inner: (schema: unknown) => ObjectAdmission): ObjectAdmission {
  const { type, enum: values, allOf } = found;
  if (typeof type === "string" && type !== "object") return "no";
  if (Array.isArray(type) && !type.includes("object")) return "no";
  if (Array.isArray(values) && !values.some(isObject)) return "no";
  if (Object.hasOwn(found, "const") && !isObject(found.const)) return "no";
  const each = (list: unknown): readonly ObjectAdmission[] => (Array.isArray(list) ? list.map(inner) : []);
  const choices = [each(found.anyOf), each(found.oneOf)].filter((list) => list.length > 0).map(choiceOf);
  const parts = [...each(allOf), ...choices];
  if (parts.includes("no")) return "no";
  const isStated = type !== undefined || OF_OBJECTS.some((key) => Object.hasOwn(found, key));
  return isStated || parts.includes("yes") ? "yes" : "open";
}

function choiceOf(choices: readonly ObjectAdmission[]): ObjectAdmission {
  if (choices.includes("yes")) return "yes";
  return choices.includes("open") ? "open" : "no";
}
