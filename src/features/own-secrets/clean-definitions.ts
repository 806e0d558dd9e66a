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
  const entries = new CleanEntries(values);
  const facts = new WeakMap<ServerFacts, ServerFacts>();
  return {
    admitted(_, items) {
      const clean = entries.of(items);
      if (clean !== items) onRemoved();
      return clean;
    },
    admittedFacts(given) {
      let clean = facts.get(given);
      if (clean === undefined) {
        clean = inReadMembers(given, values) as ServerFacts;
        facts.set(given, clean);
        if (clean !== given) onRemoved();
      }
      return clean;
    },
    watch: () => () => {},
  };
}

/** List entries without secrets. Each is read once with the same values; most of a list is listed again with the next one. */
class CleanEntries {
  readonly #values: readonly SecretValues[];
  #known = new WeakMap<JsonObject, JsonObject>();
  /** Of the values with which those were read. */
  #revision = 0;

  constructor(values: readonly SecretValues[]) {
    this.#values = values;
  }

  /** The same array where nothing was taken out. */
  of(items: readonly JsonObject[]): readonly JsonObject[] {
    if (this.#values.every(({ isEmpty }) => isEmpty)) return items;
    const revision = this.#values.reduce((sum, values) => sum + values.revision, 0);
    if (revision !== this.#revision) this.#known = new WeakMap();
    this.#revision = revision;
    const clean = items.map((item) => this.#clean(item));
    return clean.every((item, at) => item === items[at]) ? items : clean;
  }

  #clean(item: JsonObject): JsonObject {
    let clean = this.#known.get(item);
    if (clean === undefined) {
      clean = inReadMembers(item, this.#values) as JsonObject;
      this.#known.set(item, clean);
    }
    return clean;
  }
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
