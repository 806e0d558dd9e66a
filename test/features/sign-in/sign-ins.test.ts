/**
 * A person signs in at a real authorization server, through the pages of the gateway or a command; and attacks on that.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Browser } from "../../support/sign-in/browser.js";
import { approveDeviceAs, authorizeAs } from "../../support/sign-in/person.mjs";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { until } from "../../support/until.js";
import { startDesk } from "./sign-in-desk.js";

let issuer: RealIssuer;
beforeAll(async () => {
  issuer = await startRealIssuer();
});
afterAll(() => issuer.close());

const KEY = "the-key-of-alice-0123456789";
const AUTH = {
  keys: [{ id: "alice", digest: createHash("sha256").update(KEY).digest("hex"), groups: [] }],
  requiredScopes: [],
};
const desk = (options: Partial<Parameters<typeof startDesk>[0]> = {}) =>
  startDesk({ mcpUrl: issuer.mcpUrl, ...options });
type Desk = Awaited<ReturnType<typeof desk>>;
const tokensOf = async ({ vault }: Desk, principal: string) => (await vault.read("notes", principal))?.tokens;

describe("the connect page", () => {
  test("names server, issuer, scopes, client, principal and redirect URI, and has one button", async () => {
    const { signIns, url } = await desk();
    const page = await new Browser().open(await signIns.connectUrl("notes", "anonymous"));
    expect(page.status).toBe(200);
    for (const named of ["notes", issuer.issuer, "anonymous", "<code>read</code>", `${url}/oauth/callback`]) {
      expect(page.text).toContain(named);
    }
    expect(page.text.match(/<button/g)).toHaveLength(1);
    expect(page.text).toContain('<button type="submit">');
    expect(page.text).not.toContain("<script");
  });

  test("cannot be framed or cached, and sends no Referer", async () => {
    const { signIns } = await desk();
    const { headers } = await new Browser().open(await signIns.connectUrl("notes", "anonymous"));
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("has only a random ticket in its URL", async () => {
    const { signIns, url } = await desk();
    const connect = await signIns.connectUrl("notes", "alice@example.com");
    expect(connect.slice(url.length)).toMatch(/^\/oauth\/connect\/[\w-]{32}$/);
    expect(await signIns.connectUrl("notes", "alice@example.com")).toBe(connect);
    expect(await signIns.connectUrl("notes", "bob")).not.toBe(connect);
  });

  test("starts nothing and sets no sign-in cookie before its button is pressed", async () => {
    const { signIns, counted } = await desk();
    const browser = new Browser();
    await browser.open(await signIns.connectUrl("notes", "anonymous"));
    expect(counted).toEqual([]);
    expect([...browser.cookies.keys()]).toEqual(["cardea-connect"]);
  });

  test("escapes text of the server", async () => {
    const { signIns } = await desk({ server: { scopes: ["<img src=x>"] } });
    const page = await new Browser().open(await signIns.connectUrl("notes", "<b>eve</b>"));
    expect(page.text).not.toContain("<img");
    expect(page.text).not.toContain("<b>");
    expect(page.text).toContain("&lt;b&gt;eve");
  });

  test("sets __Host- cookies over https", async () => {
    const { signIns, url } = await desk({ baseUrl: "https://gw.example.com" });
    const connect = await signIns.connectUrl("notes", "anonymous");
    const browser = new Browser();
    await browser.open(connect.replace("https://gw.example.com", url));
    expect(browser.setCookies[0]).toMatch(
      /^__Host-cardea-connect=.*; Path=\/; .*HttpOnly; SameSite=Lax; Secure$/,
    );
  });

  test("is spent when its button is pressed, and expires after half an hour", async () => {
    const { signIns, later } = await desk();
    const browser = new Browser();
    const connect = await signIns.connectUrl("notes", "anonymous");
    const page = await browser.open(connect);
    expect((await browser.press(page)).status).toBe(303);
    const again = await browser.press(page);
    expect(again.status).toBe(410);
    expect(again.text).toContain("was used before");
    const next = await signIns.connectUrl("notes", "anonymous");
    expect(next).not.toBe(connect);
    later(1_900_000);
    expect((await browser.open(next)).status).toBe(410);
  });

  test("refuses a form from another page (CSRF)", async () => {
    const { signIns, counted } = await desk();
    const connect = await signIns.connectUrl("notes", "anonymous");
    const victim = new Browser();
    const forged = { ...(await new Browser().open(connect)) };
    expect((await victim.press(forged)).status).toBe(403);
    await victim.open(connect);
    expect((await victim.press({ ...forged, text: "" }, { csrf: "guessed" })).status).toBe(403);
    expect((await victim.press(forged)).status).toBe(403);
    expect(counted).toEqual([]);
  });

  test("is not served if the gateway serves other machines without credentials", async () => {
    const { signIns } = await desk({ host: "0.0.0.0" });
    const page = await new Browser().open(await signIns.connectUrl("notes", "anonymous"));
    expect(page.status).toBe(403);
    expect(page.text).toContain("cardea login");
  });

  test("is not offered for a server with one sign-in for all", async () => {
    const { signIns } = await desk({ server: { as: "shared" } });
    await expect(signIns.connectUrl("notes", "alice")).rejects.toThrow(
      'its operator signs in with "cardea login notes"',
    );
  });
});

describe("a sign-in", () => {
  test("on loopback ends with tokens in the vault that the server accepts", async () => {
    const place = await desk();
    const page = await new Browser().signIn(await place.signIns.connectUrl("notes", "anonymous"), "ann");
    expect(page.text).toContain("Signed in to notes");
    const tokens = await tokensOf(place, "anonymous");
    const answer = await fetch(issuer.mcpUrl, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens?.accessToken}`, "content-type": "application/json" },
      body: "{}",
    });
    expect(answer.status).not.toBe(401);
    expect(tokens?.refreshToken).toBeDefined();
    expect(place.counted).toEqual(["notes started", "notes finished"]);
  });

  test("shows no token, code, verifier or ticket in log lines, pages or file names", async () => {
    const place = await desk();
    const connect = await place.signIns.connectUrl("notes", "anonymous");
    const page = await new Browser().signIn(connect, "ann");
    const tokens = await tokensOf(place, "anonymous");
    const secrets = [tokens?.accessToken, tokens?.refreshToken, connect.split("/").at(-1)].map(String);
    const names = readdirSync(join(place.state, "sign-ins"));
    for (const secret of secrets) {
      expect([...place.lines, page.text, ...names].join("\n")).not.toContain(secret);
    }
    expect(place.lines.join("\n")).toContain("signed in at notes");
  });

  test("seals its progress, readable for this user only", async () => {
    const place = await desk();
    const { url } = await place.signIns.begin("notes", "anonymous");
    const folder = join(place.state, "sign-ins");
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(folder, name), "latin1")).not.toContain(
        String(new URL(url).searchParams.get("state")),
      );
      expect(readFileSync(join(folder, name), "latin1")).not.toContain("notes");
    }
  });

  test("can be finished by another worker", async () => {
    const one = await desk();
    const two = await desk({ state: one.state, baseUrl: one.url });
    const browser = new Browser();
    const started = await browser.press(
      await browser.open(await one.signIns.connectUrl("notes", "anonymous")),
    );
    const callback = await authorizeAs(String(started.headers.get("location")), "ann");
    const page = await browser.open(callback.replace(one.url, two.url));
    expect(page.text).toContain("Signed in to notes");
    expect(await tokensOf(one, "anonymous")).toBeDefined();
  });

  test("does not continue in another browser", async () => {
    const place = await desk();
    const browser = new Browser();
    const started = await browser.press(
      await browser.open(await place.signIns.connectUrl("notes", "anonymous")),
    );
    const callback = await authorizeAs(String(started.headers.get("location")), "ann");
    const other = await new Browser().open(callback);
    expect(other.status).toBe(403);
    expect(other.text).toContain("started in another browser");
    expect((await browser.open(callback)).status).toBe(410);
    expect(await tokensOf(place, "anonymous")).toBeUndefined();
    expect(place.counted).toContain("notes refused");
  });

  test("accepts a callback once, and none that is unknown or older than ten minutes", async () => {
    const place = await desk();
    const { url } = await place.signIns.begin("notes", "anonymous");
    const callback = await authorizeAs(url, "ann");
    expect((await new Browser().open(callback)).status).toBe(200);
    expect((await new Browser().open(callback)).status).toBe(410);
    const late = await authorizeAs((await place.signIns.begin("notes", "anonymous")).url, "ann");
    place.later(600_001);
    expect((await new Browser().open(late)).status).toBe(410);
    expect((await new Browser().open(`${place.url}/oauth/callback?state=made-up&code=1`)).status).toBe(410);
    expect((await new Browser().open(`${place.url}/oauth/callback`)).status).toBe(410);
  });

  test("does not use a code that comes with another issuer, and repeats nothing of it", async () => {
    const place = await desk();
    const { url, login } = await place.signIns.begin("notes", "anonymous");
    const callback = new URL(await authorizeAs(url, "ann"));
    callback.searchParams.set("iss", "https://evil.example");
    const page = await new Browser().open(callback.href);
    expect(page.status).toBe(400);
    expect(page.text).not.toContain("evil.example");
    expect(await place.signIns.state(login)).toMatchObject({ state: "failed" });
    expect(await tokensOf(place, "anonymous")).toBeUndefined();
  });

  test("reports that the person denied it", async () => {
    const place = await desk();
    const page = await new Browser().signIn(await place.signIns.connectUrl("notes", "anonymous"), "nobody");
    expect(page.status).toBe(403);
    expect(page.text).toContain("the person said no");
  });

  test("requests the union of scopes at a step-up, and counts it as one", async () => {
    const place = await desk({ server: { scopes: ["read"] } });
    await new Browser().signIn(await place.signIns.connectUrl("notes", "anonymous"), "ann");
    const challenge = 'Bearer error="insufficient_scope", scope="admin"';
    const connect = await place.signIns.connectUrl("notes", "anonymous", { challenge });
    await new Browser().signIn(connect, "ann");
    const credential = await place.vault.read("notes", "anonymous");
    expect(credential?.askedScopes).toEqual(expect.arrayContaining(["read", "admin"]));
    expect(credential?.tokens?.scope?.split(" ")).toEqual(expect.arrayContaining(["read", "admin"]));
    expect(credential?.generation).toBe(2);
    expect(place.counted).toContain("notes stepped_up");
  });

  test("is offered three times for the same scopes, and again ten minutes later", async () => {
    const { signIns, later } = await desk();
    for (let at = 0; at < 3; at += 1)
      await new Browser().signIn(await signIns.connectUrl("notes", "anonymous"), "ann");
    const refused = signIns.connectUrl("notes", "anonymous");
    await expect(refused).rejects.toThrow("several with the same permissions");
    await expect(signIns.connectUrl("notes", "bob")).resolves.toContain("/oauth/connect/");
    later(600_001);
    await expect(signIns.connectUrl("notes", "anonymous")).resolves.toContain("/oauth/connect/");
  });

  test("is offered again after a sign-out, and for new scopes", async () => {
    const lacked: string[] = [];
    const { signIns } = await desk({ server: { scopes: ["read"] }, lackedScopes: () => lacked });
    const signIn = async () => new Browser().signIn(await signIns.connectUrl("notes", "anonymous"), "ann");
    for (let at = 0; at < 3; at += 1) await signIn();
    lacked.push("admin");
    expect((await signIn()).text).toContain("Signed in to notes");
    for (let at = 0; at < 2; at += 1) await signIn();
    await expect(signIn()).rejects.toThrow("several with the same permissions");
    await signIns.signOut("notes", "anonymous");
    expect((await signIn()).text).toContain("Signed in to notes");
  });
});

test("counts the quirks of a server with each successful sign-in, by their config names", async () => {
  const quirks = { issuerSlash: true, assumeS256: true, noResource: false, clientName: "Notes" };
  const place = await desk({ server: { quirks } });
  await new Browser().signIn(await place.signIns.connectUrl("notes", "anonymous"), "nobody");
  expect(place.counted.filter((line) => line.includes(" with "))).toEqual([]);
  await new Browser().signIn(await place.signIns.connectUrl("notes", "anonymous"), "ann");
  expect(place.counted.filter((line) => line.includes(" with "))).toEqual([
    "notes with issuer-slash",
    "notes with assume-s256",
    "notes with client-name",
  ]);
});

describe("the person at the browser", () => {
  test("is identified by a key of the principal", async () => {
    const place = await desk({ auth: AUTH });
    const page = await new Browser().signIn(await place.signIns.connectUrl("notes", "alice"), "ann", {
      key: KEY,
    });
    expect(page.text).toContain("Signed in to notes");
    expect(await tokensOf(place, "alice")).toBeDefined();
  });

  test("is not identified by a wrong key, with five attempts", async () => {
    const place = await desk({ auth: AUTH });
    const connect = await place.signIns.connectUrl("notes", "alice");
    const browser = new Browser();
    const page = await browser.open(connect);
    for (let at = 0; at < 5; at += 1) expect((await browser.press(page, { key: "guess" })).status).toBe(403);
    expect((await browser.press(page, { key: KEY })).status).toBe(410);
  });

  test("cannot be identified without a key of the principal in the config: an operator signs it in", async () => {
    const place = await desk({ auth: AUTH });
    const page = await new Browser().open(await place.signIns.connectUrl("notes", "bob"));
    expect(page.status).toBe(403);
    expect(page.text).toContain("cardea login SERVER --as bob");
    expect(page.text).not.toContain("<form");
  });
});

describe("a command", () => {
  test("finishes with a pasted callback URL", async () => {
    const place = await desk();
    const begun = await place.signIns.begin("notes", "anonymous");
    expect(await place.signIns.state(begun.login)).toMatchObject({ state: "waiting" });
    const other = await place.signIns.begin("notes", "anonymous");
    const callback = await authorizeAs(begun.url, "ann");
    await expect(place.signIns.pasted(other.login, callback)).rejects.toThrow("another sign-in");
    await expect(place.signIns.pasted(begun.login, "nonsense")).rejects.toThrow("not a URL");
    await place.signIns.pasted(begun.login, callback);
    expect(await place.signIns.state(begun.login)).toMatchObject({ state: "done" });
    expect(await tokensOf(place, "anonymous")).toBeDefined();
  });

  test("signs in with the device grant", async () => {
    const place = await desk();
    const begun = await place.signIns.begin("notes", "anonymous", { device: true });
    expect(begun.userCode).toBeDefined();
    await approveDeviceAs(begun.url, "ann");
    await until("the end of the device sign-in", async () => {
      place.poll();
      return (await place.signIns.state(begun.login))?.state === "done";
    });
    expect((await place.vault.read("notes", "anonymous"))?.grant).toBe("device_code");
  });

  test("signs two principals in, each with its own tokens", async () => {
    const place = await desk();
    for (const who of ["alice", "bob"]) {
      const { login, url } = await place.signIns.begin("notes", who);
      await place.signIns.pasted(login, await authorizeAs(url, who));
    }
    const [alice, bob] = await Promise.all(["alice", "bob"].map((who) => tokensOf(place, who)));
    expect(alice?.accessToken).not.toBe(bob?.accessToken);
    expect(await place.signIns.logins()).toMatchObject([
      { server: "notes", principal: "alice", state: "signed_in", issuer: issuer.issuer, isRenewed: true },
      { server: "notes", principal: "bob", state: "signed_in" },
    ]);
    expect(JSON.stringify(await place.signIns.logins())).not.toContain(String(alice?.accessToken));
  });

  test("signs out: the tokens are revoked and deleted", async () => {
    const place = await desk();
    const { login, url } = await place.signIns.begin("notes", "anonymous");
    await place.signIns.pasted(login, await authorizeAs(url, "ann"));
    expect(await place.signIns.signOut("notes", "anonymous")).toEqual({ wasSignedIn: true, isRevoked: true });
    expect(await place.vault.read("notes", "anonymous")).toBeUndefined();
    expect(await place.signIns.signOut("notes", "anonymous")).toEqual({
      wasSignedIn: false,
      isRevoked: false,
    });
    expect(place.counted.at(-1)).toBe("notes signed_out");
  });
});
