/** Writes responses: JSON, pages and redirects, all with `no-store`. */
import type { ServerResponse } from "node:http";
import { descriptionOf, type OAuthError } from "./oauth-error.js";
import { STYLE_HASH } from "./pages.js";

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

/**
 * A page for a person: no script, no frame, no external resource. `form-action` is not limited, because browsers also
 * apply it to the redirects after a form, which lead to the company's issuer and to the host.
 */
export function sendPage(response: ServerResponse, status: number, html: string): void {
  response
    .writeHead(status, {
      ...NO_STORE,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src '${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'`,
      "x-frame-options": "DENY",
      // With `no-referrer` a browser would send the form with `Origin: null`.
      "referrer-policy": "same-origin",
    })
    .end(html);
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
