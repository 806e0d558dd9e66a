/** Texts of the sign-in pages. */
import type { Finished } from "./authorizations.js";
import { html, type Page } from "./page.js";
import type { PreparedSignIn, SignInSubject } from "./pending-content.js";

/**
 * How the person is identified: not at all, by a key of the principal, by a login at the principal's issuer, or by the
 * sign-in itself, if that is at this issuer.
 */
export type IdentityQuestion = "none" | "key" | "login" | "subject";

/** The page that asks for consent to the sign-in. */
export function connectPage(
  { server, principal }: SignInSubject,
  { discovered, redirectUri, scopes, client }: PreparedSignIn,
  { csrf, question }: { readonly csrf: string; readonly question: IdentityQuestion },
): Page {
  const { issuer } = discovered.authorizationServer;
  const asked =
    scopes.length > 0
      ? scopes.map((scope) => html`<code>${scope}</code> `)
      : html`what ${issuer} grants by itself`;
  const key = html`<label>Gateway key of ${principal}
<input type="password" name="key" autocomplete="off" spellcheck="false" required>
<span class="soft">The key with which your host calls this gateway: so that no one can make you sign in for another person.</span></label>`;
  const login = html`<p class="soft">First the login of your company says that you are ${principal}.</p>`;
  return {
    title: `Sign in to ${server}`,
    body: html`<p>This gateway (Cardea) will use <strong>${server}</strong> on behalf of the person who signs in on the next page.
Continue only if you requested this yourself.</p>
<dl>
<dt>Server</dt><dd>${server} (<code>${discovered.resource}</code>)</dd>
<dt>You sign in at</dt><dd><code>${issuer}</code></dd>
<dt>For</dt><dd>${principal}</dd>
<dt>Permissions</dt><dd>${asked}</dd>
<dt>Client</dt><dd><code>${client.clientId}</code></dd>
<dt>Back to</dt><dd><code>${redirectUri}</code></dd>
</dl>
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
${question === "key" ? key : question === "login" ? login : html``}
<button type="submit">Sign in at ${new URL(issuer).host}</button>
</form>`,
  };
}

/** The page after a sign-in. */
export function finishedPage({ server, principal, issuer, scopes }: Finished): Page {
  const granted =
    scopes.length > 0 ? scopes.map((scope) => html`<code>${scope}</code> `) : html`as ${issuer} grants`;
  return {
    title: `Signed in to ${server}`,
    body: html`<p>You can close this page; the waiting call continues automatically.</p>
<dl>
<dt>Server</dt><dd>${server}</dd>
<dt>Signed in at</dt><dd><code>${issuer}</code></dd>
<dt>For</dt><dd>${principal}</dd>
<dt>Permissions</dt><dd>${granted}</dd>
</dl>
<p class="soft"><code>cardea logins</code> shows this sign-in, <code>cardea logout ${server}</code> ends it.</p>`,
  };
}

/**
 * The page of a refusal.
 *
 * @param sentence what happened and what to do
 */
export const refusalPage = (sentence: string): Page => ({
  title: "Not signed in",
  body: html`<p>${sentence}</p>`,
});
