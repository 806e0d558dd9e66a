/** Writes responses: JSON, pages and redirects, all with `no-store`. */
import type { ServerResponse } from "node:http";
import { descriptionOf, type OAuthError } from "./oauth-error.js";
import { PAGE_HEADERS } from "./pages.js";

const NO_STORE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** A JSON document. */
export function sendJson(response: ServerResponse, status: number, document: object): void {
  response
    .writeHead(status, { ...NO_STORE, "content-type": "application/json" })
    .end(JSON.stringify(document));
}

/** An error of the token, registration and revocation endpoints (RFC 6749, 5.2). */
export function sendOAuthError(response: ServerResponse, error: OAuthError): void {
  const { retryAfterS } = error.details;
  if (retryAfterS !== undefined) response.setHeader("retry-after", String(retryAfterS));
  sendJson(response, error.status, { error: error.code, error_description: descriptionOf(error) });
}

/** A page for a person. */
export function sendPage(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, PAGE_HEADERS).end(html);
}

/** Redirects the browser to `location`, with GET. */
export function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { ...NO_STORE, location, "referrer-policy": "no-referrer" }).end();
}

/** `uri` with these parameters added to its query. Undefined ones are omitted. */
export function withParameters(
  uri: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.append(name, value);
  }
  return url.href;
}
