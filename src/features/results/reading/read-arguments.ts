/** What does a client want to read? From the arguments of `read_result`, or from the parameters in a URI. */
import { badRequest, type GatewayError } from "../../../core/errors.js";
import { isObject, type JsonObject, numberOf, objectAt, stringAt, without } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { isResultUri, READ_RESULT, RESULT_SCHEME } from "../own-tool.js";

/** A part of a kept result. */
export interface ReadQuery {
  readonly id: string;
  readonly offset: number;
  readonly limit: number;
  readonly path: string;
  readonly search: string | undefined;
}

const MEMBERS = ["id", "offset", "limit", "path", "search"];
/** Longer texts (characters) are no search, and no path. */
const MAX_LENGTH = 2_000;

/** @throws GatewayError `bad_request` that names the argument */
export function readArguments(given: unknown): ReadQuery {
  const args = given ?? {};
  if (!isObject(args)) throw malformed("needs an object of arguments");
  const [unknown] = Object.keys(without(args, MEMBERS));
  if (unknown !== undefined)
    throw malformed(`has no argument ${writeJson(unknown.slice(0, 100))}; it takes ${MEMBERS.join(", ")}`);
  const { id } = args;
  if (typeof id !== "string" || id === "") throw malformed('needs "id": the one that the preview says');
  return {
    id: withoutScheme(id),
    offset: wholeNumber(args.offset, "offset", 0) ?? 0,
    limit: wholeNumber(args.limit, "limit", 1) ?? Number.POSITIVE_INFINITY,
    path: text(args.path, "path") ?? "",
    search: text(args.search, "search") || undefined,
  };
}

/** @throws GatewayError `bad_request` that names the parameter */
export function readUri(uri: string): ReadQuery {
  const [id = "", query = ""] = withoutScheme(uri).split("?", 2);
  const given = new URLSearchParams(query);
  const number = (name: string): number | undefined => {
    const value = given.get(name);
    return value === null || !/^\d{1,15}$/.test(value) ? undefined : Number(value);
  };
  const [unknown] = [...given.keys()].filter((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) throw malformed(`has no parameter ${writeJson(unknown.slice(0, 100))}`);
  for (const name of ["offset", "limit"])
    if (given.has(name) && number(name) === undefined)
      throw malformed(`needs "${name}" to be a whole number`);
  return readArguments({
    id: id.replace(/\/$/, ""),
    offset: number("offset"),
    limit: number("limit"),
    path: given.get("path") ?? undefined,
    search: given.get("search") ?? undefined,
  });
}

/** The id of the result that a message reads, perhaps with the parameters of a URI behind it. */
export function resultIn(method: string, params: JsonObject): string | undefined {
  if (method === "tools/call" && params.name === READ_RESULT) {
    const id = stringAt(objectAt(params, "arguments"), "id");
    return id === undefined ? undefined : withoutScheme(id);
  }
  const uri = method === "resources/read" ? stringAt(params, "uri") : undefined;
  return uri !== undefined && isResultUri(uri) ? withoutScheme(uri) : undefined;
}

const withoutScheme = (id: string): string =>
  id.toLowerCase().startsWith(RESULT_SCHEME) ? id.slice(RESULT_SCHEME.length) : id;

function wholeNumber(given: unknown, name: string, least: number): number | undefined {
  // Models write null for what is absent.
  if (given === undefined || given === null) return undefined;
  const value = numberOf(given);
  if (value === undefined || !Number.isSafeInteger(value) || value < least)
    throw malformed(`needs "${name}" to be a whole number from ${least} on`);
  return value;
}

function text(given: unknown, name: string): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== "string") throw malformed(`needs "${name}" to be a string`);
  if (given.length > MAX_LENGTH) throw malformed(`takes a "${name}" of ${MAX_LENGTH} characters at most`);
  return given;
}

const malformed = (what: string): GatewayError => badRequest(`${READ_RESULT} ${what}`);
