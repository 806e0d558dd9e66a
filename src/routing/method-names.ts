/** Which targets the parameters of a custom method may name, in any member. */
import type { Target } from "../core/methods.js";
import { isObject, type JsonObject, objectAt } from "../wire/json.js";

/** A member that names a target in the terms of MCP, and so identifies the server. */
export interface NamingMember {
  readonly path:
    | readonly ["name"]
    | readonly ["uri"]
    | readonly ["taskId"]
    | readonly ["ref", "name" | "uri"];
  readonly value: string;
  /** The lists whose entries it may name; a task has only a handle. */
  readonly kinds: readonly Target["kind"][];
}

/**
 * Limit of texts that are examined per call; a call with more is refused, as its names cannot be determined.
 */
export const MAX_TEXTS = 1_000;

/** The members that identify the server of a call, in the order in which a refusal lists them. */
export function namingMembers(params: JsonObject): readonly NamingMember[] {
  const found: NamingMember[] = [];
  const add = (path: NamingMember["path"], kinds: NamingMember["kinds"]): void => {
    const [first, second] = path;
    const owner = second === undefined ? params : objectAt(params, first);
    const key = second ?? first;
    const value = owner !== undefined && Object.hasOwn(owner, key) ? owner[key] : undefined;
    if (typeof value === "string") found.push({ path, value, kinds });
  };
  add(["name"], ["tools", "prompts"]);
  add(["uri"], ["resources"]);
  add(["ref", "name"], ["prompts", "tools"]);
  add(["ref", "uri"], ["resourceTemplates"]);
  add(["taskId"], []);
  return found;
}

/** A text of the parameters that may be a name at the server. */
export interface PossibleName {
  readonly text: string;
  /** Whether its member has a key for names, such as `tool` or `uri`. */
  readonly surely: boolean;
}

/**
 * Every text that may be a name at the server: members of the parameters, the texts directly in their lists
 * and objects, and at any depth the members with a key for names. Undefined above MAX_TEXTS.
 */
export function possibleNames(params: JsonObject): readonly PossibleName[] | undefined {
  const found = new Map<string, boolean>();
  const take = (value: unknown, surely: boolean): void => {
    if (typeof value === "string") found.set(value, surely || found.get(value) === true);
    else if (Array.isArray(value)) for (const item of value) if (typeof item === "string") take(item, surely);
  };
  for (const [key, value] of Object.entries(params)) {
    if (key === "_meta") continue;
    const surely = isNamingKey(key);
    // Tool arguments are mostly prose.
    if (key !== "arguments" || surely) take(value, surely);
    if (isObject(value) && key !== "arguments") for (const inner of Object.values(value)) take(inner, surely);
    visitNames(value, (inner) => take(inner, false));
    if (found.size > MAX_TEXTS) return undefined;
  }
  return [...found].map(([text, surely]) => ({ text, surely }));
}

/** Calls `onName` with the value of each member that has a key for names, at any depth. */
function visitNames(value: unknown, onName: (held: unknown) => void): void {
  if (Array.isArray(value)) for (const item of value) visitNames(item, onName);
  if (!isObject(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    if (isNamingKey(key)) onName(inner);
    if (typeof inner === "object") visitNames(inner, onName);
  }
}

/** Case, punctuation and Unicode form are ignored, as they may be by the server. */
function isNamingKey(key: string): boolean {
  if (key.length > MAX_KEY_LENGTH) return false;
  const letters = key
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .replace(/[^a-z]/g, "");
  return NAMING_KEY.test(letters);
}
const MAX_KEY_LENGTH = 64;
const NAMING_KEY =
  /^(?:(?:tool|prompt|resource|template|target|task)(?:s|names?|uris?|ids?|refs?)?|names?|uris?|refs?)$/;

/** The parameters with other texts in those members. */
export function withNames(
  params: JsonObject,
  names: readonly (readonly [NamingMember, string])[],
): JsonObject {
  let written = params;
  for (const [{ path }, value] of names) {
    const [first, second] = path;
    const inner = second === undefined ? value : { ...objectAt(written, first), [second]: value };
    written = { ...written, [first]: inner };
  }
  return written;
}
