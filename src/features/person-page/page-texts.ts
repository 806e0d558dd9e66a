/** The content of the page. */

import type { Principal } from "../../core/client.js";
import { SERVER_NAME } from "../../core/gateway-api.js";
import { shortText } from "../../core/short-text.js";
import type { ShownTool } from "../../gateway/views/shown-tools.js";
import { type Html, html } from "../../http/html-page.js";
import { stringAt } from "../../wire/json.js";
import { hostLines } from "./host-lines.js";
import type { PersonView, SignInRow, WayOfKnowing } from "./person-view.js";

/** Everything that is shown. */
export interface ShownPage extends PersonView {
  readonly way: WayOfKnowing;
  /** The URL for hosts. */
  readonly address: string;
  readonly principal: Principal | undefined;
  /** Where persons sign in. */
  readonly issuer: string | undefined;
  /** Whether each process behind the address knows who is signed in. */
  readonly isShared: boolean;
}

/** The page. */
export function mainPage(page: ShownPage): { readonly title: string; readonly body: Html } {
  const { host } = new URL(page.address);
  return {
    title: `Tools at ${host}`,
    body: html`<h1>Tools at ${host}</h1>
${page.way === "signIn" && !page.isShared ? UNSHARED : html``}
${whoIsIt(page)}
${connecting(page)}
${page.signIns.length === 0 ? html`` : signIns(page.signIns)}
${page.tools === undefined ? html`` : toolsOf(page.tools)}`,
  };
}

const UNSHARED = html`<p class="error warn">The replicas of this gateway may not share sign-ins, so that this page forgets who you are.
Its operator gives them one store and one <code>credentials.key</code>.</p>`;

/** The body of a page that refuses. @param back the address of the page */
export const refusalBody = (sentence: string, back: string): Html =>
  html`<h1>Not possible</h1>
<section class="card"><p>${sentence}</p>
<p><a class="button" href="${back}">Back to the page of this gateway</a></p></section>`;

function whoIsIt({ way, principal, issuer = "" }: ShownPage): Html {
  if (way === "anyone")
    return html`<p>This gateway joins many MCP servers into one. It asks no host who it is: all of them get what is below.</p>`;
  if (way === "credentials")
    return html`<section class="card"><h2>Your key</h2>
<p>Hosts send this gateway a key or a token, which its operator gives to you. A browser has none, so your tools are not shown here:
your host lists them once it is connected.</p></section>`;
  if (principal !== undefined)
    return html`<div class="who"><p>Signed in as <strong>${principal.id}</strong></p>
<form method="post"><button type="submit" name="action" value="sign-out">Sign out</button></form></div>`;
  return html`<section class="card"><h2>Sign in</h2>
<p>With your login at <strong>${new URL(issuer).host}</strong> you see here which tools you have and at which servers you are signed in.</p>
<form method="post"><button class="main" type="submit" name="action" value="sign-in">Sign in</button></form></section>`;
}

function connecting(page: ShownPage): Html {
  const hosts = hostLines(page).map(
    ({ title, lines }) => html`<details name="host"><summary>${title}</summary><div>${lines}</div></details>`,
  );
  return html`<section class="card"><h2>Connect a host</h2>
<p>The address, as a server of the type HTTP (Streamable HTTP):</p>
<pre>${page.address}</pre>
${page.way === "signIn" ? html`<p class="quiet">The host opens a browser to sign you in.</p>` : html``}
${hosts}</section>`;
}

function signIns(rows: readonly SignInRow[]): Html {
  const items = rows.map(({ server, isSignedIn }) => {
    const [action, label, state] = isSignedIn
      ? (["disconnect", "Sign out", html`<span class="badge good">signed in</span>`] as const)
      : (["connect", "Sign in", html`<span class="badge warn">not signed in</span>`] as const);
    return html`<li class="row"><span>${server} ${state}</span>
<form method="post"><input type="hidden" name="server" value="${server}">
<button class="${isSignedIn ? "" : "main"}" type="submit" name="action" value="${action}" aria-label="${label}: ${server}">${label}</button></form></li>`;
  });
  return html`<section class="card"><h2>Your sign-ins at servers</h2>
<p class="quiet">The gateway uses these servers on your behalf.</p>
<ul>${items}</ul></section>`;
}

function toolsOf(tools: readonly ShownTool[]): Html {
  const servers = new Map<string, ShownTool[]>();
  for (const tool of tools) servers.set(tool.server, [...(servers.get(tool.server) ?? []), tool]);
  const groups = [...servers].map(
    ([server, own]) =>
      html`<details><summary>${server === "" ? SERVER_NAME : server}<span class="quiet">${countsOf(own)}</span></summary>
<ul>${own.map(toolItem)}</ul></details>`,
  );
  const none = html`<p>There are none now. Servers may still be starting, or need your sign-in.</p>`;
  return html`<section class="card"><h2>Your tools</h2>
${tools.length === 0 ? none : html`<p class="quiet">${countsOf(tools)}. A tool that is not here is not for you.</p>${groups}`}</section>`;
}

/** Characters of a description. */
const MAX_ABOUT = 240;

function toolItem({ item, outlook }: ShownTool): Html {
  const about = stringAt(item, "description") ?? stringAt(item, "title") ?? "";
  const [line = ""] = about.trim().split("\n", 1);
  const { effect, message } = outlook;
  const mark =
    effect === "allow" ? html`` : html` <span class="badge ${TONES[effect]}">${MARKS[effect]}</span>`;
  const why = effect === "allow" || message === undefined ? html`` : html`<p class="quiet">${message}</p>`;
  return html`<li><code>${stringAt(item, "name") ?? ""}</code>${mark}<p class="quiet">${shortText(line, MAX_ABOUT)}</p>${why}</li>`;
}

const TONES = { deny: "bad", approve: "warn", depends: "warn" } as const;
const MARKS = { deny: "refused", approve: "needs approval", depends: "depends on arguments" } as const;
/** The same of several tools. */
const SEVERAL = { deny: "refused", approve: "need approval", depends: "depend on arguments" } as const;

/** `12 tools, 2 refused, 1 needs approval` */
function countsOf(tools: readonly ShownTool[]): string {
  const all = tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  const others = (["deny", "approve", "depends"] as const).flatMap((effect) => {
    const count = tools.filter(({ outlook }) => outlook.effect === effect).length;
    return count === 0 ? [] : [`${count} ${(count === 1 ? MARKS : SEVERAL)[effect]}`];
  });
  return [all, ...others].join(", ");
}
