/** Principals from tokens sign in by the page: the company's issuer says who is at the browser. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthConfig } from "../../../src/config/auth-config.js";
import type { ServerAuthConfig } from "../../../src/config/server-auth.js";
import { Browser, type Shown } from "../../support/sign-in/browser.js";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { startDesk } from "./sign-in-desk.js";

const SECRET = "a-secret-of-the-gateway-0123456789";
let company: RealIssuer;
let notes: RealIssuer;
beforeAll(async () => {
  const redirect_uris = ["http://127.0.0.1/oauth/callback"];
  company = await startRealIssuer({
    clients: [{ client_id: "gateway", client_secret: SECRET, application_type: "native", redirect_uris }],
  });
  notes = await startRealIssuer();
});
afterAll(async () => {
  await company.close();
  await notes.close();
});

const jwt = (issuer = company.issuer) => ({
  ...{ issuer, audience: [], algorithms: ["ES256"], groupsClaim: "groups", scopes: [] },
});
const signIn = () => ({
  ...{ issuer: company.issuer, clientId: "gateway", clientSecret: SECRET, scopes: ["openid"] },
  ...{
    groupsClaim: "groups",
    hostScopes: [],
    allowHosts: [],
    redirectSchemes: [],
    accessTokenMs: 600_000,
    lifetimeMs: 86_400_000,
  },
});
const deskWith = (auth: Partial<AuthConfig>, server: Partial<ServerAuthConfig> = {}) =>
  startDesk({ mcpUrl: notes.mcpUrl, auth: { keys: [], requiredScopes: [], ...auth }, server });

/** Presses the button, is `who` at the company, and then `there` at the server's own issuer. */
async function goThrough(browser: Browser, connect: string, who: string, there = who): Promise<Shown> {
  const begun = await browser.press(await browser.open(connect));
  const known = await browser.open(await authorizeAs(begun.headers.get("location") ?? "", who));
  const onward = known.headers.get("location");
  return onward === null ? known : browser.open(await authorizeAs(onward, there));
}

describe("with auth.signIn", () => {
  test("a login at the company comes first, and then the sign-in at the server", async () => {
    const { signIns, vault, counted } = await deskWith({ signIn: signIn() });
    const connect = await signIns.connectUrl("notes", "alice");
    const browser = new Browser();
    expect((await browser.open(connect)).text).toContain("the login of your company says that you are alice");
    // At the server the same person may have another name.
    const page = await goThrough(browser, connect, "alice", "alice-of-notes");
    expect(page.text).toContain("Signed in to notes");
    expect((await vault.read("notes", "alice"))?.tokens).toBeDefined();
    expect((await vault.list()).map(({ server }) => server)).toEqual(["notes"]);
    expect(counted).toEqual(["notes started", "notes finished"]);
  });

  test("another person's login is refused before the server is contacted, and nothing is stored", async () => {
    const { signIns, vault, counted } = await deskWith({ signIn: signIn() });
    const before = notes.events.length;
    const page = await goThrough(new Browser(), await signIns.connectUrl("notes", "alice"), "bob");
    expect(page.status).toBe(403);
    expect(page.text).toContain(`made for alice, and ${company.issuer} identifies you as bob`);
    expect(notes.events.slice(before).filter(({ grant }) => grant !== "registration")).toEqual([]);
    expect(await vault.list()).toEqual([]);
    expect(counted).toEqual(["notes refused"]);
  });

  test("a used or expired link (half an hour) starts nothing", async () => {
    const { signIns, later } = await deskWith({ signIn: signIn() });
    const used = await signIns.connectUrl("notes", "alice");
    await goThrough(new Browser(), used, "alice");
    expect((await new Browser().open(used)).status).toBe(410);
    const old = await signIns.connectUrl("notes", "bob");
    later(1_900_000);
    expect((await new Browser().open(old)).status).toBe(410);
  });

  test("neither half of it continues in another browser", async () => {
    const { signIns, vault } = await deskWith({ signIn: signIn() });
    const [browser, other] = [new Browser(), new Browser()];
    const first = await browser.press(await browser.open(await signIns.connectUrl("notes", "alice")));
    const stolen = await authorizeAs(first.headers.get("location") ?? "", "alice");
    expect((await other.open(stolen)).text).toContain("started in another browser");
    const second = await browser.press(await browser.open(await signIns.connectUrl("notes", "alice")));
    const known = await browser.open(await authorizeAs(second.headers.get("location") ?? "", "alice"));
    const callback = await authorizeAs(known.headers.get("location") ?? "", "bob");
    expect((await other.open(callback)).text).toContain("started in another browser");
    expect(await vault.list()).toEqual([]);
  });

  test("the issuer's response is accepted once", async () => {
    const { signIns } = await deskWith({ signIn: signIn() });
    const browser = new Browser();
    const begun = await browser.press(await browser.open(await signIns.connectUrl("notes", "alice")));
    const callback = await authorizeAs(begun.headers.get("location") ?? "", "alice");
    expect((await browser.open(callback)).status).toBe(303);
    expect((await browser.open(callback)).status).toBe(410);
  });
});

describe("a server with the company's login (auth.idp)", () => {
  const idp = () => ({
    ...{ issuer: company.issuer, clientId: "gateway", clientSecret: SECRET },
    ...{ scopes: ["openid", "offline_access"], subjectToken: "id_token" as const },
  });
  const deskOf = (issuer?: string) => deskWith({ jwt: jwt(issuer) }, { type: "enterprise", idp: idp() });

  test("needs that login, which must name the principal", async () => {
    const { signIns, vault } = await deskOf();
    expect((await goThrough(new Browser(), await signIns.connectUrl("notes", "alice"), "bob")).status).toBe(
      403,
    );
    expect(await vault.list()).toEqual([]);
    expect((await goThrough(new Browser(), await signIns.connectUrl("notes", "alice"), "alice")).status).toBe(
      200,
    );
    expect(await vault.list()).toMatchObject([{ principal: "alice" }]);
  });

  test("is left to an operator if principals are from another issuer", async () => {
    const { signIns } = await deskOf("https://elsewhere.example");
    expect((await new Browser().open(await signIns.connectUrl("notes", "alice"))).status).toBe(403);
  });
});

test.each([
  ["auth.jwt alone names no client there", () => ({ jwt: jwt() }), "alice"],
  [
    "names of two issuers may mean two persons",
    () => ({ jwt: jwt("https://a.example"), signIn: signIn() }),
    "alice",
  ],
  ["no token may claim the id of a host over stdio", () => ({ signIn: signIn() }), "anonymous"],
  [
    "no token may claim the id of a key, which has expired",
    () => ({ signIn: signIn(), keys: [{ id: "alice", digest: "0".repeat(64), groups: [], expiresAt: 1 }] }),
    "alice",
  ],
])("an operator signs in if %s", async (_, auth, principal) => {
  const { signIns, counted } = await deskWith(auth());
  const page = await new Browser().open(await signIns.connectUrl("notes", principal));
  expect(page.status).toBe(403);
  expect(page.text).toContain(`cardea login SERVER --as ${principal}`);
  expect(counted).toEqual([]);
});
