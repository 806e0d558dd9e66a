/** A person signs in and out at servers by the page. */
import { expect, onTestFinished } from "vitest";
import { testOf } from "../../support/features.js";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { PAGE, PersonsBrowser, serving, servingPersons } from "./stage.js";

const test = testOf(PAGE, "policy", "sign-in", "vault", "authorization-server");

async function notesServer(): Promise<RealIssuer> {
  const notes = await startRealIssuer();
  onTestFinished(() => notes.close());
  return notes;
}

/** Where the last page of a sign-in leads. */
const linkIn = (text: string): string | undefined => /<a class="button main" href="([^"]+)"/.exec(text)?.[1];

/** From the button of the page to the end of the sign-in, as `person`. */
async function connect(browser: PersonsBrowser, page: string, person: string, query = ""): Promise<string> {
  const begun = await browser.press(page, { action: "connect", server: "notes" });
  const location = query === "" ? begun.location : `${begun.location}?${query}`;
  expect(location).toContain("/oauth/connect/");
  const form = await browser.open(location);
  const csrf = /name="csrf" value="([^"]+)"/.exec(form.text)?.[1] ?? "";
  let at = await browser.press(location, { csrf });
  // The login of the company comes first, where there is one.
  while (at.location !== "") {
    const callback = await authorizeAs(at.location, person);
    at = await browser.open(query === "" ? callback : `${callback}&${query}`);
  }
  return at.text;
}

test("one person signs in at a server, uses it and signs out; another stays signed out", async () => {
  const notes = await notesServer();
  const { page } = await servingPersons({ mcpServers: { notes: { url: notes.mcpUrl } } });
  const [alice, carol] = [new PersonsBrowser(), new PersonsBrowser()];
  const first = await alice.signIn(page, "alice");
  expect(first.text).toMatch(/notes <span class="badge warn">not signed in/);
  expect(first.text).not.toContain("notes__whoami");
  const last = await connect(alice, page, "alice");
  expect(last).toContain("Signed in to notes");
  expect(linkIn(last)).toBe(page);
  await expect.poll(async () => (await alice.open(page)).text).toContain("notes__whoami");
  expect((await alice.open(page)).text).toMatch(/notes <span class="badge good">signed in/);
  const other = await carol.signIn(page, "carol");
  expect(other.text).toMatch(/notes <span class="badge warn">not signed in/);
  expect(other.text).not.toContain("notes__whoami");
  await carol.press(page, { action: "disconnect", server: "notes" });
  expect((await alice.open(page)).text).toMatch(/badge good">signed in/);
  expect((await alice.press(page, { action: "disconnect", server: "notes" })).location).toBe("./");
  await expect.poll(async () => (await alice.open(page)).text).toMatch(/notes <span class="badge warn">/);
}, 60_000);

test("a server that rules hide from a person is not among the sign-ins", async () => {
  const notes = await notesServer();
  const rules = [{ servers: ["notes"], principals: ["bob"], effect: "hide" }];
  const { page } = await servingPersons({
    mcpServers: { notes: { url: notes.mcpUrl } },
    policy: { rules },
  });
  const bob = new PersonsBrowser();
  expect((await bob.signIn(page, "bob")).text).not.toContain("notes");
  const { status } = await bob.press(page, { action: "connect", server: "notes" });
  expect(status).toBe(400);
});

test("the person at a gateway without credentials signs in at its servers too", async () => {
  const notes = await notesServer();
  const page = new URL("/", await serving({ mcpServers: { notes: { url: notes.mcpUrl } } })).href;
  const browser = new PersonsBrowser();
  expect((await browser.open(page)).text).toMatch(/notes <span class="badge warn">not signed in/);
  expect(await connect(browser, page, "ann")).toContain("Signed in to notes");
  await expect.poll(async () => (await browser.open(page)).text).toContain("notes__whoami");
});

test("a person whom the server's login refuses is led back to the page too", async () => {
  const notes = await notesServer();
  const page = new URL("/", await serving({ mcpServers: { notes: { url: notes.mcpUrl } } })).href;
  const last = await connect(new PersonsBrowser(), page, "nobody");
  expect(last).toContain("did not sign you in to notes");
  expect(linkIn(last)).toBe(page);
});

test.each(["back", "return_to", "redirect_uri"])(
  "no parameter of an address leads elsewhere: %s",
  async (name) => {
    const notes = await notesServer();
    const page = new URL("/", await serving({ mcpServers: { notes: { url: notes.mcpUrl } } })).href;
    const browser = new PersonsBrowser();
    const elsewhere = `${name}=${encodeURIComponent("https://evil.example/")}`;
    const last = await connect(browser, page, "ann", elsewhere);
    expect(last).toContain("Signed in to notes");
    expect(linkIn(last)).toBe(page);
    expect(last).not.toContain("evil");
  },
);
