/** How do compositions at the top of a schema become one object schema? */
import { isObject, isSame, type JsonObject, objectAt, stringAt } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";

/** Notes in the description what the folded schema no longer says. */
export type Note = (what: string) => void;

/** The most characters of one branch in a note. */
const MAX_BRANCH_LENGTH = 60;

/**
 * The schema without `keys` (`allOf`, `anyOf`, `oneOf`): members of all branches are its own. Required is what the schema,
 * each part of an `allOf`, or every branch of a choice requires.
 */
export function folded(
  schema: JsonObject,
  keys: readonly string[],
  resolve: (ref: string) => unknown,
  note: Note,
): JsonObject {
  let whole: JsonObject = Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));
  for (const key of keys) {
    const branches = branchesOf(schema[key], resolve);
    if (key === "allOf") for (const branch of branches) whole = merged(whole, branch, true, note);
    else {
      for (const branch of branches) whole = merged(whole, branch, false, note);
      const shared = sharedNames(branches.map(requiredOf));
      whole = withRequired(whole, shared);
      note(`(${key === "oneOf" ? "exactly" : "at least"} one of: ${branches.map(branchText).join(" | ")})`);
    }
  }
  return whole;
}

function branchesOf(list: unknown, resolve: (ref: string) => unknown): readonly JsonObject[] {
  return (Array.isArray(list) ? list : []).flatMap((one: unknown) => {
    const ref = stringAt(isObject(one) ? one : undefined, "$ref");
    const found = ref === undefined ? one : resolve(ref);
    return isObject(found) ? [found] : [];
  });
}

/** `base` with what `part` says; `isBinding` where all values must fit it. */
function merged(base: JsonObject, part: JsonObject, isBinding: boolean, note: Note): JsonObject {
  const { properties, required, $defs: _, ...others } = part;
  const own = objectAt(base, "properties") ?? {};
  const added = Object.entries(isObject(properties) ? properties : {}).filter(([name, one]) => {
    const isKnown = Object.hasOwn(own, name);
    if (isKnown && !isSame(own[name], one)) note(`(${name} ${isBinding ? "also" : "or"}: ${shortText(one)})`);
    return !isKnown;
  });
  const bound = isBinding ? withRequired(base, requiredOf({ required })) : base;
  const constraints = isBinding ? withConstraints(bound, others, note) : bound;
  if (added.length === 0 && base.properties === undefined) return constraints;
  return { ...constraints, properties: { ...own, ...Object.fromEntries(added) } };
}

/** Other keywords of a part that all values must fit. */
function withConstraints(base: JsonObject, others: JsonObject, note: Note): JsonObject {
  const added: [string, unknown][] = [];
  for (const [key, value] of Object.entries(others)) {
    if (!Object.hasOwn(base, key)) added.push([key, value]);
    else if (!isSame(base[key], value) && key !== "description" && key !== "title")
      note(`(${key} also: ${shortText(value)})`);
  }
  return { ...base, ...Object.fromEntries(added) };
}

const requiredOf = ({ required }: JsonObject): readonly string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];

function withRequired(schema: JsonObject, names: readonly string[]): JsonObject {
  const all = [...new Set([...requiredOf(schema), ...names])];
  return all.length === 0 ? schema : { ...schema, required: all };
}

const sharedNames = (lists: readonly (readonly string[])[]): readonly string[] =>
  (lists[0] ?? []).filter((name) => lists.every((list) => list.includes(name)));

/** What a branch asks for: the names that it requires, else its members or text. */
function branchText(branch: JsonObject): string {
  const required = requiredOf(branch);
  const names = required.length > 0 ? required : Object.keys(objectAt(branch, "properties") ?? {});
  return names.length > 0 ? names.join(" with ") : shortText(branch);
}

function shortText(value: unknown): string {
  const text = writeJson(value);
  return text.length <= MAX_BRANCH_LENGTH ? text : `${text.slice(0, MAX_BRANCH_LENGTH).toWellFormed()}…`;
}
