/** All pages that the gateway serves to a browser look alike: the type, the colours, the buttons and the logo of the console. */
import { mkdirSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test as plain } from "vitest";
import { HAS_BROWSER, seriousFindings, startBrowser } from "../../support/browser.js";
import { inRepository } from "../../support/cardea.js";
import { hasFeature } from "../../support/features.js";
import { gatewayOf } from "../../support/gateway.js";
import { sample, TAKES_ALL } from "../../support/sample.js";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import { startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { PAGE, PersonsBrowser, servingPersons } from "./stage.js";

const needed = [PAGE, "admin", "policy", "sign-in", "vault", "authorization-server"];
const test = plain.skipIf(!HAS_BROWSER || !needed.every(hasFeature));

/** Where the screenshots go, for people to look at, in `npm run test:all`. */
const PICTURES = inRepository(".cache/pages");

const ended: (() => Promise<void>)[] = [];
const ends = (end: () => Promise<void>): void => void ended.push(end);
let browser: Browser;
let page: string;
let adminUrl: string;
let endpoint: string;
beforeAll(async () => {
  if (!HAS_BROWSER) return;
  const notes = await startRealIssuer();
  ends(() => notes.close());
  const onStart = (url: string): void => {
    adminUrl = url;
  };
  ({ page } = await servingPersons({ mcpServers: { notes: { url: notes.mcpUrl } } }, { ends, onStart }));
  // Without the page of a person the kernel has one of its own.
  const plainGateway = await gatewayOf({ listen: { http: { port: 0 }, admin: { port: 0 } } });
  ends(() => plainGateway.stop({ immediate: true }));
  endpoint = (await plainGateway.start()).url;
  browser = await startBrowser();
  ends(() => browser.close());
  mkdirSync(PICTURES, { recursive: true });
}, 60_000);
afterAll(async () => {
  for (const end of ended.reverse()) await end();
});

interface Look {
  readonly width: number;
  readonly scheme: "light" | "dark";
}
const LOOKS: readonly Look[] = [390, 1280, 1440].flatMap((width) => [
  { width, scheme: "light" },
  { width, scheme: "dark" },
]);

/** The address of the page that asks for consent to a host. */
async function consentUrl(): Promise<string> {
  const redirect = "http://127.0.0.1:4711/callback";
  const registered = await fetch(new URL("oauth/register", page), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Claude Code", redirect_uris: [redirect] }),
  });
  const { client_id: id } = (await registered.json()) as { readonly client_id: string };
  const url = new URL("oauth/authorize", page);
  const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
  for (const [name, value] of Object.entries({
    ...{ client_id: id, redirect_uri: redirect, response_type: "code", state: "a", scope: "" },
    ...{ code_challenge: challenge, code_challenge_method: "S256", resource: new URL("mcp", page).href },
  }))
    if (value !== "") url.searchParams.set(name, value);
  return url.href;
}

/** From the connect page to the address of the last page, which the browser with the cookies has not opened yet. */
async function lastPage(alice: PersonsBrowser, connect: string): Promise<string> {
  const form = await alice.open(connect);
  const csrf = /name="csrf" value="([^"]+)"/.exec(form.text)?.[1] ?? "";
  const company = await alice.press(connect, { csrf });
  const identified = await alice.open(await authorizeAs(company.location, "alice"));
  return authorizeAs(identified.location, "alice");
}

/** Computed by the browser: strings, so that no name of the compiler is in the page. */
const LOOK = `(() => {
  const of = (selector, ...names) => {
    const found = document.querySelector(selector);
    return found && names.map((name) => getComputedStyle(found)[name]).join(" | ");
  };
  return {
    body: of("body", "fontFamily", "fontSize", "color", "backgroundColor"),
    heading: of("h1", "fontFamily", "fontSize", "fontWeight"),
    header: of("header", "height", "backgroundColor", "borderBottomColor"),
    brand: of(".brand", "fontSize", "fontWeight", "color"),
    logo: of(".brand .logo", "width", "height"),
    card: of(".card", "backgroundColor", "borderRadius", "borderColor"),
  };
})()`;
/** One line of a button that a page may have. */
const BUTTON = `(() => {
  const found = document.querySelector("button.main, form.main > button");
  const style = found && getComputedStyle(found);
  return style && [style.backgroundColor, style.color, style.fontSize, style.fontWeight, style.borderRadius, style.minHeight].join(" | ");
})()`;
const OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/** Sends the form of the page with an action that there is not. */
const BREAK_A_FORM = `(() => {
  const button = document.querySelector("button[name=action]");
  button.value = "explode";
  button.click();
})()`;

