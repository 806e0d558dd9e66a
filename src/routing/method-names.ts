/** What the parameters of a method without a target of its own name, in whatever member. */
import type { Target } from "../core/methods.js";
import { isObject, type JsonObject, objectAt } from "../wire/json.js";

/** A member that names something by the words MCP has for it, so that it says which server is meant. */
export interface NamingMember {
  readonly path:
    | readonly ["name"]
    | readonly ["uri"]
    | readonly ["taskId"]
    | readonly ["ref", "name" | "uri"];
  readonly value: string;
  /** What it may name; a task is known by its handle alone. */
  readonly kinds: readonly Target["kind"][];
}

/** How many texts of one call are looked at; a call with more is refused, as nobody could say what it names. */
export const MOST_TEXTS = 1_000;

/** The members that say which server a call goes to, in the order in which a refusal tells of them. */
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

/**
 * Every text that may name something at the server: members of the parameters, what stands in their lists, and members
 * of their objects; not what is meant for a tool. Undefined where there are too many.
 */
export function textsOf(params: JsonObject): readonly string[] | undefined {
  const texts: string[] = [];
  const take = (value: unknown): void => {
    if (typeof value === "string") texts.push(value);
  };
  for (const [key, value] of Object.entries(params)) {
    if (key === "_meta" || key === "arguments") continue;
    if (Array.isArray(value)) for (const item of value) take(item);
    else if (isObject(value)) for (const inner of Object.values(value)) take(inner);
    else take(value);
    if (texts.length > MOST_TEXTS) return undefined;
  }
  return texts;
}

/** The parameters with other texts in those members. */
export function renamed(params: JsonObject, names: readonly (readonly [NamingMember, string])[]): JsonObject {
  let written = params;
  for (const [{ path }, value] of names) {
    const [first, second] = path;
    const inner = second === undefined ? value : { ...objectAt(written, first), [second]: value };
    written = { ...written, [first]: inner };
  }
  return written;
}
