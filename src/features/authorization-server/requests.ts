/** Parses requests to the authorization server: query, form or JSON, each parameter once, within limits. */
import type { IncomingMessage } from "node:http";
import { isObject, type JsonObject } from "../../wire/json.js";
import { OAuthError } from "./oauth-error.js";

/** The parameters of a request, each with one value. */
export type Parameters = ReadonlyMap<string, string>;

const MAX_BYTES = 32 * 1024;

/** The query. @throws OAuthError `invalid_request` */
export const readQuery = ({ url = "" }: IncomingMessage): Parameters =>
  parametersOf(new URLSearchParams(url.split("?").slice(1).join("?")));

/** The body of a form. @throws OAuthError `invalid_request` */
export async function readForm(request: IncomingMessage): Promise<Parameters> {
  requireType(request, "application/x-www-form-urlencoded");
  return parametersOf(new URLSearchParams(await readText(request)));
}

/** The body of a JSON document. @throws OAuthError `invalid_client_metadata` */
export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  requireType(request, "application/json");
  const text = await readText(request);
  try {
    const value = JSON.parse(text) as unknown;
    if (isObject(value)) return value;
  } catch (cause) {
    throw new OAuthError("invalid_client_metadata", "the body is not JSON", { cause });
  }
  throw new OAuthError("invalid_client_metadata", "the body is not a JSON object");
}

/** The parameter `name`. @throws OAuthError `invalid_request` if it is missing or empty */
export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined || value === "") throw new OAuthError("invalid_request", `${name} is missing`);
  return value;
}

/** RFC 6749, 3.1 and 3.2: parameters must not be repeated, and empty ones count as omitted. */
function parametersOf(search: URLSearchParams): Parameters {
  const found = new Map<string, string>();
  for (const [name, value] of search) {
    if (found.has(name)) throw new OAuthError("invalid_request", `${safe(name)} is repeated`);
    found.set(name, value);
  }
  for (const [name, value] of found) if (value === "") found.delete(name);
  return found;
}

const safe = (name: string): string => (/^[\w.-]{1,40}$/.test(name) ? name : "a parameter");

function requireType({ headers }: IncomingMessage, type: string): void {
  const [own = ""] = (headers["content-type"] ?? "").split(";", 1);
  if (own.trim().toLowerCase() !== type)
    throw new OAuthError("invalid_request", `the body must be ${type}`, { status: 415 });
}

async function readText(request: IncomingMessage): Promise<string> {
  // Refused before it is read, so that the response arrives.
  if (Number(request.headers["content-length"] ?? 0) > MAX_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof OAuthError) throw error;
    throw new OAuthError("invalid_request", "the body has ended early", { cause: error });
  }
  return Buffer.concat(chunks).toString("utf8");
}

const tooLarge = (): OAuthError =>
  new OAuthError("invalid_request", `the body is larger than ${MAX_BYTES / 1024} KiB`, { status: 413 });
