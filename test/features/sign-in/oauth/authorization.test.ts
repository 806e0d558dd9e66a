/** The URL that the browser opens, and what it may bring back. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  authorizationRequest,
  authorizationResponse,
  type PendingAuthorization,
} from "../../../../src/features/sign-in/oauth/client.js";
import type { Quirks } from "../../../../src/features/sign-in/types.js";
import type { ClientRegistration } from "../../../../src/features/vault/types.js";
import { adversarialServer } from "../../../support/sign-in/adversarial-server.js";
import { REDIRECT_URI, redeem, signIn, tokensOf } from "./support.js";

const ISSUER = "https://as.example.com";
const CLIENT: ClientRegistration = { clientId: "me", tokenEndpointAuthMethod: "none", source: "config" };

interface Asking {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly quirks?: Quirks;
  readonly scopes?: readonly string[];
  readonly redirectUri?: string;
  readonly wantsIdToken?: boolean;
}

function ask({ metadata = {}, scopes = ["read"], redirectUri = REDIRECT_URI, ...more }: Asking = {}) {
  return authorizationRequest({
    discovered: {
      resource: "https://mcp.example.com/mcp",
      authorizationServer: {
        issuer: ISSUER,
        metadata: {
          issuer: ISSUER,
          authorization_endpoint: `${ISSUER}/authorize?tenant=1`,
          code_challenge_methods_supported: ["S256"],
          ...metadata,
        },
      },
      scopes: [],
    },
    client: CLIENT,
    redirectUri,
    scopes,
    ...more,
  });
}
const query = async (asking: Asking = {}) => new URL((await ask(asking)).url).searchParams;

describe("an authorization request", () => {
  test("has PKCE with S256, a state, and the resource; the issuer is stored with them", async () => {
    const { url, pending } = await ask();
    const { origin, pathname, searchParams } = new URL(url);
    expect(`${origin}${pathname}`).toBe(`${ISSUER}/authorize`);
    expect(Object.fromEntries(searchParams)).toEqual({
      tenant: "1",
      response_type: "code",
      client_id: "me",
      redirect_uri: REDIRECT_URI,
      scope: "read",
      state: pending.state,
      code_challenge: createHash("sha256").update(pending.codeVerifier).digest("base64url"),
      code_challenge_method: "S256",
      resource: "https://mcp.example.com/mcp",
    });
    expect(pending).toMatchObject({ issuer: ISSUER, advertisesIss: false, redirectUri: REDIRECT_URI });
    expect(JSON.parse(JSON.stringify(pending))).toEqual(pending);
    expect(url).not.toContain(pending.codeVerifier);
  });

  test("is different each time", async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(new Set(all.map(({ pending }) => pending.state)).size).toBe(20);
    expect(new Set(all.map(({ pending }) => pending.codeVerifier)).size).toBe(20);
  });

  test.each([[undefined], [null], [[]], [["plain"]], ["S256"]])(
    "is refused if code_challenge_methods_supported is %j, unless the quirk assumes S256",
    async (methods) => {
      const metadata = { code_challenge_methods_supported: methods };
      await expect(ask({ metadata })).rejects.toMatchObject({
        name: "OAuthError",
        quirk: "assume-s256",
        message: expect.stringContaining(ISSUER),
      });
      expect((await query({ metadata, quirks: { assumeS256: true } })).get("code_challenge_method")).toBe(
        "S256",
      );
    },
  );

  test("omits resource with the quirk", async () => {
    expect((await query({ quirks: { noResource: true } })).has("resource")).toBe(false);
  });

  test.each([
    [{ scopes: [] }, null, null],
    [{ scopes: ["a", "b", "a"] }, "a b", null],
    [{ metadata: { scopes_supported: ["offline_access"] } }, "read offline_access", "consent"],
    [{ metadata: { scopes_supported: ["offline_access"] }, scopes: [] }, null, null],
    [{ metadata: { scopes_supported: ["read"] } }, "read", null],
    [{ wantsIdToken: true }, "openid read", null],
  ] as const)("%j requests the scopes %s", async (asking, scope, prompt) => {
    const parameters = await query(asking);
    expect([parameters.get("scope"), parameters.get("prompt")]).toEqual([scope, prompt]);
  });

  test("has a nonce if an ID token is wanted", async () => {
    const { url, pending } = await ask({ wantsIdToken: true });
    expect(new URL(url).searchParams.get("nonce")).toBe(pending.nonce);
    expect(pending.nonce).toMatch(/^.{20,}$/);
  });

  test.each([
    "http://as.example.com/authorize",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "vbscript:x",
    "ssh://as.example.com",
    "authorize",
    undefined,
    7,
  ])("never opens %s", async (endpoint) => {
    await expect(ask({ metadata: { authorization_endpoint: endpoint } })).rejects.toThrow(
      /must be https:|names no authorization_endpoint/,
    );
  });

  test("opens http on loopback", async () => {
    const metadata = { authorization_endpoint: "http://127.0.0.1:9/authorize" };
    expect((await ask({ metadata })).url).toMatch(/^http:\/\/127\.0\.0\.1:9\/authorize\?/);
  });

  test("redirects to https or loopback only", async () => {
    await expect(ask({ redirectUri: "http://gateway.example.com/oauth/callback" })).rejects.toThrow(
      "Set listen.http.publicUrl to an https URL",
    );
  });
});

describe("an authorization response", () => {
  const PENDING: PendingAuthorization = {
    state: "the-state",
    codeVerifier: "v",
    issuer: ISSUER,
    advertisesIss: false,
    redirectUri: REDIRECT_URI,
    scopes: ["read"],
  };
  const read = (parameters: string, pending: Partial<PendingAuthorization> = {}) =>
    authorizationResponse(new URLSearchParams(parameters), { ...PENDING, ...pending });
  const ISS = encodeURIComponent(ISSUER);

  test.each([
    // The four cases of RFC 9207.
    [true, `&iss=${ISS}`, "code"],
    [true, "", "rejected"],
    [false, `&iss=${ISS}`, "code"],
    [false, "", "code"],
    [true, "&iss=https%3A%2F%2Fevil.example.com", "rejected"],
    [false, "&iss=https%3A%2F%2Fevil.example.com", "rejected"],
    // Compared as strings, after form decoding.
    [true, `&iss=${ISSUER}`, "code"],
    [true, `&iss=${ISS}%2F`, "rejected"],
    [true, "&iss=https%3A%2F%2FAS.example.com", "rejected"],
    [true, "&iss=https%3A%2F%2Fas.example.com%3A443", "rejected"],
    [true, `&iss=${encodeURIComponent(ISS)}`, "rejected"],
    [true, "&iss=", "rejected"],
    [false, "&iss=", "rejected"],
    [true, `&iss=${ISS}&iss=${ISS}`, "rejected"],
  ])("if iss is advertised: %s, with '%s' is %s", (advertisesIss, iss, kind) => {
    expect(read(`code=the-code&state=the-state${iss}`, { advertisesIss }).kind).toBe(kind);
  });

  test.each(["&state=other", "", "&state=", "&state=the-state&state=the-state", "&state=THE-STATE"])(
    "with the state '%s' is rejected",
    (state) => {
      expect(read(`code=the-code${state}`)).toMatchObject({ kind: "rejected" });
    },
  );

  test("with a wrong issuer or state is not quoted, including its error", () => {
    const said = "error=access_denied&error_description=GEHEIM&code=GEHEIM&state=";
    for (const response of [read(`${said}the-state&iss=https%3A%2F%2FGEHEIM`), read(`${said}GEHEIM`)]) {
      expect(response.kind).toBe("rejected");
      expect(JSON.stringify(response)).not.toMatch(/GEHEIM|access_denied/);
    }
  });

  test("may be an error, which is quoted on one line", () => {
    expect(read("error=access_denied&error_description=no%0Athanks%1B&state=the-state")).toEqual({
      kind: "denied",
      error: "access_denied",
      description: "no thanks",
    });
    expect(read("error=server_error&state=the-state")).toEqual({ kind: "denied", error: "server_error" });
  });

  test.each(["state=the-state", "state=the-state&code=", "state=the-state&code=a&code=b"])(
    "without one code is rejected: %s",
    (parameters) => {
      expect(read(parameters).kind).toBe("rejected");
    },
  );
});

describe("a code", () => {
  test("is redeemed once", async () => {
    const server = await adversarialServer();
    const { outcome, context, callback, pending } = await signIn(server.mcpUrl, server.authorize);
    expect(tokensOf(outcome).scope).toBe("read");
    expect(await redeem(context, callback, pending)).toEqual({ kind: "invalid_grant" });
  });

  test("without the advertised iss is never redeemed", async () => {
    const server = await adversarialServer();
    server.iss = undefined;
    await expect(signIn(server.mcpUrl, server.authorize)).rejects.toThrow("rejected");
    server.iss = "https://evil.example.com";
    await expect(signIn(server.mcpUrl, server.authorize)).rejects.toThrow("rejected");
    expect(server.steps()).not.toContain("token");
  });

  test("is sent with its verifier, redirect URI and resource", async () => {
    const server = await adversarialServer();
    const { pending, client, callback } = await signIn(server.mcpUrl, server.authorize);
    expect(Object.fromEntries(server.seen.at(-1)?.form ?? [])).toEqual({
      grant_type: "authorization_code",
      code: new URL(callback).searchParams.get("code"),
      code_verifier: pending.codeVerifier,
      redirect_uri: REDIRECT_URI,
      client_id: client.clientId,
      resource: server.mcpUrl,
    });
  });
});
