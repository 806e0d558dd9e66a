/** How do the arguments of a tool call become the HTTP request of an operation? */

import type { Headers } from "../../upstream/transport/channel.js";
import type { HttpMethod, OutgoingRequest } from "../../upstream/transport/http-request.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { checkMethodOverride, checkWritten } from "./check-shape.js";
import { checkCount, type Given, givenValue, refuseTaken, UnusableArgument } from "./given-values.js";
import type { Operation, Parameter } from "./operation.js";
import type { Routes } from "./routes.js";
import { encodeReserved, encodeValue, type Pair, pairsOf, plainText, segmentText } from "./styles.js";
import { TakenNames } from "./taken-names.js";
import { writeBody } from "./write-body.js";
import { writePath } from "./write-path.js";

/** Where requests go. */
export interface ApiAddress {
  /** The path of the base URL without a slash at its end. */
  readonly path: string;
  /** The query of the base URL, with its `?`, or "". */
  readonly query: string;
  /** The names in that query. */
  readonly queryNames: readonly string[];
  /** Headers of every request, by names in lower case. */
  readonly headers: Headers;
  readonly routes: Routes;
}

/** The request for a call; its URL below the base URL too, for the result. @throws UnusableArgument */
export function writeApiRequest(
  operation: Operation,
  given: JsonObject,
  address: ApiAddress,
): OutgoingRequest & { readonly path: string } {
  checkNames(operation, given);
  const values = (place: Parameter["in"]): readonly Given[] =>
    operation.parameters
      .filter((parameter) => parameter.in === place)
      .flatMap((parameter) => {
        const value = argumentAt(given, parameter.argument);
        if (value !== undefined) return [[parameter, value] as const];
        if (!parameter.required) return [];
        throw new UnusableArgument(`the argument "${parameter.argument}" is required`);
      });
  const named = (place: "query" | "cookie"): readonly Pair[] =>
    values(place).flatMap((one) => namedPairs(operation, one, place === "query" ? address.queryNames : []));
  const path = writePath(operation, values("path"), address.routes);
  const pairs = named("query");
  checkCount(pairs.length + address.queryNames.length);
  const query = joined(pairs);
  const cookies = named("cookie");
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

/** The pairs of one parameter. Those of an object have names that the caller chose, which must be free. */
function namedPairs(
  { parameters }: Operation,
  [parameter, value]: Given,
  configured: readonly string[],
): readonly Pair[] {
  if (value === null) return [];
  const { name, argument, in: place } = parameter;
  const encode = parameter.allowReserved && place === "query" ? encodeReserved : encodeValue;
  const given = givenValue(parameter, value);
  const pairs = pairsOf(name, given, { ...parameter, encode });
  const written = pairs.map(([one]) => decodeURIComponent(one));
  const chosen = written.filter((one) => one !== name);
  // A parameter that the document describes may still be what the config sets, to some servers.
  if (configured.length > 0) refuseTaken(argument, "", written, new TakenNames(configured));
  if (chosen.length > 0) {
    const others = parameters.filter((one) => one.in === place).map((one) => one.name);
    refuseTaken(argument, name, chosen, new TakenNames([...others, ...configured]));
  }
  checkGiven(parameter, value);
  return pairs;
}

/** @throws UnusableArgument */
function checkGiven({ argument, name, content, style, shape }: Parameter, value: unknown): void {
  checkMethodOverride(argument, name, value, shape);
  checkWritten(
    argument,
    value,
    shape,
    content !== undefined ? "json" : style === "deepObject" ? "deep" : "flat",
  );
}

const joined = (pairs: readonly Pair[]): string => pairs.map((pair) => pair.join("=")).join("&");

function headerText(parameter: Parameter, value: unknown): string {
  const { argument, name } = parameter;
  const given = givenValue(parameter, value);
  if (Array.isArray(given) || isObject(given)) checkParts(argument, given);
  checkGiven(parameter, value);
  const text = segmentText(name, given, { ...parameter, encode: (one) => one });
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text.trim();
  throw new UnusableArgument(
    `the argument "${argument}" goes into a header, which can hold neither line breaks nor characters beyond Latin-1`,
  );
}

/** Nothing is encoded in a header: an item with a comma would be two. */
function checkParts(argument: string, list: object): void {
  const names = Array.isArray(list) ? [] : Object.keys(list);
  const isSplit =
    names.some((one) => /[,=;]/.test(one)) || Object.values(list).some((one) => plainText(one).includes(","));
  if (!isSplit) return;
  throw new UnusableArgument(
    `the argument "${argument}" goes into a header, where a comma separates parts, and "=" names from values`,
  );
}
