/**
 * Can parameters be read in one way only? A JSON parser that ignores case reads `Name` as `name`, and the last of two
 * such members wins; the server would then act on other values than policy has checked.
 */
import { type Envelope, PROTOTYPE_MEMBERS, prototypeMemberSentence } from "../wire/envelope.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { CODE } from "../wire/names.js";
import { LOG_LEVELS, type LogLevel } from "./call.js";
import { badRequest, type GatewayError } from "./errors.js";
import {
  COMMON_PARAMS,
  INPUT_REQUIRED_RESULT,
  INPUT_RESPONSE,
  type Members,
  type NestedMember,
  PARAMS,
} from "./members.js";

/**
 * The fault in the parameters of a request or notification, as a sentence that names the member; undefined if every
 * JSON parser reads the same members.
 *
 * In methods that MCP defines, no member may fold (case, Unicode) to a defined one, and `arguments` must be an object. In
 * other methods a member may have any name, but not beside one that it folds to.
 */
export function paramsFault(method: string, params: JsonObject | undefined): string | undefined {
  if (params === undefined) return undefined;
  const members = PARAMS.get(method);
  return members === undefined ? duplicateFault(params) : membersFault(params, members, "");
}

const NULLABLE = ["arguments", "_meta", "task", "context"] as const;

/**
 * Removes members that are null and can be objects only, such as `"arguments": null`: serializers of some languages write
 * null for what is absent, and servers refuse it. Other members stay, whatever they are.
 */
export function dropNullMembers(method: string, params: JsonObject | undefined): void {
  if (params === undefined) return;
  // By name: a host may send many members, and to enumerate them costs memory.
  for (const key of NULLABLE) {
    if (params[key] !== null || PARAMS.get(method)?.names.get(key)?.appliesTo !== "itself") continue;
    delete (params as Record<string, unknown>)[key];
  }
  const { context } = params;
  if (method === "completion/complete" && isObject(context) && context.arguments === null)
    delete (context as { arguments?: unknown }).arguments;
}

/**
 * The same for any object with some defined members.
 *
 * @param path of the object, with a trailing dot; prepended to the member in the sentence
 */
export function membersFault(object: JsonObject, members: Members, path: string): string | undefined {
  for (const key in object) {
    const inner = members.names.get(key);
    const fault =
      inner !== undefined
        ? innerFault(object[key], inner, path)
        : members.names.has(key)
          ? undefined
          : spellingFault(key, members, path);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The fault of a result that another JSON parser could read as one with questions (`input_required`). */
export const resultFault = (result: JsonObject): string | undefined =>
  membersFault(result, INPUT_REQUIRED_RESULT, "");

function spellingFault(key: string, { folded }: Members, path: string): string | undefined {
  const meant = folded.match(key);
  return meant === undefined
    ? undefined
    : `${quotedPath(path, key)} could be read as ${quotedPath(path, meant)}`;
}

function innerFault(value: unknown, inner: NestedMember, path: string): string | undefined {
  if (value === undefined) return undefined;
  if (inner.mustBeObject && !isObject(value)) return `${quotedPath(path, inner.name)} must be an object`;
  if (inner.members === undefined) return undefined;
  if (Array.isArray(value)) {
    return inner.appliesTo === "itself"
      ? undefined
      : eachFault(value, inner.members, `${path}${inner.name}.`);
  }
  if (!isObject(value)) return undefined;
  const look = inner.appliesTo === "values" ? eachFault : membersFault;
  return look(value, inner.members, `${path}${inner.name}.`);
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

function duplicateFault(params: JsonObject): string | undefined {
  for (const key in params) {
    const meant = COMMON_PARAMS.match(key);
    if (meant !== undefined && meant !== key && Object.hasOwn(params, meant)) {
      return `${quotedPath("", key)} could be read as ${quotedPath("", meant)}`;
    }
  }
  return undefined;
}

const quotedPath = (path: string, key: string): string => {
  const name = `${path}${key}`;
  return writeJson(name.length <= MAX_QUOTED_LENGTH ? name : `…${name.slice(-MAX_QUOTED_LENGTH)}`);
};
/** In characters. */
const MAX_QUOTED_LENGTH = 200;

/** @throws GatewayError -32602 that names the member, for a request or a notification */
export function checkParams(method: string, params: JsonObject | undefined): void {
  const fault = paramsFault(method, params);
  if (fault !== undefined) throw invalidParams(fault);
}

/** @throws GatewayError -32602 that names the member */
export function checkMembers(object: JsonObject, members: Members, path: string): void {
  const fault = membersFault(object, members, path);
  if (fault !== undefined) throw invalidParams(fault);
}

/** The fault in a host's response to a server's request, as a sentence. */
export function responseFault(response: Envelope): string | undefined {
  const [member] = response[PROTOTYPE_MEMBERS] ?? [];
  if (member !== undefined) return prototypeMemberSentence(member);
  const { result } = response;
  return result === undefined ? undefined : membersFault(result, INPUT_RESPONSE, "");
}

/** The JSON-RPC error -32602 with this message. */
export const invalidParams = (sentence: string): GatewayError =>
  badRequest(sentence, { rpc: CODE.invalidParams });

/** The log level that the parameter `name` holds. @throws GatewayError -32602 */
export function checkLogLevel(value: unknown, name: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === value);
  if (level === undefined) throw invalidParams(`${name} must be one of ${LOG_LEVELS.join(", ")}`);
  return level;
}

/**
 * The cursor of a list request, as `read` understands it; undefined for the first page. An empty cursor is a cursor
 * (2026-07-28: server/utilities/pagination), which the gateway never issues; it means the first page.
 *
 * @param read undefined for a text that was not given out for this list
 * @throws GatewayError -32602
 */
export function cursorIn<Cursor>(
  { cursor: text }: JsonObject,
  read: (text: string) => Cursor | undefined,
): Cursor | undefined {
  if (text === undefined || text === null || text === "") return undefined;
  const cursor = typeof text === "string" ? read(text) : undefined;
  if (cursor === undefined) throw invalidParams("this cursor does not belong to this list");
  return cursor;
}
