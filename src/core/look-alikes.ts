/**
 * Whether parameters can be read in one way only. A server whose JSON reader ignores case takes `Name` for `name`, and
 * the last of the two for the one that counts; what policy has judged would not be what it acts on.
 */
import { isObject, type JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { type Members, PARAMS, READ_EVERYWHERE } from "./members.js";

/**
 * What is wrong with the parameters of a request or notification of either side, as a sentence that names the member;
 * undefined where each member is what it is for every reader.
 *
 * In methods that MCP defines no member may fold to one that is defined, and `arguments` must be an object. In all
 * others a member may be called as their authors like, but none may stand beside its twin.
 */
export function paramsFault(method: string, params: JsonObject | undefined): string | undefined {
  if (params === undefined) return undefined;
  const members = PARAMS.get(method);
  return members === undefined ? twinFault(params) : membersFault(params, members, "");
}

/**
 * The same for any object of whose members some are defined.
 *
 * @param path where the object stands, with a dot behind it; in front of the member that the sentence names
 */
export function membersFault(object: JsonObject, members: Members, path: string): string | undefined {
  for (const key in object) {
    if (members.names.has(key)) continue;
    const meant = members.spellings.meantBy(key);
    if (meant !== undefined) return `${quoted(path, key)} could be read as ${quoted(path, meant)}`;
  }
  for (const inner of members.inner) {
    const value = object[inner.name];
    if (value === undefined) continue;
    if (inner.strict && !isObject(value)) return `${quoted(path, inner.name)} must be an object`;
    if (inner.members === undefined) continue;
    const within = `${path}${inner.name}.`;
    let fault: string | undefined;
    if (Array.isArray(value))
      fault = inner.of === "itself" ? undefined : eachFault(value, inner.members, within);
    else if (isObject(value)) {
      const look = inner.of === "values" ? eachFault : membersFault;
      fault = look(value, inner.members, within);
    }
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function eachFault(
  values: JsonObject | readonly unknown[],
  members: Members,
  path: string,
): string | undefined {
  for (const [key, value] of Object.entries(values)) {
    const fault = isObject(value) ? membersFault(value, members, `${path}${key}.`) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function twinFault(params: JsonObject): string | undefined {
  for (const key in params) {
    const meant = READ_EVERYWHERE.meantBy(key);
    if (meant !== undefined && meant !== key && Object.hasOwn(params, meant)) {
      return `${quoted("", key)} could be read as ${quoted("", meant)}`;
    }
  }
  return undefined;
}

const quoted = (path: string, key: string): string => {
  const name = `${path}${key}`;
  return writeJson(name.length <= LONGEST_NAMED ? name : `…${name.slice(-LONGEST_NAMED)}`);
};
/** In characters. */
const LONGEST_NAMED = 200;
