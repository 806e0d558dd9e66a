/** The consent page and the error page. */
import { createHash } from "node:crypto";
import { destinationOf, isOnLoopback, privateSchemeOf } from "./redirect-uris.js";
import type { AuthorizationRequest } from "./types.js";

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;color:#1c1c1e;background:#fff}" +
  "h1{font-size:1.3rem}dt{font-weight:600;margin-top:.7rem}dd{margin:0;overflow-wrap:anywhere}" +
  ".warn{border-left:4px solid #b45309;padding:.3rem .8rem;background:#fef6e7}" +
  "button{font:inherit;padding:.5rem 1.4rem;margin:1.2rem .6rem 0 0;border:1px solid #1c1c1e;border-radius:.4rem;background:#fff}" +
  "button.go{background:#1c1c1e;color:#fff}";

/** The CSP source of the pages' only style, for `style-src`. */
export const STYLE_HASH = `sha256-${createHash("sha256").update(STYLE).digest("base64")}`;

interface Consent {
  readonly request: AuthorizationRequest;
  /** `client_id` if it is the URL of a document; undefined for a registration. */
  readonly documentUrl: string | undefined;
  /** The URL of the MCP endpoint. */
  readonly resource: string;
  /** Where the person signs in next. */
  readonly issuer: string;
  /** The action of the form. */
  readonly action: string;
  /** The sealed request. */
  readonly sealed: string;
}

/** The consent page. All of its content comes from the host and is escaped. */
export function consentPage({ request, documentUrl, resource, issuer, action, sealed }: Consent): string {
  const { clientName, redirectUri, scopes } = request;
  const name = `<b>${escapeHtml(clientName)}</b>`;
  const origin =
    documentUrl === undefined
      ? "It has registered itself; its name was not verified."
      : `It is described by ${escapeHtml(documentUrl)}.`;
  const target = targetOf(redirectUri);
  const listed =
    scopes.length === 0
      ? "<dd>No particular scope: what your account may do here.</dd>"
      : scopes.map((scope) => `<dd><code>${escapeHtml(scope)}</code></dd>`).join("");
  return page(
    `Allow ${clientName}?`,
    `<h1>Allow ${name} to act for you?</h1>
<dl>
<dt>Application</dt><dd>${name}</dd><dd>${origin}</dd>
<dt>It gets access to</dt><dd>${escapeHtml(resource)}</dd>
<dt>With these scopes</dt>${listed}
<dt>The result is sent to ${target}</dt><dd><code>${escapeHtml(redirectUri)}</code></dd>
</dl>
<p class="warn">Continue only if you have just started this yourself. You sign in at ${escapeHtml(new URL(issuer).host)} next.</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="request" value="${escapeHtml(sealed)}">
<button class="go" type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny">Deny</button>
</form>`,
  );
}

/** A private scheme is no proof of a program: any of them can claim it. */
function targetOf(redirectUri: string): string {
  const scheme = privateSchemeOf(redirectUri);
  if (scheme !== undefined)
    return `the program of this computer that opens addresses with <b>${escapeHtml(scheme)}</b>`;
  return isOnLoopback(redirectUri)
    ? "a program on this computer"
    : `the website <b>${escapeHtml(destinationOf(redirectUri))}</b>`;
}

/** An error page. `back` is a link to the host that the person may follow. */
export function errorPage(sentence: string, back?: { readonly url: string; readonly name: string }): string {
  const link =
    back === undefined
      ? "<p>You can close this page.</p>"
      : `<p><a rel="noreferrer" href="${escapeHtml(back.url)}">Go back to ${escapeHtml(back.name)}</a> (${escapeHtml(destinationOf(back.url))}), if you trust it.</p>`;
  return page("Sign-in", `<h1>This sign-in cannot continue</h1>\n<p>${escapeHtml(sentence)}</p>\n${link}`);
}

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>
${body}
</body></html>
`;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (mark) => ENTITIES[mark] ?? "");
