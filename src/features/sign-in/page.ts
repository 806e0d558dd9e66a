/** The pages of sign-ins: without scripts, and with forms that may lead to an authorization server. */

import type { ServerResponse } from "node:http";
import { type Html, html, PageKind } from "../../http/html-page.js";

/**
 * Chrome applies `form-action` to the redirects after a form too, and an authorization server may redirect to any
 * other; so every https: page is allowed, and loopback for authorization servers under test.
 */
const FORM_ACTION = "'self' https: http://127.0.0.1:* http://localhost:*";

const KIND = new PageKind({ formAction: FORM_ACTION, referrer: "no-referrer" });

/** The headers of every page, and of redirects, which have no content. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = KIND.headers;

/** The content of a page. */
export interface Page {
  readonly title: string;
  readonly body: Html;
}

/**
 * Responds with a page.
 *
 * @param cookies values of `Set-Cookie`
 */
export function sendPage(
  response: ServerResponse,
  status: number,
  { title, body }: Page,
  cookies: readonly string[] = [],
): void {
  const text = KIND.text(
    title,
    html`<h1>${title}</h1>
${body}`,
  );
  response
    .writeHead(status, { ...PAGE_HEADERS, ...(cookies.length > 0 && { "set-cookie": [...cookies] }) })
    .end(text);
}
