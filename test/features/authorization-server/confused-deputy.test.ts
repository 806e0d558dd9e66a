/**
 * "Confused Deputy Problem" of the security best practices (MCP specification): one test for each rule. The gateway has
 * one client id at the company's issuer, which asks a person who is signed in there nothing more; so the gateway asks.
 */
import { describe, expect, test } from "vitest";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import {
  answerIn,
  authorizeUrl,
  Browser,
  hostId,
  REDIRECT,
  realCompany,
  startWorld,
  type World,
} from "./support.js";

const world = (): Promise<World> => startWorld({ company: realCompany });
const cookieNames = (browser: Browser): readonly string[] => [...browser.cookies.keys()];

describe("per-client consent", () => {
  test("is asked before the redirect to the company's issuer", async () => {
    const one = await world();
    const page = await new Browser().open(authorizeUrl(one, { client_id: await hostId(one) }));
    expect(page).toMatchObject({ status: 200, location: undefined });
    expect(page.text).toContain("Allow <b>Test host</b> to act for you?");
  });

  test("is asked again if the person has allowed another host in the same browser", async () => {
    const one = await world();
    const browser = new Browser();
    await browser.signIn(authorizeUrl(one, { client_id: await hostId(one) }), "alice");
    const second = await browser.open(
      authorizeUrl(one, { client_id: await hostId(one, { client_name: "B" }) }),
    );
    expect(second).toMatchObject({ status: 200, location: undefined });
  });

  test("is asked again for the same dynamic registration", async () => {
    const one = await world();
    const browser = new Browser();
    const client_id = await hostId(one);
    await browser.signIn(authorizeUrl(one, { client_id }), "alice");
    const second = await browser.open(authorizeUrl(one, { client_id }));
    expect(second).toMatchObject({ status: 200, location: undefined });
  });

  test("that is denied notifies the host, and sends nothing to the issuer", async () => {
    const one = await world();
    const browser = new Browser();
    const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
    const denied = await browser.decide(page, "deny");
    expect(denied.location?.startsWith(REDIRECT)).toBe(true);
    expect(answerIn(denied)).toMatchObject({
      error: "access_denied",
      state: "state of the host",
      iss: one.url,
    });
  });
});

describe("the consent page", () => {
  test("names the client, the scopes, and the redirect URI", async () => {
    const one = await world();
    const redirect_uri = "https://host.example/callback?a=1";
    const client_id = await hostId(one, { redirect_uris: [redirect_uri] });
    const { text } = await new Browser().open(
      authorizeUrl(one, { client_id, redirect_uri, scope: "db:read db:write" }),
    );
    for (const words of ["Test host", "db:read", "db:write", redirect_uri, one.resource, "host.example"])
      expect(text).toContain(words);
  });

  test("cannot be framed, runs no script, and is not cached", async () => {
    const one = await world();
    const { headers, text } = await new Browser().open(authorizeUrl(one, { client_id: await hostId(one) }));
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(text).not.toMatch(/<script|javascript:|\son\w+=/i);
  });

  test("escapes HTML in a client name", async () => {
    const one = await world();
    const client_name = `<img src=x onerror="alert(1)">'&`;
    const { text } = await new Browser().open(
      authorizeUrl(one, { client_id: await hostId(one, { client_name }) }),
    );
    expect(text).not.toContain("<img");
    expect(text).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;");
  });

  test("accepts a decision only from the browser that received it (CSRF)", async () => {
    const one = await world();
    const page = await new Browser().open(authorizeUrl(one, { client_id: await hostId(one) }));
    const victim = new Browser();
    expect((await victim.decide(page, "allow")).status).toBe(403);
    await victim.open(authorizeUrl(one, { client_id: await hostId(one) }));
    expect(await victim.decide(page, "allow")).toMatchObject({ status: 403, location: undefined });
  });

  test.each([{ origin: "https://evil.example" }, { origin: "null" }, { "sec-fetch-site": "cross-site" }])(
    "accepts no decision from another page: %j",
    async (headers) => {
      const one = await world();
      const browser = new Browser();
      const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
      expect((await browser.decide(page, "allow", headers as never)).status).toBe(403);
    },
  );

  test("accepts no edited decision, and none after ten minutes", async () => {
    const one = await world();
    const browser = new Browser();
    const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
    const edited = page.text.replace(
      /name="request" value="(.)/,
      (_, first) => `name="request" value="${first === "_" ? "-" : "_"}`,
    );
    expect((await browser.decide({ ...page, text: edited }, "allow")).status).toBe(403);
    one.clock.pass(600_000);
    expect(await browser.decide(page, "allow")).toMatchObject({ status: 400, location: undefined });
  });
});

