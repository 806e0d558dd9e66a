/** Hosts that register themselves (RFC 7591): what they may register, how often, and how long it is good. */
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../../../src/features/authorization-server/memory-store.js";
import { REGISTRATION_MS } from "../../../src/features/authorization-server/registration.js";
import { RateLimit } from "../../../src/http/rate-limit.js";
import { collectGarbage } from "../../support/heap.js";
import {
  answerIn,
  authorizeUrl,
  Browser,
  hostId,
  REDIRECT,
  registerHost,
  startWorld,
  tokenRequest,
} from "./support.js";

describe("a registration", () => {
  test("creates a public client of the code flow, whatever else the host requests", async () => {
    const one = await startWorld();
    const { status, body, headers } = await registerHost(one, {
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      scope: "admin",
      logo_uri: "https://evil.example/logo.png",
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      client_id: expect.stringMatching(/^cardea\.[\w-]+$/),
      client_id_issued_at: Math.floor(one.clock.now() / 1000),
      client_name: "Test host",
      redirect_uris: [REDIRECT],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("does not outlive the permission of its redirect URI", async () => {
    const store = new MemoryStore(Date.now);
    const redirect_uri = "https://evil.example/cb";
    const client_id = await hostId(await startWorld({ store }), { redirect_uris: [redirect_uri] });
    const later = await startWorld({ store, signIn: { allowedRedirectHosts: ["claude.ai"] } });
    const page = await new Browser().open(authorizeUrl(later, { client_id, redirect_uri }));
    expect(page.status).toBe(400);
    expect(page.text).toContain("redirect_uri is not registered");
  });

  test.each([
    [{ redirect_uris: undefined }, "invalid_redirect_uri"],
    [{ redirect_uris: [] }, "invalid_redirect_uri"],
    [{ redirect_uris: "https://a.example/cb" }, "invalid_redirect_uri"],
    [{ redirect_uris: [7] }, "invalid_redirect_uri"],
    [{ redirect_uris: [REDIRECT, 7] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["http://a.example/cb"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["cursor://anysphere/cb", "http://a.example/cb"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["data:text/html,x"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["cursor://anysphere/cb"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["https://a.example/cb#x"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["https://user@a.example/cb"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["https://a.example/c b"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["/cb"] }, "invalid_redirect_uri"],
    [{ redirect_uris: [`https://a.example/${"x".repeat(1000)}`] }, "invalid_redirect_uri"],
    [
      { redirect_uris: Array.from({ length: 9 }, (_, i) => `https://a.example/${i}${"x".repeat(900)}`) },
      "invalid_redirect_uri",
    ],
    [
      { redirect_uris: Array.from({ length: 17 }, (_, i) => `https://a.example/${i}`) },
      "invalid_redirect_uri",
    ],
    [{ client_name: "a\u202eb" }, "invalid_client_metadata"],
    [{ client_name: "x".repeat(101) }, "invalid_client_metadata"],
    [{ grant_types: ["client_credentials"] }, "invalid_client_metadata"],
    [{ response_types: ["token"] }, "invalid_client_metadata"],
  ])("with %j is refused", async (metadata, error) => {
    const { status, body } = await registerHost(await startWorld(), metadata);
    expect({ status, error: body.error }).toEqual({ status: 400, error });
  });

  test("allows only the configured websites and loopback", async () => {
    const one = await startWorld({ signIn: { allowedRedirectHosts: ["claude.ai"] } });
    const refused = await registerHost(one, { redirect_uris: ["https://evil.example/cb"] });
    expect(refused.body.error_description).toContain("evil.example");
    expect((await registerHost(one, { redirect_uris: ["https://claude.ai/cb", REDIRECT] })).status).toBe(201);
  });

  test.each([
    ["application/x-www-form-urlencoded", "a=b", 415],
    ["application/json", "{", 400],
    ["application/json", "[]", 400],
    ["application/json", JSON.stringify({ x: "x".repeat(40_000) }), 413],
  ])("with content type %s %s is refused", async (type, body, status) => {
    const { url } = await startWorld();
    const headers = { "content-type": type };
    expect((await fetch(`${url}/oauth/register`, { method: "POST", headers, body })).status).toBe(status);
  });

  test("of 10 MB is refused before it is read", async () => {
    const { url } = await startWorld();
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "x".repeat(10_000_000),
    };
    expect((await fetch(`${url}/oauth/register`, init)).status).toBe(413);
  });

  test("that is refused is rate limited to 20 a minute per address, and hinders no other", async () => {
    const one = await startWorld();
    const empty = () => registerHost(one, { redirect_uris: [] });
    for (let i = 0; i < 20; i++) expect((await empty()).status).toBe(400);
    const refused = await empty();
    expect(refused).toMatchObject({ status: 429, body: { error: "temporarily_unavailable" } });
    expect(refused.headers.get("retry-after")).toBe("60");
    for (let i = 0; i < 30; i++) expect((await registerHost(one)).status).toBe(201);
    one.clock.pass(60_000);
    expect((await empty()).status).toBe(400);
  });

  test("expires: the host must register again, and gets no token", async () => {
    const one = await startWorld();
    const client_id = await hostId(one);
    one.clock.pass(REGISTRATION_MS - 1);
    expect((await new Browser().open(authorizeUrl(one, { client_id }))).status).toBe(200);
    one.clock.pass(1);
    const page = await new Browser().open(authorizeUrl(one, { client_id }));
    expect(answerIn(page)).toMatchObject({ error: "unauthorized_client", state: "state of the host" });
    const { status, body } = await tokenRequest(one, {
      client_id,
      grant_type: "refresh_token",
      refresh_token: "x",
    });
    expect({ status, error: body.error }).toEqual({ status: 401, error: "invalid_client" });
  });

  test("of another gateway, or forged, is unknown", async () => {
    const one = await startWorld();
    const foreign = await hostId(await startWorld());
    const own = await hostId(one);
    const at = own.length - 5;
    const edited = `${own.slice(0, at)}${own[at] === "A" ? "B" : "A"}${own.slice(at + 1)}`;
    for (const client_id of [foreign, edited, "cardea.", "cardea.AAAA", "x", `cardea.${"A".repeat(5000)}`]) {
      const page = await new Browser().open(authorizeUrl(one, { client_id }));
      expect(page).toMatchObject({ status: 401, location: undefined });
    }
  });
});

describe("rate limits of unauthenticated clients", () => {
  test("count each address separately, and all together", () => {
    let at = 0;
    const limit = new RateLimit({ perKey: 2, total: 3, now: () => at });
    expect([limit.take("a"), limit.take("a"), limit.take("b")]).toEqual([undefined, undefined, undefined]);
    expect([limit.take("a"), limit.take("c")]).toEqual([60, 60]);
    at = 59_500;
    expect(limit.take("c")).toBe(1);
    at = 60_000;
    expect([limit.take("a"), limit.take("c")]).toEqual([undefined, undefined]);
  });

  test("use bounded memory for any number of addresses", () => {
    const limit = new RateLimit({ perKey: 1, total: 1_000_000, now: () => 0 });
    for (let i = 0; i < 20_000; i++) limit.take(`address ${i}`);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 200_000; i++) limit.take(`another ${i}`);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(4 * 1024 * 1024);
  });
});
