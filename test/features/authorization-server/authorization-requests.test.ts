/** Requests that open the consent page, and those that must not: bad input at the front door. */
import { describe, expect, test } from "vitest";
import {
  answerIn,
  authorizeUrl,
  Browser,
  hostId,
  REDIRECT,
  startWorld,
  tokenRequest,
  type World,
} from "./support.js";

const open = (url: string) => new Browser().open(url);

describe("the metadata", () => {
  test("name every endpoint below the issuer, and what hosts must know", async () => {
    const one = await startWorld();
    const found = await (await fetch(`${one.url}/.well-known/oauth-authorization-server`)).json();
    expect(found).toEqual({
      issuer: one.url,
      authorization_endpoint: `${one.url}/oauth/authorize`,
      token_endpoint: `${one.url}/oauth/token`,
      registration_endpoint: `${one.url}/oauth/register`,
      revocation_endpoint: `${one.url}/oauth/revoke`,
      jwks_uri: `${one.url}/oauth/jwks`,
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      token_endpoint_auth_methods_supported: ["none"],
      revocation_endpoint_auth_methods_supported: ["none"],
      code_challenge_methods_supported: ["S256"],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
      scopes_supported: ["db:read", "db:write"],
    });
  });

  test("of an issuer with a path are at the path form too, and at no other path", async () => {
    const one = await startWorld({ issuer: "https://mcp.example.com/gateway" });
    const at = (path: string) => fetch(`${one.url}/.well-known/oauth-authorization-server${path}`);
    expect((await at("/gateway")).status).toBe(200);
    expect((await at("")).status).toBe(200);
    expect((await at("/other")).status).toBe(404);
  });
});

