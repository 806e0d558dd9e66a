/**
 * What of a server's capabilities may be shown to hosts. They read `initialize` and `server/discover` as a whole: one
 * member of a form that they do not expect, and they refuse the gateway with all its servers.
 */
import { isObject, type JsonObject } from "../wire/json.js";

/** What hosts can make of a member; undefined where it is left out. */
type Reader = (value: unknown) => unknown;

const object: Reader = (value) => (isObject(value) ? value : undefined);
const flag: Reader = (value) => (typeof value === "boolean" ? value : undefined);

/** An object; the members that are listed here are checked, all others are kept. */
const shape =
  (members: Readonly<Record<string, Reader>>): Reader =>
  (value) =>
    isObject(value)
      ? mapped(value, (key) => (Object.hasOwn(members, key) ? members[key] : undefined))
      : undefined;

/** An object whose members are all of one kind. */
const mapOf =
  (read: Reader): Reader =>
  (value) =>
    isObject(value) ? mapped(value, () => read) : undefined;

/** A server that says only `true` means that it has them. */
const lists =
  (read: Reader): Reader =>
  (value) =>
    read(value === true ? {} : value);

/** `ServerCapabilities` of all revisions, as the official SDKs read it. */
const CAPABILITIES = shape({
  experimental: mapOf(object),
  extensions: mapOf(object),
  logging: object,
  completions: object,
  tools: lists(shape({ listChanged: flag })),
  prompts: lists(shape({ listChanged: flag })),
  resources: lists(shape({ listChanged: flag, subscribe: flag })),
  tasks: shape({
    list: object,
    cancel: object,
    requests: shape({ tools: shape({ call: object }) }),
  }),
});

const cache = new WeakMap<JsonObject, JsonObject>();

/** The capabilities without what hosts cannot read; capabilities that no revision defines stay. */
export function readableCapabilities(capabilities: JsonObject): JsonObject {
  const before = cache.get(capabilities);
  if (before !== undefined) return before;
  const read = CAPABILITIES(capabilities) as JsonObject;
  cache.set(capabilities, read);
  return read;
}

/** The members of `value`, checked by `readOf`; the same object where all are kept. */
function mapped(value: JsonObject, readOf: (key: string) => Reader | undefined): JsonObject {
  let changed = false;
  const entries = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const read = readOf(key);
    const shown = read === undefined ? member : read(member);
    changed ||= shown !== member;
    return shown === undefined ? [] : [[key, shown]];
  });
  return changed ? Object.fromEntries(entries) : value;
}
