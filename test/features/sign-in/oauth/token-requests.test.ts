/** What goes to token endpoints: client authentication, scopes, the device grant, revocation, ID tokens. */
import { exportJWK, exportPKCS8, generateKeyPair, jwtVerify, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import {
  clientCredentials,
  enterpriseTokens,
  exchangeToken,
  idTokenClaims,
  importSigningKey,
  pollDeviceToken,
  redeemAssertion,
  refreshTokens,
  revokeToken,
  startDeviceAuthorization,
  suggestedQuirk,
  TOKEN_TYPES,
  type TokenRequestContext,
  takesIdJag,
} from "../../../../src/features/sign-in/oauth/client.js";
import type { ClientRegistration } from "../../../../src/features/vault/types.js";
import {
  type AdversarialServer,
  adversarialServer,
  hangUp,
  html,
  json,
  loseAnswer,
  oauthError,
  status,
} from "../../../support/sign-in/adversarial-server.js";
import { contextOf, discoverAt, NOW, signIn, tokensOf } from "./support.js";

const client = (more: Partial<ClientRegistration> = {}): ClientRegistration => ({
  clientId: "me",
  tokenEndpointAuthMethod: "none",
  source: "config",
  ...more,
});

async function talking(registration = client(), more: Partial<TokenRequestContext> = {}) {
  const server = await adversarialServer();
  const context = contextOf(server.mcpUrl, await discoverAt(server.mcpUrl), registration, more);
  return { server, context };
}

const lastForm = (server: AdversarialServer) => Object.fromEntries(server.seen.at(-1)?.form ?? []);

describe("client authentication", () => {
  const SECRET = "a-b_c.d~e!f'g(h)i*j k+l/m=n%o:p&é";

  test("with the secret in Basic, where only what is not unreserved is encoded", async () => {
    const basic = client({
      clientId: "me@x y",
      clientSecret: SECRET,
      tokenEndpointAuthMethod: "client_secret_basic",
    });
    const { server, context } = await talking(basic);
    await clientCredentials(context, ["read"]);
    const { headers } = server.seen.at(-1) ?? {};
    const pair = Buffer.from(headers?.authorization?.slice("Basic ".length) ?? "", "base64").toString();
    expect(pair).toBe("me%40x+y:a-b_c.d~e%21f%27g%28h%29i%2Aj+k%2Bl%2Fm%3Dn%25o%3Ap%26%C3%A9");
    const decoded = pair.split(":").map((part) => new URLSearchParams(`x=${part}`).get("x"));
    expect(decoded).toEqual(["me@x y", SECRET]);
    expect(lastForm(server)).toEqual({
      grant_type: "client_credentials",
      scope: "read",
      resource: server.mcpUrl,
    });
  });

  test("with the secret in Basic unchanged, by the quirk", async () => {
    const basic = client({ clientSecret: SECRET, tokenEndpointAuthMethod: "client_secret_basic" });
    const { server, context } = await talking(basic, { quirks: { basicRaw: true } });
    await clientCredentials(context, []);
    const { headers } = server.seen.at(-1) ?? {};
    expect(Buffer.from(headers?.authorization?.slice(6) ?? "", "base64").toString()).toBe(`me:${SECRET}`);
  });

  test("with the secret in the body", async () => {
    const post = client({ clientSecret: SECRET, tokenEndpointAuthMethod: "client_secret_post" });
    const { server, context } = await talking(post);
    await clientCredentials(context, []);
    expect(lastForm(server)).toEqual({
      grant_type: "client_credentials",
      client_id: "me",
      client_secret: SECRET,
      resource: server.mcpUrl,
    });
  });

  test.each(["RS256", "ES256", "EdDSA"])("with an assertion signed by %s, as PEM or JWK", async (alg) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = JSON.stringify({ ...(await exportJWK(privateKey)), alg, kid: "from-the-jwk" });
    for (const [text, kid] of [
      [await exportPKCS8(privateKey), undefined],
      [jwk, "from-the-jwk"],
    ] as const) {
      const signingKey = await importSigningKey(text, alg);
      const key = client({ tokenEndpointAuthMethod: "private_key_jwt" });
      const { server, context } = await talking(key, { signingKey });
      await clientCredentials(context, ["read"]);
      const { client_assertion, ...form } = lastForm(server);
      // The assertion names the client: no client_id.
      expect(form).toEqual({
        grant_type: "client_credentials",
        scope: "read",
        resource: server.mcpUrl,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      });
      const expected = { issuer: "me", subject: "me", audience: server.issuer };
      const { payload, protectedHeader } = await jwtVerify(client_assertion ?? "", publicKey, expected);
      expect(protectedHeader).toEqual({ alg, ...(kid && { kid }) });
      expect(payload).toMatchObject({ jti: expect.any(String), exp: (payload.iat ?? 0) + 60 });
    }
  });

  test("by an assertion, with the algorithm found by the key", async () => {
    for (const alg of ["RS256", "ES256", "EdDSA"]) {
      const { privateKey } = await generateKeyPair(alg, { extractable: true });
      expect((await importSigningKey(await exportPKCS8(privateKey))).alg).toBe(alg);
    }
  });

  test.each([
    "",
    "nonsense",
    '{"kty":"EC"}',
    "{",
    "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
  ])("not by the key %j, which is named as the fault and not repeated", async (text) => {
    await expect(importSigningKey(text)).rejects.toThrow(
      "The private key cannot be read as PKCS #8 (PEM) or as a JWK",
    );
  });

  test.each(["client_secret_basic", "client_secret_post", "private_key_jwt"] as const)(
    "not by %s without its secret or key",
    async (tokenEndpointAuthMethod) => {
      const { context } = await talking(client({ tokenEndpointAuthMethod }));
      await expect(clientCredentials(context, [])).rejects.toThrow(
        "write it into auth of the server's config",
      );
    },
  );
});

