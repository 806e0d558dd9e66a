/** Persons sign in at the page with the login of their company. */
import { afterAll, beforeAll, beforeEach, describe, expect } from "vitest";
import { testOf } from "../../support/features.js";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import { PAGE, PersonsBrowser, servingPersons } from "./stage.js";

/** What persons see depends on rules. */
const test = testOf(PAGE, "policy", "sign-in", "authorization-server");

const ended: (() => Promise<void>)[] = [];
let page: string;
let url: string;
beforeAll(async () => {
  ({ page, url } = await servingPersons({}, { ends: (end) => ended.push(end) }));
});
afterAll(async () => {
  for (const end of ended.reverse()) await end();
});

let browser: PersonsBrowser;
beforeEach(() => {
  browser = new PersonsBrowser();
});

test("a stranger sees how to connect and a button, and nothing of the tools", async () => {
  const { text } = await browser.open(page);
  expect(text).toContain(`claude mcp add --transport http cardea ${url}`);
  expect(text).toMatch(/<button[^>]*value="sign-in"/);
  expect(text).not.toMatch(/wiki|pay__/);
  expect(browser.setCookies).toEqual([]);
});

test("a person sees the own tools only", async () => {
  const alice = await browser.signIn(page, "alice");
  expect(alice.text).toContain("Signed in as <strong>alice</strong>");
  expect(alice.text).toContain("pay__send");
  const bob = await new PersonsBrowser().signIn(page, "bob");
  expect(bob.text).toContain("Signed in as <strong>bob</strong>");
  expect(bob.text).toContain("wiki__read");
  expect(bob.text).not.toContain("pay");
});

test("the cookie cannot be read by scripts or sent by other sites, and has no secret of the issuer", async () => {
  await browser.signIn(page, "alice");
  const session = browser.setCookies.find((line) => line.startsWith("cardea-session="));
  expect(session).toMatch(
    /^cardea-session=[\w-]{43}\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=28800$/,
  );
});

test("a sign-out ends the session everywhere, also for a copy of the cookie", async () => {
  await browser.signIn(page, "alice");
  const copy = new PersonsBrowser();
  for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
  expect((await copy.open(page)).text).toContain("alice");
  const { status, location } = await browser.press(page, { action: "sign-out" });
  expect([status, location]).toEqual([303, "./"]);
  expect(browser.cookies.has("cardea-session")).toBe(false);
  expect((await copy.open(page)).text).not.toContain("alice");
});

test("a session is none of a host: its cookie opens nothing at the endpoint", async () => {
  await browser.signIn(page, "alice");
  const { status } = await browser.open(url, {
    method: "POST",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  });
  expect(status).toBe(401);
});

describe("a cookie that this gateway has not made", () => {
  test.each([
    ["of another session's id", (value: string) => `${"A".repeat(43)}${value.slice(43)}`],
    ["with another signature", (value: string) => `${value.slice(0, 44)}${"A".repeat(43)}`],
    ["without a signature", (value: string) => value.slice(0, 43)],
    ["that is empty", () => ""],
  ])("%s shows nothing", async (_, change) => {
    await browser.signIn(page, "alice");
    browser.cookies.set("cardea-session", change(browser.cookies.get("cardea-session") ?? ""));
    const { status, text } = await browser.open(page);
    expect([status, text.includes("alice")]).toEqual([200, false]);
  });
});

describe("forms of other sites", () => {
  test.each([
    [{ "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
    [{ "sec-fetch-site": "same-site" }],
    [{ origin: "http://127.0.0.1:1" }],
    [{}],
  ])("with %j change nothing", async (headers) => {
    await browser.signIn(page, "alice");
    const { status } = await browser.press(page, { action: "sign-out" }, headers);
    expect(status).toBe(403);
    expect((await browser.open(page)).text).toContain("alice");
  });

  test("a browser without Sec-Fetch-Site is known by its origin", async () => {
    await browser.signIn(page, "alice");
    const { status } = await browser.press(page, { action: "sign-out" }, { origin: new URL(page).origin });
    expect(status).toBe(303);
  });
});

test("a login that was begun in another browser is refused", async () => {
  const begun = await browser.press(page, { action: "sign-in" });
  const other = new PersonsBrowser();
  const { status, text } = await other.open(await authorizeAs(begun.location, "alice"));
  expect(status).toBe(400);
  expect(text).toContain("started in another browser");
  expect(other.cookies.has("cardea-session")).toBe(false);
});

test("a person whom the issuer refuses learns that", async () => {
  const begun = await browser.press(page, { action: "sign-in" });
  const { status, text } = await browser.open(await authorizeAs(begun.location, "nobody"));
  expect(status).toBe(400);
  expect(text).toContain("has refused the sign-in");
});

test("another name of this machine leads to the one to which the issuer sends browsers back", async () => {
  const { status, location } = await browser.open(page.replace("127.0.0.1", "localhost"));
  expect([status, location]).toEqual([303, page]);
});

test.each([
  ["no action", { action: "explode" }],
  ["a server that is not theirs", { action: "connect", server: "pay" }],
])("a form with %s is refused with a page", async (_, fields) => {
  await browser.signIn(page, "bob");
  const { status, headers } = await browser.press(page, fields);
  expect([status, headers.get("content-type")]).toEqual([400, "text/html; charset=utf-8"]);
});

test("eleven sign-ins of a person leave ten sessions", async () => {
  const browsers = Array.from({ length: 11 }, () => new PersonsBrowser());
  for (const each of browsers) await each.signIn(page, "carol");
  const shown = await Promise.all(
    browsers.map(async (each) => (await each.open(page)).text.includes("carol")),
  );
  expect(shown.filter(Boolean)).toHaveLength(10);
});
