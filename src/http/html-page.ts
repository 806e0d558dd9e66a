/** HTML pages for persons at the listener for hosts: no script, one style, every inserted value escaped. */
import { createHash } from "node:crypto";
import { HIDDEN_CHARACTERS } from "../wire/readable-text.js";

/** Text that is already HTML. */
class Html {
  constructor(readonly text: string) {}
}

export type { Html };

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

/** The colours are those of the console. */
const STYLE = `
:root { color-scheme: light dark; --paper: #f6f4ee; --card: #fff; --sunk: #f3f1ea; --ink: #1b2425; --soft: #5b6668;
  --line: #e2ddd0; --accent: #1f5f63; --on: #fff; --good: #1f6d40; --warn: #855600; --warn-soft: #fbf0d9; --bad: #a8302f;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace }
@media (prefers-color-scheme: dark) { :root { --paper: #101516; --card: #192021; --sunk: #131a1b; --ink: #e7ebe9;
  --soft: #9aa7a8; --line: #2b3536; --accent: #7cc4c4; --on: #0d2122; --good: #79cf9b; --warn: #e6b863; --warn-soft: #362a12;
  --bad: #f19390 } }
* { box-sizing: border-box }
body { margin: 0; padding: 2rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
main { max-width: 36rem; margin: 0 auto }
.brand { display: flex; align-items: center; gap: .6rem; margin: 0 0 1.5rem; font-weight: 650 }
.brand svg { width: 1.9rem; height: 1.9rem }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; margin: 1.5rem 0; padding: 1rem 0;
  border-block: 1px solid var(--line) }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .5rem } }
a { color: var(--accent); text-underline-offset: .2em }
code { font: .92em/1.45 var(--mono) }
label { display: block; margin: 1rem 0 }
input[type=password] { display: block; width: 100%; margin-top: .25rem; padding: .5rem; border: 1px solid var(--soft);
  border-radius: .4rem; background: var(--card); color: inherit; font: inherit }
button, .button { display: inline-block; margin: .35rem .5rem .35rem 0; padding: .5rem 1.2rem; border: 1px solid var(--accent);
  border-radius: .5rem; background: var(--accent); color: var(--on); font: inherit; font-weight: 600; text-decoration: none;
  cursor: pointer }
button.second { background: transparent; color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.warn { padding: .6rem .9rem; border-left: 4px solid var(--warn); border-radius: .25rem; background: var(--warn-soft) }
.code { margin: 1rem 0; font: 600 2rem/1.2 var(--mono); letter-spacing: .08em }
.soft { color: var(--soft); font-size: .9rem }
`;

/** The logo: a door with a hinge. */
const LOGO = new Html(
  '<svg viewBox="0 0 34 34" aria-hidden="true"><rect width="34" height="34" rx="8" fill="#24595c"/><path d="M12 7v20M12 11h11v4H12M12 19h8v4h-8" fill="none" stroke="#f4efe4" stroke-width="2.4" stroke-linejoin="round" stroke-linecap="round"/><circle cx="12" cy="17" r="2.2" fill="#e3b25c"/></svg>',
);

/** The headers that all pages have, with a policy that names one style. */
export interface PageHeadersOptions {
  /** The value of `form-action`; undefined does not limit it. */
  readonly formAction: string | undefined;
  readonly referrer: "no-referrer" | "same-origin";
}

/** A kind of page: its style, and the headers that allow nothing else (2026-07-28: security best practices). */
export class PageKind {
  readonly #style: Html;
  readonly headers: Readonly<Record<string, string>>;

  /** @param more style of these pages alone */
  constructor({ formAction, referrer }: PageHeadersOptions, more = "") {
    const style = `${STYLE}${more}`;
    this.#style = new Html(`<style>${style}</style>`);
    const hash = createHash("sha256").update(style).digest("base64");
    const forms = formAction === undefined ? "" : ` form-action ${formAction};`;
    this.headers = {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src 'sha256-${hash}';${forms} base-uri 'none'; frame-ancestors 'none'`,
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": referrer,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "no-store",
    };
  }

  /** The whole document. `title` is that of the browser's tab, `body` has the heading. */
  text(title: string, body: Html): string {
    return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Cardea</title>
${this.#style}
</head>
<body><main>
<p class="brand">${LOGO}<span>Cardea</span></p>
${body}
</main></body>
</html>
`.text;
  }
}