describe("a token request", () => {
  test("has the resource, except with the quirk", async () => {
    const { server, context } = await talking();
    await refreshTokens(context, "r", ["read"]);
    const form = { grant_type: "refresh_token", refresh_token: "r", scope: "read", client_id: "me" };
    expect(lastForm(server)).toEqual({ ...form, resource: server.mcpUrl });
    await refreshTokens({ ...context, quirks: { noResource: true } }, "r", ["read"]);
    expect(lastForm(server)).toEqual(form);
  });

  test("of an exchange names what is exchanged, for what", async () => {
    const { server, context } = await talking();
    const outcome = await exchangeToken(context, {
      subjectToken: "s",
      subjectTokenType: TOKEN_TYPES.accessToken,
      actorToken: "a",
      actorTokenType: TOKEN_TYPES.accessToken,
      audience: "other",
      scopes: ["read"],
    });
    expect(tokensOf(outcome).accessToken).toMatch(/^exchanged-/);
    expect(lastForm(server)).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: "s",
      subject_token_type: TOKEN_TYPES.accessToken,
      actor_token: "a",
      actor_token_type: TOKEN_TYPES.accessToken,
      audience: "other",
      scope: "read",
      client_id: "me",
      resource: server.mcpUrl,
    });
  });

  test("of a refresh that shrinks the scopes shows it", async () => {
    const server = await adversarialServer();
    const { context, outcome } = await signIn(server.mcpUrl, server.authorize, { scopes: ["read", "write"] });
    expect(tokensOf(outcome).scope).toBe("read write");
    server.tokenAnswer.scope = "read";
    expect(tokensOf(await refreshTokens(context, tokensOf(outcome).refreshToken ?? "")).scope).toBe("read");
  });

  test("whose response is lost is ambiguous: the refresh token may be spent", async () => {
    const server = await adversarialServer();
    const { context, outcome } = await signIn(server.mcpUrl, server.authorize);
    const { refreshToken = "" } = tokensOf(outcome);
    server.set("token", loseAnswer(server, "token"), 1);
    expect((await refreshTokens(context, refreshToken)).kind).toBe("ambiguous");
    expect(server.refreshTokens.get(refreshToken)?.spent).toBe(true);
    expect((await refreshTokens(context, refreshToken)).kind).toBe("invalid_grant");
  });

  test("of a JWT as a grant has it as the assertion", async () => {
    const { server, context } = await talking();
    expect((await redeemAssertion(context, "a.b.c")).kind).toBe("tokens");
    expect(lastForm(server)).toMatchObject({ assertion: "a.b.c", client_id: "me" });
  });

  test("of a client that was deleted at the server is invalid_client", async () => {
    const server = await adversarialServer();
    const { context, outcome } = await signIn(server.mcpUrl, server.authorize);
    server.clients.clear();
    expect(await refreshTokens(context, tokensOf(outcome).refreshToken ?? "")).toEqual({
      kind: "invalid_client",
    });
  });
});

