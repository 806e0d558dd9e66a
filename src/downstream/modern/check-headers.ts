/**
 * Whether the headers of a request agree with its body: a proxy that routes by the header and the server that executes
 * the body must see the same (spec 2026-07-28: basic/transports/streamable-http, "Server Validation"; SEP-2243).
 */

import type { IncomingHttpHeaders } from "node:http";
import { headerMismatch } from "../../core/errors.js";
import { mirroredName } from "../../core/methods.js";
import { canonicalDecimal, isNumber } from "../../wire/decimal.js";
import type { Request } from "../../wire/envelope.js";
import { ExactNumber, type JsonObject, objectAt } from "../../wire/json.js";
import { argumentAt, decodeHeaderValue, paramHeaders } from "../../wire/mirrored-headers.js";
import { HEADER } from "../../wire/names.js";

/** @throws GatewayError -32020 unless `MCP-Protocol-Version` is there and equals the claim of the body. */
export function checkVersionHeader(headers: IncomingHttpHeaders, claimed: string): void {
  const version = plainHeader(headers, HEADER.protocolVersion);
  if (version === undefined) throw headerMismatch("the MCP-Protocol-Version header is missing");
  if (version !== claimed)
    throw headerMismatch(`the MCP-Protocol-Version header and _meta name different revisions`);
}

/** @throws GatewayError -32020 unless `Mcp-Method`, and where the request has a name `Mcp-Name`, agree with the body. */
export function checkStandardHeaders(headers: IncomingHttpHeaders, request: Request): void {
  const method = plainHeader(headers, HEADER.method);
  if (method === undefined) throw headerMismatch("the Mcp-Method header is missing");
  if (method !== request.method)
    throw headerMismatch("the Mcp-Method header and the body name different methods");
  const expected = mirroredName(request.method, request.params ?? {});
  if (expected === undefined) return;
  if (headers[HEADER.name] === undefined) throw headerMismatch("the Mcp-Name header is missing");
  if (encodedHeader(headers, HEADER.name) !== expected) {
    throw headerMismatch("the Mcp-Name header and the body name different targets");
  }
}

/**
 * Checks the `Mcp-Param-*` headers that the tool's input schema explains, and returns the others as they came:
 * who does not recognise one must pass it on ("Server Behavior for Custom Headers").
 *
 * @param tool the list entry that the client saw; undefined where the request calls no known tool
 * @throws GatewayError -32020 for a header that is missing, unreadable or different from its argument
 */
export function checkParamHeaders(
  headers: IncomingHttpHeaders,
  params: JsonObject,
  tool: JsonObject | undefined,
): Readonly<Record<string, string>> | undefined {
  // Of a tool whose annotations break a rule the client was shown none.
  const { headers: annotated, fault } = paramHeaders(tool?.inputSchema);
  const explained = fault === undefined ? annotated : [];
  const args = objectAt(params, "arguments");
  for (const { header, path } of explained) checkParam(headers, header, argumentAt(args, path));
  let extra: Record<string, string> | undefined;
  for (const name in headers) {
    if (!name.startsWith(HEADER.paramPrefix) || explained.some(({ header }) => header === name)) continue;
    const value = headers[name];
    if (typeof value !== "string") continue;
    extra ??= Object.create(null) as Record<string, string>;
    extra[name] = value;
  }
  return extra;
}

function checkParam(headers: IncomingHttpHeaders, header: string, argument: unknown): void {
  const present = headers[header] !== undefined;
  if (argument === undefined || argument === null) {
    if (present) throw headerMismatch(`the ${header} header has no argument to agree with`);
    return;
  }
  // Not what the schema asks for: that is for the server to refuse, and no header can mirror it.
  if (typeof argument === "object" && !isNumber(argument)) return;
  if (!present) throw headerMismatch(`the ${header} header is missing`);
  const value = encodedHeader(headers, header);
  if (!matchesArgument(value, argument)) throw headerMismatch(`the ${header} header and the argument differ`);
}

/** Numbers are compared as numbers, so that `42.0` agrees with 42; everything else to the letter. */
function matchesArgument(value: string, argument: unknown): boolean {
  if (isNumber(argument) && DECIMAL.test(value))
    return canonicalDecimal(new ExactNumber(value)) === canonicalDecimal(argument);
  return value === String(argument);
}

/** Number() alone would take `0x1a`, `1e3` and white space. */
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** @throws GatewayError -32020 when the value holds what no header may hold, or claims to be Base64 and is not. */
function encodedHeader(headers: IncomingHttpHeaders, name: string): string {
  const value = decodeHeaderValue(String(headers[name]));
  if (value === undefined) throw headerMismatch(`the ${name} header cannot be read`);
  return value;
}

/** A header that is never encoded, without the white space around it (RFC 9110, 5.5). */
function plainHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value.trim() : undefined;
}
