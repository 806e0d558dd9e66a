/** Definitions of a server without secrets: in what people and models read of them, and in proposed values. */
import type { ListAdmission } from "../../core/list-admission.js";
import type { ServerFacts } from "../../core/upstream.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import type { SecretValues } from "./secret-values.js";

/** Members that are read. Names, URIs and the values that a schema allows stay: calls need them unchanged. */
const READ: ReadonlySet<string> = new Set([
  "description",
  "title",
  "instructions",
  "default",
  "examples",
  "$comment",
]);

/** @param onRemoved called when something was taken out of a list, or of what the server says of itself */
export function cleanDefinitions(values: readonly SecretValues[], onRemoved: () => void): ListAdmission {
  const cleaned = <Value>(value: Value): Value => {
    const clean = inReadMembers(value, values) as Value;
    if (clean !== value) onRemoved();
    return clean;
  };
  const facts = new WeakMap<ServerFacts, ServerFacts>();
  return {
    admitted: (_, items) => cleaned(items),
    admittedFacts(given) {
      const clean = facts.get(given) ?? cleaned(given);
      facts.set(given, clean);
      return clean;
    },
    watch: () => () => {},
  };
}

function inReadMembers(value: unknown, values: readonly SecretValues[]): unknown {
  if (Array.isArray(value)) {
    const copy = value.map((item) => inReadMembers(item, values));
    return copy.every((item, at) => item === value[at]) ? value : copy;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value as JsonObject).map(([key, member]): [string, unknown] => [
    key,
    READ.has(key) && !isObject(member)
      ? values.reduce((rest, each) => each.json(rest), member)
      : inReadMembers(member, values),
  ]);
  return entries.every(([key, member]) => member === value[key]) ? value : Object.fromEntries(entries);
}