describe("an authorization request", () => {
  const toHost: readonly (readonly [string, Record<string, string | undefined>, string])[] = [
    ["another response type", { response_type: "token" }, "unsupported_response_type"],
    ["no response type", { response_type: undefined }, "invalid_request"],
    ["a fragment as response mode", { response_mode: "fragment" }, "invalid_request"],
    ["no PKCE", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["plain PKCE", { code_challenge_method: "plain" }, "invalid_request"],
    ["no PKCE method, which means plain", { code_challenge_method: undefined }, "invalid_request"],
    ["no digest as challenge", { code_challenge: "short" }, "invalid_request"],
    ["another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    [
      "the resource of another gateway on this machine",
      { resource: "http://127.0.0.1:1/mcp" },
      "invalid_target",
    ],
    ["a resource with a query", { resource: "http://127.0.0.1/mcp?x" }, "invalid_target"],
    ["what is no URL as resource", { resource: "mcp" }, "invalid_target"],
    ["a request object", { request: "eyJ" }, "invalid_request"],
    ["the wish to show no page", { prompt: "none" }, "consent_required"],
  ];

  test.each(toHost)("with %s redirects the error to a loopback host", async (_, wrong, error) => {
    const one = await startWorld();
    const page = await open(authorizeUrl(one, { client_id: await hostId(one), ...wrong }));
    expect(page.location?.startsWith(`${REDIRECT}?`)).toBe(true);
    expect(answerIn(page)).toMatchObject({ error, state: "state of the host", iss: one.url });
  });

  test.each(toHost)(
    "with %s redirects no browser to a website of an unknown registration (open redirect)",
    async (_, wrong) => {
      const one = await startWorld();
      const redirect_uri = "https://evil.example/phish";
      const client_id = await hostId(one, { redirect_uris: [redirect_uri] });
      const page = await open(authorizeUrl(one, { client_id, redirect_uri, ...wrong }));
      expect(page).toMatchObject({ status: 400, location: undefined });
      expect(page.text).toContain("evil.example");
      expect(page.text).not.toContain("http-equiv");
    },
  );

  test("that is refused redirects to a website that the config allows", async () => {
    const one = await startWorld({ signIn: { allowedRedirectHosts: ["claude.ai"] } });
    const redirect_uri = "https://claude.ai/callback?a=1";
    const client_id = await hostId(one, { redirect_uris: [redirect_uri] });
    const page = await open(
      authorizeUrl(one, { client_id, redirect_uri, resource: "https://other.example" }),
    );
    expect(page.location?.startsWith(`${redirect_uri}&error=invalid_target`)).toBe(true);
  });

  test.each([
    ["client_id", "https://x"],
    ["redirect_uri", "https://evil.example"],
    ["scope", "db:write"],
    ["resource", "https://other.example"],
  ])("with a repeated %s is refused on a page", async (name, value) => {
    const one = await startWorld();
    const url = authorizeUrl(one, { client_id: await hostId(one), scope: "db:read" });
    const page = await open(`${url}&${name}=${encodeURIComponent(value)}`);
    expect(page).toMatchObject({ status: 400, location: undefined });
    expect(page.text).toContain(`${name} is repeated`);
  });

  test("without a client or a redirect URI is refused on a page", async () => {
    const one = await startWorld();
    expect((await open(`${one.url}/oauth/authorize`)).status).toBe(400);
    const url = authorizeUrl(one, { client_id: await hostId(one), redirect_uri: undefined });
    expect(await open(url)).toMatchObject({ status: 400, location: undefined });
  });

  test("with a state that would not fit into a cookie is refused, and the state is not sent back", async () => {
    const one = await startWorld();
    const client_id = await hostId(one);
    for (const state of ["x".repeat(1_001), "ümlaut", "line\nbreak"]) {
      const answer = answerIn(await open(authorizeUrl(one, { client_id, state })));
      expect(answer).toMatchObject({ error: "invalid_request" });
      expect(answer).not.toHaveProperty("state");
    }
  });

  test("with the longest values still has a cookie within browser limits", async () => {
    const one = await startWorld({ company: async () => fakeDiscovery() });
    const redirect_uri = `https://host.example/${"x".repeat(970)}`;
    const client_id = await hostId(one, {
      redirect_uris: [redirect_uri],
      client_name: "\u{1f600}".repeat(50),
    });
    const browser = new Browser();
    const url = authorizeUrl(one, {
      client_id,
      redirect_uri,
      state: "s".repeat(1_000),
      scope: "db:read db:write",
      resource: `${one.resource}/${"n".repeat(200)}`,
    });
    const allowed = await browser.decide(await browser.open(url), "allow");
    expect(allowed.status).toBe(303);
    const [line = ""] = allowed.headers.getSetCookie();
    expect(line.split(";")[0]?.length).toBeLessThan(4096);
  });
});

test("endpoints accept only their methods", async () => {
  const { url } = await startWorld();
  for (const [path, method, allow] of [
    ["token", "GET", "POST"],
    ["register", "GET", "POST"],
    ["revoke", "PUT", "POST"],
    ["jwks", "POST", "GET"],
    ["authorize", "DELETE", "GET, POST"],
    ["authorize/callback", "POST", "GET"],
  ] as const) {
    const response = await fetch(`${url}/oauth/${path}`, { method });
    expect([path, response.status, response.headers.get("allow")]).toEqual([path, 405, allow]);
  }
});

describe("a token request", () => {
  const ask = async (one: World, form: Record<string, string>) => (await tokenRequest(one, form)).body;

  test("reports missing parameters", async () => {
    const one = await startWorld();
    const client_id = await hostId(one);
    const code = { grant_type: "authorization_code", client_id };
    expect(await ask(one, {})).toMatchObject({ error_description: "client_id is missing" });
    expect(await ask(one, { client_id })).toMatchObject({ error_description: "grant_type is missing" });
    expect(await ask(one, code)).toMatchObject({ error_description: "code is missing" });
    expect(await ask(one, { ...code, code: "x" })).toMatchObject({
      error_description: "redirect_uri is missing",
    });
    expect(await ask(one, { ...code, code: "x", redirect_uri: REDIRECT })).toMatchObject({
      error_description: "code_verifier is missing",
    });
  });

  test("as JSON is refused", async () => {
    const { url } = await startWorld();
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await fetch(`${url}/oauth/token`, init)).status).toBe(415);
  });

  test("is rate limited per address", async () => {
    const one = await startWorld();
    const client_id = await hostId(one);
    let last = 0;
    for (let i = 0; i <= 300; i++) last = (await tokenRequest(one, { client_id })).status;
    expect(last).toBe(429);
  });
});

/** An issuer of which only the metadata are asked. */
async function fakeDiscovery(): Promise<{ readonly issuer: string }> {
  const { hostileCompany } = await import("./hostile-company.js");
  return hostileCompany();
}