describe("enterprise-managed authorization", () => {
  test("asks for an ID-JAG of the right audience, and uses it once", async () => {
    const company = await talking();
    const { server, context } = await talking();
    const outcome = await enterpriseTokens({
      identityProvider: { ...company.context, resource: undefined },
      subjectToken: "id",
      subjectTokenType: TOKEN_TYPES.idToken,
      resourceServer: context,
      scopes: ["read"],
    });
    expect(outcome).toMatchObject({ kind: "tokens", at: "authorization_server" });
    expect(lastForm(company.server)).toMatchObject({
      requested_token_type: TOKEN_TYPES.idJag,
      audience: server.issuer,
      resource: server.mcpUrl,
      subject_token_type: TOKEN_TYPES.idToken,
    });
    expect(lastForm(server)).toMatchObject({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: expect.stringMatching(/^exchanged-/),
    });
  });

  test.each([
    [{ authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"] }, true],
    [{ authorization_grant_profiles_supported: [] }, false],
    [{}, undefined],
  ])("is offered by %j: %s", (metadata, expected) => {
    expect(takesIdJag({ issuer: "https://as.example.com", metadata })).toBe(expected);
  });
});

describe("the device grant", () => {
  async function starting() {
    const { server, context } = await talking();
    const start = () => startDeviceAuthorization(context, `${server.issuer}/device`, ["read"]);
    return { server, context, start };
  }

  test("gives the person a code, and tokens once it is approved", async () => {
    const { server, context, start } = await starting();
    const started = await start();
    if (started.kind !== "started") throw new Error(JSON.stringify(started));
    expect(lastForm(server)).toEqual({ client_id: "me", scope: "read", resource: server.mcpUrl });
    expect(await pollDeviceToken(context, started.deviceCode)).toEqual({ kind: "pending", slowDown: false });
    server.set("token", oauthError("slow_down"), 1);
    expect(await pollDeviceToken(context, started.deviceCode)).toEqual({ kind: "pending", slowDown: true });
    server.approve(started.userCode);
    const outcome = await pollDeviceToken(context, started.deviceCode);
    expect(outcome).toMatchObject({ kind: "tokens", tokens: { scope: "read" } });
  });

  test.each([
    ["access_denied", { kind: "refused", error: "access_denied" }],
    ["expired_token", { kind: "refused", error: "expired_token" }],
  ])("ends with %s", async (error, expected) => {
    const { server, context } = await starting();
    server.set("token", oauthError(error));
    expect(await pollDeviceToken(context, "code")).toMatchObject(expected);
  });

  const WHOLE = { device_code: "d", user_code: "u", verification_uri: "https://as.example.com/device" };
  test.each([
    [WHOLE, { expiresAt: NOW + 600_000, intervalMs: 5_000, verificationUri: WHOLE.verification_uri }],
    [
      { ...WHOLE, expires_in: 60, interval: 1 },
      { expiresAt: NOW + 60_000, intervalMs: 1_000 },
    ],
    [
      { ...WHOLE, expires_in: 0, interval: 0 },
      { expiresAt: NOW + 600_000, intervalMs: 5_000 },
    ],
    [
      { device_code: "d", user_code: "u", verification_url: "https://google.example.com/device" },
      { verificationUri: "https://google.example.com/device" },
    ],
    [{ ...WHOLE, verification_uri_complete: "javascript:alert(1)" }, { kind: "started" }],
  ])("begins with %j", async (answer, expected) => {
    const { server, start } = await starting();
    server.set("device", json(answer));
    const started = await start();
    expect(started).toMatchObject({ kind: "started", ...expected });
    expect(JSON.stringify(started)).not.toContain("javascript:");
  });

  test.each([
    [
      "a page that no browser should open",
      json({ ...WHOLE, verification_uri: "file:///x" }),
      { kind: "refused" },
    ],
    ["nothing", json({}), { kind: "refused", error: "invalid_response" }],
    ["a page", html, { kind: "refused", error: "invalid_response" }],
    ["tokens", json({ access_token: "a" }), { kind: "refused", error: "invalid_response" }],
    ["invalid_client", oauthError("invalid_client", undefined, 401), { kind: "invalid_client" }],
    [
      "unauthorized_client",
      oauthError("unauthorized_client"),
      { kind: "refused", error: "unauthorized_client" },
    ],
    ["503", status(503), { kind: "unavailable" }],
    ["a closed connection", hangUp, { kind: "ambiguous" }],
  ])("does not begin with %s", async (_, behaviour, expected) => {
    const { server, start } = await starting();
    server.set("device", behaviour);
    expect(await start()).toMatchObject(expected);
  });
});

describe("revocation", () => {
  test("ends the token at the server", async () => {
    const server = await adversarialServer();
    const { context, outcome } = await signIn(server.mcpUrl, server.authorize);
    const { refreshToken = "" } = tokensOf(outcome);
    expect(await revokeToken(context, `${server.issuer}/revoke`, refreshToken, "refresh_token")).toEqual({
      kind: "revoked",
    });
    expect(lastForm(server)).toMatchObject({ token: refreshToken, token_type_hint: "refresh_token" });
    expect(server.refreshTokens.has(refreshToken)).toBe(false);
  });

  test.each([
    [status(204), "revoked"],
    [status(503), "failed"],
    [oauthError("unsupported_token_type"), "failed"],
    [status(404), "failed"],
    [hangUp, "failed"],
  ])("reports whether it succeeded", async (behaviour, kind) => {
    const { server, context } = await talking();
    server.set("revoke", behaviour);
    const outcome = await revokeToken(context, `${server.issuer}/revoke`, "GEHEIM", "access_token");
    expect([outcome.kind, JSON.stringify(outcome).includes("GEHEIM")]).toEqual([kind, false]);
  });
});

describe("an ID token", () => {
  const EXPECTED = { issuer: "https://as.example.com", clientId: "me", nonce: "n" };
  const good = { iss: EXPECTED.issuer, aud: "me", sub: "alice", exp: NOW / 1000 + 60, nonce: "n" };
  const sign = (claims: Record<string, unknown>) =>
    new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(Buffer.alloc(32));

  test.each([
    [{}, undefined],
    [{ aud: ["me", "other"], azp: "me" }, undefined],
    // Clocks that differ by two minutes.
    [{ exp: NOW / 1000 - 119 }, undefined],
    [{ iss: "https://evil.example.com" }, "another issuer"],
    [{ iss: `${EXPECTED.issuer}/` }, "another issuer"],
    [{ aud: "other" }, "another client"],
    [{ aud: undefined }, "another client"],
    [{ aud: ["me", "other"] }, "azp"],
    [{ exp: NOW / 1000 - 121 }, "expired"],
    [{ exp: undefined }, "expired"],
    [{ nonce: "other" }, "nonce"],
    [{ nonce: undefined }, "nonce"],
    [{ sub: undefined }, "no sub"],
    [{ sub: "" }, "no sub"],
  ])("with %j: %s", async (more, reason) => {
    const claims = idTokenClaims(await sign({ ...good, ...more }), EXPECTED, NOW);
    if (reason === undefined) expect(claims).toMatchObject({ kind: "claims", subject: "alice" });
    else expect(claims).toMatchObject({ kind: "invalid", reason: expect.stringContaining(reason) });
  });

  test("that is none is said to be none", () => {
    expect(idTokenClaims("nonsense", EXPECTED, NOW)).toEqual({
      kind: "invalid",
      reason: "the ID token is not a JWT",
    });
  });

  test("of another sign-in spoils the code that brought it", async () => {
    const server = await adversarialServer();
    server.tokenAnswer.id_token = await sign({ ...good, iss: server.issuer });
    const { outcome } = await signIn(server.mcpUrl, server.authorize, { wantsIdToken: true });
    expect(outcome).toMatchObject({ kind: "refused", error: "invalid_id_token" });
  });
});

test.each([
  ["invalid_target", undefined, undefined, "no-resource"],
  ["invalid_request", "AADSTS9010010: The resource parameter provided", undefined, "no-resource"],
  ["invalid_request", "The redirect_uri does not match", undefined, "redirect-host: localhost"],
  ["invalid_client", undefined, "client_secret_basic", "basic-raw"],
  ["invalid_client", undefined, "none", undefined],
  ["invalid_scope", "x", undefined, undefined],
] as const)("the error %s (%s) of a client with %s suggests %s", (error, description, method, quirk) => {
  expect(suggestedQuirk(error, description, method)).toBe(quirk);
});