/** As the page computes it. */
interface Looks {
  readonly all: unknown;
  readonly button: unknown;
}

interface Shown {
  readonly name: string;
  readonly open: (shown: Page) => Promise<unknown>;
}

async function pagesFor(alice: PersonsBrowser): Promise<readonly Shown[]> {
  const consent = await consentUrl();
  const { location: connect } = await alice.press(page, { action: "connect", server: "notes" });
  return [
    { name: "console", open: (shown) => shown.goto(`${adminUrl}/#/overview`) },
    { name: "endpoint", open: (shown) => shown.goto(endpoint) },
    { name: "person-signed-out", open: (shown) => shown.goto(page) },
    { name: "consent", open: (shown) => shown.goto(consent) },
    { name: "consent-error", open: (shown) => shown.goto(`${page}oauth/authorize?client_id=unknown`) },
    { name: "connect", open: (shown) => shown.goto(connect) },
    {
      name: "signed-in-at-server",
      async open(shown) {
        const last = await lastPage(alice, connect);
        const cookies = [...alice.cookies].map(([name, value]) => ({ name, value, url: page }));
        await shown.context().addCookies(cookies);
        await shown.goto(last);
      },
    },
    { name: "connect-error", open: (shown) => shown.goto(connect) },
    { name: "person-signed-in", open: (shown) => shown.goto(page) },
    {
      name: "person-error",
      async open(shown) {
        await shown.evaluate(BREAK_A_FORM);
        await shown.getByRole("heading", { name: "Not possible" }).waitFor();
      },
    },
  ];
}

/** What a page has in one look; an open page takes another width and scheme as the system of a person changes it. */
async function lookOf(shown: Page, name: string, { width, scheme }: Look): Promise<Looks> {
  await shown.setViewportSize({ width, height: 850 });
  await shown.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  if (TAKES_ALL)
    await shown.screenshot({ path: `${PICTURES}/${name}-${width}-${scheme}.png`, fullPage: true });
  expect([name, width, await shown.evaluate(OVERFLOW)]).toEqual([name, width, 0]);
  return { all: await shown.evaluate(LOOK), button: await shown.evaluate(BUTTON) };
}

test("each page has the look of the console, and axe finds nothing serious", async () => {
  const drawn = sample("looks of all pages", LOOKS, 1);
  const alice = new PersonsBrowser();
  await alice.signIn(page, "alice");
  const shown = await browser.newPage();
  const seen: { readonly name: string; readonly look: Look; readonly has: Looks }[] = [];
  for (const { name, open } of await pagesFor(alice)) {
    await open(shown);
    await shown.locator("h1").first().waitFor();
    await shown.locator(".card, .verdict").first().waitFor();
    for (const look of drawn) seen.push({ name, look, has: await lookOf(shown, name, look) });
    for (const scheme of new Set(drawn.map((look) => look.scheme))) {
      await shown.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      expect([name, scheme, await seriousFindings(shown)]).toEqual([name, scheme, []]);
    }
  }
  await shown.close();
  for (const look of drawn) {
    const those = seen.filter((each) => each.look === look);
    const model = those.find(({ name }) => name === "console");
    for (const { name, has } of those) expect([name, has.all]).toEqual([name, model?.has.all]);
    const buttons = those.map(({ has }) => has.button).filter((button) => button !== null);
    expect(new Set(buttons).size).toBe(1);
  }
}, 240_000);
