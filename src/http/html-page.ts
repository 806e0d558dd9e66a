/** HTML pages for persons at the listener for hosts: no script, one style, every inserted value escaped. */
import { createHash } from "node:crypto";
import { HIDDEN_CHARACTERS } from "../wire/readable-text.js";
import { logo, SHARED_STYLE } from "./page-style.js";

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

/** What pages with forms and facts have beside the look of all. */
const STYLE = `${SHARED_STYLE}
main { max-width: 40rem; margin: 0 auto }
h1 { overflow-wrap: anywhere }
.card > :is(h2, p, pre, ul, dl, form, label) + :is(p, pre, ul, dl, form, label, details) { margin-top: 0.6rem }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.45rem 1.2rem }
dt { grid-column: 1; color: var(--quiet) }
dd { grid-column: 2; overflow-wrap: anywhere }
.card > dl + form, form > :is(p, label) + button { margin-top: 1rem }
label { display: grid; gap: 0.25rem; margin-bottom: 0.9rem }
pre { padding: 0.6rem 0.8rem; border: 1px solid var(--line); border-radius: 8px; background: var(--sunk); white-space: pre-wrap;
  overflow-wrap: anywhere; user-select: all }
.buttons { display: flex; flex-wrap: wrap; gap: 0.5rem }
@media (max-width: 30rem) { dl { grid-template-columns: minmax(0, 1fr); gap: 0 } dd { grid-column: 1 } dd + dt { margin-top: 0.5rem } }
`;

/** The headers that all pages have, with a policy that names one style. */
export interface PageHeadersOptions {
  /** The value of `form-action`; undefined does not limit it. */
  readonly formAction: string | undefined;
  readonly referrer: "no-referrer" | "same-origin";
  /** Whether the window that has opened the page may follow it, as a host does whose sign-in is a popup. Default: no. */
  readonly isForPopups?: boolean;
}

const LOGO = new Html(logo('class="logo" aria-hidden="true"'));

/** A kind of page: its style, and the headers that allow nothing else (2026-07-28: security best practices). */
export class PageKind {
  readonly #style: Html;
  readonly headers: Readonly<Record<string, string>>;

  /** @param more style of these pages alone */
  constructor({ formAction, referrer, isForPopups = false }: PageHeadersOptions, more = "") {
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
      ...(!isForPopups && { "cross-origin-opener-policy": "same-origin" }),
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
<body>
<header><span class="brand">${LOGO}<span>Cardea</span></span></header>
<main>
${body}
</main></body>
</html>
`.text;
  }
}
