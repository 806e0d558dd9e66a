/** HTML pages without scripts; every inserted value is escaped. */

import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { HIDDEN_CHARACTERS } from "../../wire/readable-text.js";

/** Text that is already HTML. */
class Html {
  constructor(readonly text: string) {}
}

/** An HTML template: every inserted value is escaped, unless this function made it. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | Html | readonly Html[])[]
): Html {
  const filled = parts.map((part, at) => `${at === 0 ? "" : written(values[at - 1] ?? "")}${part}`);
  return new Html(filled.join(""));
}

const written = (value: string | Html | readonly Html[]): string =>
  typeof value === "string"
    ? escaped(value)
    : [value]
        .flat()
        .map(({ text }) => text)
        .join("");

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
/** Invisible characters and those that change the text direction could disguise a name. */
const escaped = (text: string): string =>
  text.replace(HIDDEN_CHARACTERS, "�").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #6b7280; --accent: #1d4ed8; --on: #fff }
@media (prefers-color-scheme: dark) { :root { --soft: #9ca3af; --accent: #93b4ff; --on: #0b1020 } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; padding: 8vh 1rem 2rem }
main { max-width: 34rem; margin: 0 auto }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 1rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; margin: 1.5rem 0; padding: 1rem 0;
  border-block: 1px solid var(--line) }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
code { font: .95em/1.4 ui-monospace, monospace }
label { display: block; margin: 1rem 0 }
input[type=password] { display: block; box-sizing: border-box; width: 100%; margin-top: .25rem; padding: .5rem; font: inherit }
button { font: inherit; font-weight: 600; padding: .6rem 1.4rem; border: 0; border-radius: .4rem; background: var(--accent);
  color: var(--on); cursor: pointer }
button:focus-visible, input:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.code { font: 600 2rem/1.2 ui-monospace, monospace; letter-spacing: .08em; margin: 1rem 0 }
.soft { color: var(--soft); font-size: .9rem }
`;
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/**
 * Chrome applies `form-action` to the redirects after a form too, and an authorization server may redirect to any
 * other; so every https: page is allowed, and loopback for authorization servers under test.
 */
const FORM_ACTION = "'self' https: http://127.0.0.1:* http://localhost:*";

/** The headers of every page (2026-07-28: security best practices, "Confused Deputy"). */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${FORM_ACTION}; base-uri 'none'; frame-ancestors 'none'`,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

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
  const style = new Html(`<style>${STYLE}</style>`);
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Cardea</title>
${style}
</head>
<body><main>
<h1>${title}</h1>
${body}
</main></body>
</html>
`;
  response
    .writeHead(status, {
      ...PAGE_HEADERS,
      "content-type": "text/html; charset=utf-8",
      ...(cookies.length > 0 && { "set-cookie": [...cookies] }),
    })
    .end(text);
}
