/** How do the arguments of a tool call become the HTTP request of an operation? */
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Headers } from "../transport/channel.js";
import type { HttpMethod, OutgoingRequest } from "../transport/http-request.js";
import type { Operation, Parameter } from "./operation.js";
import { encodeReserved, encodeValue, type Pair, pairsOf, plainText, segmentText } from "./styles.js";
import { UnusableArgument, writeBody } from "./write-body.js";

/** Where requests go. */
export interface ApiAddress {
  /** The path of the base URL without a slash at its end. */
  readonly path: string;
  /** The query of the base URL, with its `?`, or "". */
  readonly query: string;
  /** Headers of every request, by names in lower case. */
  readonly headers: Headers;
}

/** The request for a call; its URL below the base URL too, for the result. @throws UnusableArgument */
export function writeApiRequest(
  operation: Operation,
  given: JsonObject,
  address: ApiAddress,
): OutgoingRequest & { readonly path: string } {
  checkNames(operation, given);
  const values = (place: Parameter["in"]): readonly (readonly [Parameter, unknown])[] =>
    operation.parameters
      .filter((parameter) => parameter.in === place)
      .flatMap((parameter) => {
        const value = argumentAt(given, parameter.argument);
        if (value !== undefined) return [[parameter, value] as const];
        if (!parameter.required) return [];
        throw new UnusableArgument(`the argument "${parameter.argument}" is required`);
      });
  const path = writePath(operation.path, new Map(values("path").map((one) => [one[0].name, one])));
  const query = joined(values("query").flatMap(([parameter, value]) => queryPairs(parameter, value)));
  const cookies = values("cookie").flatMap(([parameter, value]) => queryPairs(parameter, value));
  const headers = Object.fromEntries(
    values("header").map(([parameter, value]) => [
      parameter.name.toLowerCase(),
      headerText(parameter, value),
    ]),
  );
  const body = operation.body && writeBody(operation.body, argumentAt(given, "body"));
  const separator = address.query === "" ? "?" : `${address.query}&`;
  return {
    method: operation.method as HttpMethod,
    path: `${address.path}${path}${query === "" ? address.query : `${separator}${query}`}`,
    headers: {
      ...headers,
      ...(cookies.length > 0 && { cookie: cookies.map((pair) => pair.join("=")).join("; ") }),
      accept: operation.accept,
      ...address.headers,
      ...(body !== undefined && { "content-type": body.contentType }),
    },
    ...(body !== undefined && { body: body.content }),
  };
}

const argumentAt = (given: JsonObject, name: string): unknown =>
  Object.hasOwn(given, name) ? given[name] : undefined;

function checkNames(operation: Operation, given: JsonObject): void {
  const known = [
    ...operation.parameters.map(({ argument }) => argument),
    ...(operation.body === undefined ? [] : ["body"]),
  ];
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const names = known.length === 0 ? "it takes none" : `it takes ${known.join(", ")}`;
  throw new UnusableArgument(`there is no argument ${writeJson(unknown.slice(0, 100))}; ${names}`);
}

/** A value as JSON, for a parameter that is described by `content`. */
const jsonOr = ({ isJson }: Parameter, value: unknown): unknown =>
  isJson && typeof value !== "string" ? writeJson(value) : value;

function writePath(template: string, values: ReadonlyMap<string, readonly [Parameter, unknown]>): string {
  const path = template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const [parameter, value] = values.get(name) ?? [];
    if (parameter === undefined) throw new UnusableArgument(`the argument "${name}" is required`);
    const given = jsonOr(parameter, value);
    checkSegment(parameter, given);
    return segmentText(encodeValue(name), given, { ...parameter, encode: encodeValue });
  });
  // Text of the template between parameters; what parameters hold is encoded already.
  const safe = path.replace(/[^\x21-\x7e]|[?#"<>\\^`{|}]/g, (character) =>
    encodeURIComponent(character.toWellFormed()),
  );
  if (safe.split("/").some(isDotSegment))
    throw new UnusableArgument('an argument in the path may not make it go to "." or ".."');
  return safe;
}

const isDotSegment = (segment: string): boolean => /^(?:\.|%2e){1,2}$/i.test(segment);

/**
 * Values of a path stay in their segment. Slashes are encoded, but some servers and proxies decode them before they
 * resolve `..`, so such a value is refused; an empty one would be another path.
 */
function checkSegment({ argument }: Parameter, value: unknown): void {
  const texts = (Array.isArray(value) ? value : [value]).map(plainText);
  if (texts.length === 0 || texts.every((text) => text === ""))
    throw new UnusableArgument(`the argument "${argument}" is empty, and a part of the path`);
  if (texts.some((text) => /(?:^|[/\\])\.{1,2}(?:$|[/\\])/.test(text) || text.includes("\0")))
    throw new UnusableArgument(
      `the argument "${argument}" is a part of the path, and may not hold "." or ".." as a folder`,
    );
}

function queryPairs(parameter: Parameter, value: unknown): readonly Pair[] {
  if (value === null) return [];
  const encode = parameter.allowReserved && parameter.in === "query" ? encodeReserved : encodeValue;
  return pairsOf(parameter.name, jsonOr(parameter, value), { ...parameter, encode });
}

const joined = (pairs: readonly Pair[]): string => pairs.map((pair) => pair.join("=")).join("&");

function headerText(parameter: Parameter, value: unknown): string {
  const text = segmentText(parameter.name, jsonOr(parameter, value), {
    ...parameter,
    encode: (one) => one,
  });
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text.trim();
  throw new UnusableArgument(
    `the argument "${parameter.argument}" goes into a header, which can hold neither line breaks nor characters beyond Latin-1`,
  );
}
