/**
 * Which parts of a request are repeated in its HTTP headers, and how are they encoded? Arguments are, by the `x-mcp-header`
 * annotations of the tool (2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters").
 */
import { isObject, type JsonObject } from "./json.js";
import { HEADER } from "./names.js";

interface ParamHeader {
  /** The whole header name in lower case, such as `mcp-param-region`. */
  readonly header: string;
  readonly path: readonly string[];
}

interface ParamHeaders {
  /** The well-formed annotations, in the order of the schema. */
  readonly headers: readonly ParamHeader[];
  /** The first annotation that breaks a rule, as a plain sentence; such a tool must be hidden by HTTP clients. */
  readonly fault?: string;
}

const ANNOTATION = "x-mcp-header";
const NONE: ParamHeaders = { headers: [] };
/** RFC 9110, 5.1. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The types an annotated property may have; `number` is left out on purpose (2026-07-28, server/tools, "x-mcp-header"). */
const PRIMITIVES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
/** Keywords that lead to a schema, or to a list of them, where an annotation is out of place. */
const NON_ARGUMENT_KEYWORDS = [
  ...[
    "items",
    "prefixItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
  ],
  ...["propertyNames", "oneOf", "anyOf", "allOf", "not", "if", "then", "else"],
];
/** Keywords that lead to schemas by name, where an annotation is out of place too. */
const NON_ARGUMENT_MAPS = ["patternProperties", "dependentSchemas", "$defs", "definitions"];

/** Read once per schema: list entries are immutable and called repeatedly. */
const cache = new WeakMap<JsonObject, ParamHeaders>();

/** The annotations of a tool's input schema. */
export function paramHeaders(inputSchema: unknown): ParamHeaders {
  if (!isObject(inputSchema)) return NONE;
  let found = cache.get(inputSchema);
  if (found === undefined) {
    found = isAnnotated(inputSchema) ? read(inputSchema) : NONE;
    cache.set(inputSchema, found);
  }
  return found;
}

/** The value at exactly this path of own properties; `undefined` where there is none. */
export function argumentAt(args: JsonObject | undefined, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

/** Whether there is an annotation anywhere in `schema`, in its place or not; hardly any tool has one. */
function isAnnotated(schema: JsonObject): boolean {
  // A stack of our own: a schema may be nested as deeply as messages may.
  const open: object[] = [schema];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Object.hasOwn(value, ANNOTATION)) return true;
    for (const inner of Object.values(value))
      if (typeof inner === "object" && inner !== null) open.push(inner);
  }
  return false;
}

interface SchemaNode {
  readonly schema: unknown;
  readonly path: readonly string[];
  /** Reached from the root through `properties` alone. */
  readonly reachable: boolean;
}

function read(root: JsonObject): ParamHeaders {
  const headers = new Map<string, ParamHeader>();
  let fault: string | undefined;
  const places: SchemaNode[] = [{ schema: root, path: [], reachable: true }];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { schema, path } = place;
    if (!isObject(schema)) continue;
    if (Object.hasOwn(schema, ANNOTATION)) {
      const header = `${HEADER.paramPrefix}${String(schema[ANNOTATION]).toLowerCase()}`;
      const problem = faultOf(schema, place) ?? (headers.has(header) ? "is used twice" : undefined);
      if (problem === undefined) headers.set(header, { header, path });
      else fault ??= `${ANNOTATION} at ${path.length === 0 ? "the root" : path.join(".")} ${problem}`;
    }
    places.push(...subschemas(schema, place));
  }
  return { headers: [...headers.values()], ...(fault !== undefined && { fault }) };
}

function faultOf(schema: JsonObject, { path, reachable }: SchemaNode): string | undefined {
  const name = schema[ANNOTATION];
  if (!reachable || path.length === 0) return "is where no argument can be read";
  if (typeof name !== "string" || !TOKEN.test(name)) return "is no header name";
  return PRIMITIVES.has(schema.type) ? undefined : "is on something that is no string, integer or boolean";
}

/** The schemas inside `schema`, last first, so that the stack gives them in order. */
function subschemas(schema: JsonObject, { path, reachable }: SchemaNode): readonly SchemaNode[] {
  const aside = (inner: unknown): SchemaNode => ({ schema: inner, path, reachable: false });
  const inside = (key: string): unknown => (Object.hasOwn(schema, key) ? schema[key] : undefined);
  const named = (key: string): readonly [string, unknown][] => {
    const value = inside(key);
    return isObject(value) ? Object.entries(value) : [];
  };
  return [
    ...named("properties").map(
      ([key, inner]): SchemaNode => ({ schema: inner, path: [...path, key], reachable }),
    ),
    ...NON_ARGUMENT_KEYWORDS.flatMap((key) => inside(key) ?? []).map(aside),
    ...NON_ARGUMENT_MAPS.flatMap(named).map(([, inner]) => aside(inner)),
  ].reverse();
}

const PREFIX = "=?base64?";
const SUFFIX = "?=";

/**
 * Any string as a header value, from which `decodeHeaderValue` returns exactly `value`: plain where it is safe, else
 * `=?base64?…?=` (2026-07-28, basic/transports/streamable-http, "Value Encoding").
 */
export function encodeHeaderValue(value: string): string {
  if (isPlain(value) && !looksEncoded(value)) return value;
  return `${PREFIX}${Buffer.from(value, "utf8").toString("base64")}${SUFFIX}`;
}

/**
 * Decodes a header value; surrounding white space is not part of it (RFC 9110, 5.5).
 * `undefined` when it has characters that are invalid in header values, or an encoded part that is not the Base64 of
 * UTF-8 text.
 */
export function decodeHeaderValue(header: string): string | undefined {
  const value = trimSpace(header);
  if (!isPlain(value)) return undefined;
  if (!looksEncoded(value)) return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(encoded, "base64");
  // Node ignores invalid Base64 characters and missing padding; only a value that encodes back to itself is valid
  // (the test-case table of SEP-2243 refuses both).
  if (bytes.toString("base64") !== encoded) return undefined;
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : undefined;
}

function looksEncoded(value: string): boolean {
  return value.length >= PREFIX.length + SUFFIX.length && value.startsWith(PREFIX) && value.endsWith(SUFFIX);
}

/** Visible ASCII, with spaces and tabs between but not around. */
function isPlain(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (!((code >= 0x21 && code <= 0x7e) || (isSpace(code) && i > 0 && i < value.length - 1))) return false;
  }
  return true;
}

function trimSpace(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value.charCodeAt(start))) start++;
  while (end > start && isSpace(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;
