/** Texts of the sign-in pages. */
import { idOfKey } from "../../core/principal.js";
import { type Html, html } from "../../http/html-page.js";
import type { Finished } from "./authorizations.js";
import type { Page } from "./page.js";
import type { PreparedSignIn, SignInSubject } from "./pending-content.js";

/**
 * How the person is identified: not at all, by a key of the principal, by a login at the principal's issuer, or by the
 * sign-in itself, if that is at this issuer.
 */
export type IdentityQuestion = "none" | "key" | "login" | "subject";

/** The page that asks for consent to the sign-in. */
export function connectPage(
  { server, principal }: SignInSubject,
  { discovered, redirectUri, scopes, client, isWider }: PreparedSignIn,
  { csrf, question }: { readonly csrf: string; readonly question: IdentityQuestion },
): Page {
  const { resource } = discovered;
  const { issuer, metadata } = discovered.authorizationServer;
  const page = hostOf(metadata.authorization_endpoint);
  const { host } = new URL(issuer);
  const who = idOfKey(principal);
  const asked =
    scopes.length > 0
      ? scopes.map((scope) => html`<code>${scope}</code> `)
      : html`what ${issuer} grants by itself`;
  const key = html`<label>Gateway key of ${who}
<input type="password" name="key" autocomplete="off" spellcheck="false" required>
<span class="quiet">The key with which your host calls this gateway: so that no one can make you sign in for another person.</span></label>`;
  const audience = html`<p class="error warn"><strong>${server} asks for more than itself:</strong> the token will be valid for all of
<code>${resource}</code>, also for other servers there. ${server} could use it at any of them. Continue only if you agree.</p>`;
  const login = html`<p class="quiet">First the login of your company says that you are ${who}.</p>`;
  return {
    title: `Sign in to ${server}`,
    body: html`<p>This gateway (Cardea) will use <strong>${server}</strong> on behalf of the person who signs in on the next page.
Continue only if you requested this yourself.</p>
<section class="card">
<dl>
<dt>Server</dt><dd>${server} (<code>${resource}</code>)</dd>
<dt>You sign in at</dt><dd><code>${issuer}</code>${page === undefined || page === host ? html`` : html` (page at <code>${page}</code>)`}</dd>
<dt>For</dt><dd>${who}</dd>
<dt>Permissions</dt><dd>${asked}</dd>
<dt>Client</dt><dd><code>${client.clientId}</code></dd>
<dt>Back to</dt><dd><code>${redirectUri}</code></dd>
</dl>
${isWider === true ? audience : html``}
<form class="main" method="post">
<input type="hidden" name="csrf" value="${csrf}">
${question === "key" ? key : question === "login" ? login : html``}
<button type="submit">${isWider === true ? "Agree, and sign in" : "Sign in"} at ${host}</button>
</form></section>`,
  };
}

const hostOf = (url: unknown): string | undefined =>
  typeof url === "string" && URL.canParse(url) ? new URL(url).host : undefined;

/**
 * The page after a sign-in.
 *
 * @param back the URL of the page of the gateway where the person has begun; undefined if a call waits for the sign-in
 */
export function finishedPage({ server, principal, issuer, scopes }: Finished, back?: string): Page {
  const granted =
    scopes.length > 0 ? scopes.map((scope) => html`<code>${scope}</code> `) : html`as ${issuer} grants`;
  return {
    title: `Signed in to ${server}`,
    body: html`<p>${back === undefined ? "You can close this page; the waiting call continues automatically." : `Your hosts can use ${server} now.`}</p>
<section class="card">
<dl>
<dt>Server</dt><dd>${server}</dd>
<dt>Signed in at</dt><dd><code>${issuer}</code></dd>
<dt>For</dt><dd>${idOfKey(principal)}</dd>
<dt>Permissions</dt><dd>${granted}</dd>
</dl></section>
${linkBack(back)}<p class="quiet"><code>cardea logins</code> shows this sign-in, <code>cardea logout ${server}</code> ends it.</p>`,
  };
}

/**
 * The page of a refusal.
 *
 * @param sentence what happened and what to do
 * @param back the URL of the page of the gateway where the person has begun
 */
export const refusalPage = (sentence: string, back?: string): Page => ({
  title: "Not signed in",
  body: html`<section class="card"><p>${sentence}</p></section>
${linkBack(back)}`,
});

const linkBack = (back: string | undefined): Html =>
  back === undefined ? html`` : html`<p><a class="button main" href="${back}">Back to your tools</a></p>`;
