/** The page behind a proxy that ends TLS: cookies, the origin of forms and the redirect URI are those of `listen.http.publicUrl`. */
import { afterAll, beforeAll, describe, expect } from "vitest";
import { testOf } from "../../support/features.js";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import { byProxy, PAGE, PersonsBrowser, serving, servingPersons } from "./stage.js";

const test = testOf(PAGE, "policy", "sign-in", "vault", "authorization-server");

const PUBLIC = "https://mcp.example.test";
const HOME = `${PUBLIC}/`;

const ended: (() => Promise<void>)[] = [];
const ends = (end: () => Promise<void>): void => void ended.push(end);
/** Where the gateway listens. */
let origin: string;
beforeAll(async () => {
  const { url } = await servingPersons({}, { publicUrl: PUBLIC, ends });
  origin = new URL(url).origin;
});
afterAll(async () => {
  for (const end of ended.reverse()) await end();
});

/** What proxies make of `Host`: HAProxy passes it on, nginx replaces it unless its config has another value. */
const PROXIES = [
  ["passes Host on", () => ({ host: "mcp.example.test", "x-forwarded-proto": "https" })],
  ["replaces Host by the address of the gateway", () => ({ host: new URL(origin).host })],
] as const;

describe.each(PROXIES)("behind a proxy that %s", (_, headers) => {
  const behind = (): PersonsBrowser => new PersonsBrowser(byProxy([origin], headers()));

  test("the issuer leads back to the public address, and the cookie is bound to https and the host", async () => {
    const browser = behind();
    const begun = await browser.press(HOME, { action: "sign-in" }, { origin: PUBLIC });
    expect(new URL(begun.location).searchParams.get("redirect_uri")).toBe(`${HOME}oauth/authorize/callback`);
    const finished = await browser.open(await authorizeAs(begun.location, "alice"));
    expect(finished.location).toBe(HOME);
    const session = browser.setCookies.find((line) => line.includes("cardea-session="));
    expect(session).toMatch(
      /^__Host-cardea-session=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=28800; Secure$/,
    );
    const { text } = await browser.open(HOME);
    expect(text).toContain("Signed in as <strong>alice</strong>");
    expect(text).toContain(`claude mcp add --transport http cardea ${PUBLIC}/mcp`);
  });

  test.each([{ origin: PUBLIC }, { origin: PUBLIC, "sec-fetch-site": "same-origin" }])(
    "a form of the public address is its own: %j",
    async (sent) => {
      const browser = behind();
      await browser.signIn(HOME, "alice");
      const { status, location } = await browser.press(HOME, { action: "sign-out" }, sent);
      expect([status, location]).toEqual([303, "./"]);
    },
  );

  test.each([
    { origin: "https://evil.example" },
    { origin: "http://mcp.example.test.evil.example" },
    { origin: PUBLIC, "sec-fetch-site": "same-site" },
    { origin: PUBLIC, "sec-fetch-site": "cross-site" },
  ])("a form with %j is refused", async (sent) => {
    const browser = behind();
    await browser.signIn(HOME, "alice");
    expect((await browser.press(HOME, { action: "sign-out" }, sent)).status).toBe(403);
    expect((await browser.open(HOME)).text).toContain("alice");
  });
});

test("a browser that has opened the gateway past the proxy is led to the public address", async () => {
  const { status, text } = await new PersonsBrowser().press(
    `${origin}/`,
    { action: "sign-in" },
    { origin, "sec-fetch-site": "same-origin" },
  );
  expect([status, /href="([^"]+)">Back/.exec(text)?.[1]]).toEqual([409, HOME]);
  expect(text).toContain(`Persons sign in at ${HOME}`);
});

test("without a public URL the page says what is needed", async () => {
  const { url } = await servingPersons({ listen: { http: { port: 0, allowedHosts: ["mcp.example.test"] } } });
  const browser = new PersonsBrowser(byProxy([new URL(url).origin], { host: "mcp.example.test" }));
  const { status, text } = await browser.press(
    HOME,
    { action: "sign-in" },
    { origin: PUBLIC, "sec-fetch-site": "same-origin" },
  );
  expect([status, browser.setCookies]).toEqual([409, []]);
  expect(text).toContain(`sets listen.http.publicUrl to ${PUBLIC}`);
});

test("the address for hosts is the public one, whatever the proxy sends", async () => {
  const listen = { http: { port: 0, publicUrl: `${PUBLIC}/tools` }, admin: { port: 0 } };
  const url = await serving({ listen });
  const { text } = await new PersonsBrowser(byProxy([new URL(url).origin])).open(HOME);
  expect(text).toContain(`cardea ${PUBLIC}/tools/mcp`);
});
