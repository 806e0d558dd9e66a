/** The consent page and the error page. */
import { type Html, html, PageKind } from "../../http/html-page.js";
import { destinationOf, isOnLoopback, privateSchemeOf } from "./redirect-uris.js";
import type { AuthorizationRequest } from "./types.js";

/**
 * `form-action` is not limited, because browsers also apply it to the redirects after a form, which lead to the company's issuer and to
 * the host. With `no-referrer` a browser would send the form with `Origin: null`.
 */
const KIND = new PageKind({ formAction: undefined, referrer: "same-origin", isForPopups: true });

/** The headers of both pages. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = KIND.headers;

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
  const name = html`<b>${clientName}</b>`;
  const origin =
    documentUrl === undefined
      ? "It has registered itself; its name was not verified."
      : `It is described by ${documentUrl}.`;
  const target = targetOf(redirectUri);
  const listed =
    scopes.length === 0
      ? html`<dd>No particular scope: what your account may do here.</dd>`
      : html`${scopes.map((scope) => html`<dd><code>${scope}</code></dd>`)}`;
  const body = html`<h1>Allow ${name} to act for you?</h1>
<p class="error warn">Continue only if you have just started this yourself. You sign in at ${new URL(issuer).host} next.</p>
<section class="card"><dl>
<dt>Application</dt><dd>${name}</dd><dd class="quiet">${origin}</dd>
<dt>It gets access to</dt><dd>${resource}</dd>
<dt>With these scopes</dt>${listed}
<dt>The result is sent to</dt><dd>${target}</dd><dd><code>${redirectUri}</code></dd>
</dl>
<form method="post" action="${action}" class="buttons">
<input type="hidden" name="request" value="${sealed}">
<button class="main" type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny">Deny</button>
</form></section>`;
  return KIND.text(`Allow ${clientName}?`, body);
}

/** A private scheme is no proof of a program: any of them can claim it. */
function targetOf(redirectUri: string): Html {
  const scheme = privateSchemeOf(redirectUri);
  if (scheme !== undefined)
    return html`the program of this computer that opens addresses with <b>${scheme}</b>`;
  return isOnLoopback(redirectUri)
    ? html`a program on this computer`
    : html`the website <b>${destinationOf(redirectUri)}</b>`;
}

/** An error page. `back` is a link to the host that the person may follow. */
export function errorPage(sentence: string, back?: { readonly url: string; readonly name: string }): string {
  const link =
    back === undefined
      ? html`<p class="quiet">You can close this page.</p>`
      : html`<p><a rel="noreferrer" href="${back.url}">Go back to ${back.name}</a> (${destinationOf(back.url)}), if you trust it.</p>`;
  const heading = "This sign-in cannot continue";
  return KIND.text(
    "Sign-in",
    html`<h1>${heading}</h1>\n<section class="card"><p>${sentence}</p>\n${link}</section>`,
  );
}