describe("cookies", () => {
  test("over https are bound to the host, sealed, and out of reach of scripts", async () => {
    const one = await startWorld({ company: realCompany, issuer: "https://mcp.example.com" });
    const browser = new Browser();
    const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
    const line = page.headers.getSetCookie()[0];
    expect(line).toMatch(
      /^__Host-cardea-consent=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
    );
    const local = page.text.replace('action="https://mcp.example.com', `action="${one.url}`);
    const allowed = await browser.decide({ ...page, text: local }, "allow");
    const login = allowed.headers.getSetCookie()[0] ?? "";
    expect(login).toMatch(
      /^__Host-cardea-login-[\w-]{16}=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; .*Secure$/,
    );
    expect(Buffer.from(login, "base64url").toString("latin1")).not.toContain("127.0.0.1");
  });

  test("with the state of the login are set only after consent, immediately before the redirect to the issuer", async () => {
    const one = await world();
    const browser = new Browser();
    const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
    expect(cookieNames(browser)).toEqual(["cardea-consent"]);
    const allowed = await browser.decide(page, "allow");
    expect(allowed.location?.startsWith(one.company.issuer)).toBe(true);
    expect(cookieNames(browser).filter((name) => name.startsWith("cardea-login-"))).toHaveLength(1);
  });

  test("of a login name the allowed client: no other client receives the code", async () => {
    const one = await world();
    const browser = new Browser();
    const allowed = await browser.decide(
      await browser.open(authorizeUrl(one, { client_id: await hostId(one) })),
      "allow",
    );
    // Another host's request in the same browser meanwhile changes nothing for the first one.
    const redirect_uri = "https://evil.example/callback";
    const evil = await hostId(one, { redirect_uris: [redirect_uri], client_name: "Evil" });
    await browser.open(authorizeUrl(one, { client_id: evil, redirect_uri }));
    const back = await browser.open(await authorizeAs(allowed.location ?? "", "alice"));
    expect(back.location?.startsWith(REDIRECT)).toBe(true);
  });
});

describe("the redirect URI", () => {
  test.each([
    "https://evil.example/callback",
    "http://127.0.0.1:4711/callback/",
    "http://127.0.0.1:4711/callback?x=1",
    "http://127.0.0.1:4711/CALLBACK",
    "http://127.0.0.1:4711/callback/../callback",
    "http://localhost:4711/callback",
    "http://127.0.0.1.evil.example:4711/callback",
    "http://127.0.0.1:4711@evil.example/callback",
    "https://127.0.0.1:4711/callback",
  ])("must be a registered one: %s is refused without a redirect", async (redirect_uri) => {
    const one = await world();
    const page = await new Browser().open(authorizeUrl(one, { client_id: await hostId(one), redirect_uri }));
    expect(page).toMatchObject({ status: 400, location: undefined });
    expect(page.text).not.toContain('href="');
  });

  test("may have another port on loopback, which native apps choose at each start (RFC 8252)", async () => {
    const one = await world();
    const redirect_uri = "http://127.0.0.1:59999/callback";
    const url = authorizeUrl(one, { client_id: await hostId(one), redirect_uri });
    const page = await new Browser().signIn(url, "alice");
    expect(page.location?.startsWith(`${redirect_uri}?code=`)).toBe(true);
  });
});

describe("state at the issuer", () => {
  async function begun(): Promise<{ one: World; browser: Browser; callback: string }> {
    const one = await world();
    const browser = new Browser();
    const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
    const { location = "" } = await browser.decide(page, "allow");
    return { one, browser, callback: await authorizeAs(location, "alice") };
  }

  test("is random, and new for each login", async () => {
    const one = await world();
    const states: (string | null)[] = [];
    for (let i = 0; i < 2; i++) {
      const browser = new Browser();
      const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
      states.push(new URL((await browser.decide(page, "allow")).location ?? "").searchParams.get("state"));
    }
    expect(new Set(states).size).toBe(2);
    for (const state of states) expect(state).toMatch(/^[\w-]{43}$/);
  });

  test("of another browser is refused, and no code is issued", async () => {
    const { callback } = await begun();
    expect(await new Browser().open(callback)).toMatchObject({ status: 400, location: undefined });
  });

  test("of another login of the same browser is refused", async () => {
    const { one, browser, callback } = await begun();
    const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
    const other =
      new URL((await browser.decide(page, "allow")).location ?? "").searchParams.get("state") ?? "";
    const mixed = new URL(callback);
    mixed.searchParams.set("state", other);
    // The issuer's code belongs to the other login: its verifier and nonce do not fit.
    const { location = "" } = await browser.open(mixed.href);
    expect(location).not.toContain("code=");
  });

  test("that is missing or forged is refused", async () => {
    const { browser, callback } = await begun();
    const without = new URL(callback);
    without.searchParams.delete("state");
    expect(await browser.open(without.href)).toMatchObject({ status: 400, location: undefined });
    without.searchParams.set("state", "made up");
    expect(await browser.open(without.href)).toMatchObject({ status: 400, location: undefined });
  });

  test("is valid once", async () => {
    const { browser, callback } = await begun();
    expect((await browser.open(callback)).location).toContain("code=");
    expect(await browser.open(callback)).toMatchObject({ status: 400, location: undefined });
  });

  test("expires after ten minutes", async () => {
    const { one, browser, callback } = await begun();
    one.clock.pass(600_000);
    expect(await browser.open(callback)).toMatchObject({ status: 400, location: undefined });
  });
});
