/** What do the pages of a sign-in say? */
import type { Finished } from "./authorizations.js";
import { html, type Page } from "./page.js";
import type { PreparedSignIn, SignInSubject } from "./pending-content.js";

/** Whether the person is asked for a key of the principal, and what happens without one. */
export type KeyQuestion = "none" | "key_or_code" | "code";

/** The page that asks whether to sign in. */
export function connectPage(
  { server, principal }: SignInSubject,
  { discovered, redirectUri, scopes, client }: PreparedSignIn,
  { csrf, question }: { readonly csrf: string; readonly question: KeyQuestion },
): Page {
  const { issuer } = discovered.authorizationServer;
  const asked =
    scopes.length > 0
      ? scopes.map((scope) => html`<code>${scope}</code> `)
      : html`what ${issuer} grants by itself`;
  const key = html`<label>Gateway key of ${principal}
<input type="password" name="key" autocomplete="off" spellcheck="false">
<span class="soft">Without the key you get a code at the end, to be handed in by your own session.</span></label>`;
  const code = html`<p class="soft">At the end you get a code, to be handed in by your own session: so that nobody can make you sign in for somebody else.</p>`;
  return {
    title: `Sign in to ${server}`,
    body: html`<p>This gateway (Cardea) will use <strong>${server}</strong> in the name of whoever signs in on the next page.
Go on only if you asked for this yourself.</p>
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
${question === "key_or_code" ? key : question === "code" ? code : html``}
<button type="submit">Sign in at ${new URL(issuer).host}</button>
</form>`,
  };
}

/** The page after a sign-in. */
export function finishedPage({ server, principal, issuer, scopes, pairingCode }: Finished): Page {
  if (pairingCode !== undefined) {
    return {
      title: `One more step for ${server}`,
      body: html`<p>Hand in this code in the session in which you were asked to sign in:</p>
<p class="code">${pairingCode}</p>
<p>Give it to nobody else: whoever hands it in as <strong>${principal}</strong> uses ${server} in your name. It can be used once, for ten minutes.</p>`,
    };
  }
  const granted =
    scopes.length > 0 ? scopes.map((scope) => html`<code>${scope}</code> `) : html`as ${issuer} grants`;
  return {
    title: `Signed in to ${server}`,
    body: html`<p>You can close this page; the call that waited goes on by itself.</p>
<dl>
<dt>Server</dt><dd>${server}</dd>
<dt>Signed in at</dt><dd><code>${issuer}</code></dd>
<dt>For</dt><dd>${principal}</dd>
<dt>Permissions</dt><dd>${granted}</dd>
</dl>
<p class="soft"><code>cardea logins</code> shows this sign-in, <code>cardea logout ${server}</code> ends it.</p>`,
  };
}

/** The page of a refusal. @param sentence what happened and what to do */
export const refusalPage = (sentence: string): Page => ({
  title: "Not signed in",
  body: html`<p>${sentence}</p>`,
});
