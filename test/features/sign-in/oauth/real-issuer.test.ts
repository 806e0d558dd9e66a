/** The OAuth client against a real authorization server (`oidc-provider`) in front of a real MCP server. */
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  clientCredentials,
  clientMetadataDocument,
  discoverIssuer,
  enterpriseTokens,
  exchangeToken,
  idTokenClaims,
  importSigningKey,
  pollDeviceToken,
  refreshTokens,
  register,
  revokeToken,
  startDeviceAuthorization,
  TOKEN_TYPES,
} from "../../../../src/features/sign-in/oauth/client.js";
import type { ClientRegistration } from "../../../../src/features/vault/types.js";
import { approveDeviceAs, authorizeAs } from "../../../support/sign-in/person.mjs";
import { type RealIssuerOptions, startRealIssuer } from "../../../support/sign-in/real-issuer.mjs";
import { contextOf, discoverAt, fetchFor, NOW, REDIRECT_URI, signIn, tokensOf } from "./support.js";

async function real(options: RealIssuerOptions = {}) {
  const issuer = await startRealIssuer(options);
  onTestFinished(() => issuer.close());
  return issuer;
}

/** The text of the tool's answer, or the status. */
async function call(mcpUrl: string, token: string, name = "whoami"): Promise<string | number> {
  const response = await fetch(mcpUrl, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } }),
  });
  return response.ok ? (/"text":"([^"]*)"/.exec(await response.text())?.[1] ?? "") : response.status;
}

const SECRET = "a secret of +/=& and more, 32 characters";
const asAlice = (url: string) => authorizeAs(url, "alice");

describe("a person signs in", () => {
  test("by dynamic registration, code and refresh, and signs out", async () => {
    const { mcpUrl } = await real({ tokenFormat: "opaque" });
    const { found, context, outcome } = await signIn(mcpUrl, asAlice);
    expect(found.steps.filter((step) => step.outcome === "failed")).toEqual([]);
    const first = tokensOf(outcome);
    expect(await call(mcpUrl, first.accessToken)).toBe("alice with read");
    expect(first).toMatchObject({ scope: "read", obtainedAt: NOW, expiresAt: NOW + 3_600_000 });
    const second = tokensOf(await refreshTokens(context, first.refreshToken ?? ""));
    expect(await call(mcpUrl, second.accessToken)).toBe("alice with read");
    expect(second.refreshToken).not.toBe(first.refreshToken);
    const endpoint = String(found.discovered.authorizationServer.metadata.revocation_endpoint);
    expect(await revokeToken(context, endpoint, second.refreshToken ?? "", "refresh_token")).toEqual({
      kind: "revoked",
    });
    expect(await call(mcpUrl, second.accessToken)).toBe(401);
    expect(await refreshTokens(context, second.refreshToken ?? "")).toMatchObject({ kind: "invalid_grant" });
  });

  test("by the gateway's client ID metadata document", async () => {
    const { mcpUrl, documents, events } = await real();
    const url = "https://gateway.example.com/oauth/client.json";
    documents.set(url, clientMetadataDocument({ url, redirectUris: [REDIRECT_URI] }));
    const { client, outcome } = await signIn(mcpUrl, asAlice, { clientMetadataUrl: url });
    expect(client).toEqual({ clientId: url, tokenEndpointAuthMethod: "none", source: "metadata_document" });
    expect(await call(mcpUrl, tokensOf(outcome).accessToken)).toBe("alice with read");
    expect(events.map(({ grant }) => grant)).toEqual(["authorization_code"]);
  });

  test("with a client secret that needs encoding", async () => {
    const registered = { client_id: "gateway", client_secret: SECRET, redirect_uris: [REDIRECT_URI] };
    const { mcpUrl } = await real({ clients: [registered] });
    const configured = { clientId: "gateway", clientSecret: SECRET };
    const { client, outcome } = await signIn(mcpUrl, asAlice, { configured });
    expect(client).toMatchObject({ source: "config", tokenEndpointAuthMethod: "client_secret_basic" });
    expect(await call(mcpUrl, tokensOf(outcome).accessToken)).toBe("alice with read");
  });

  test("again with more scopes after insufficient_scope", async () => {
    const { mcpUrl } = await real();
    const { outcome, pending } = await signIn(mcpUrl, asAlice);
    expect(await call(mcpUrl, tokensOf(outcome).accessToken, "admin_only")).toBe(403);
    const again = await signIn(mcpUrl, asAlice, { scopes: [...pending.scopes, "admin"] });
    expect(await call(mcpUrl, tokensOf(again.outcome).accessToken, "admin_only")).toBe(
      "alice with read admin",
    );
  });

  test("and the ID token identifies the person", async () => {
    const { mcpUrl, issuer } = await real();
    const { outcome, client, pending } = await signIn(mcpUrl, asAlice, { wantsIdToken: true });
    const expected = { issuer, clientId: client.clientId, nonce: pending.nonce };
    const { idToken = "" } = tokensOf(outcome);
    expect(idTokenClaims(idToken, expected, Date.now())).toMatchObject({ kind: "claims", subject: "alice" });
  });

  test("with the device grant", async () => {
    const { mcpUrl } = await real();
    const found = await discoverAt(mcpUrl);
    const { authorizationServer } = found.discovered;
    const client = await register({
      authorizationServer,
      redirectUri: REDIRECT_URI,
      fetch: fetchFor(mcpUrl),
      now: () => NOW,
    });
    const context = contextOf(mcpUrl, found, client);
    const endpoint = String(authorizationServer.metadata.device_authorization_endpoint);
    const started = await startDeviceAuthorization(context, endpoint, ["read"]);
    if (started.kind !== "started") throw new Error(JSON.stringify(started));
    expect(started).toMatchObject({ expiresAt: NOW + 600_000, intervalMs: 5_000 });
    expect(await pollDeviceToken(context, started.deviceCode)).toEqual({ kind: "pending", slowDown: false });
    await approveDeviceAs(started.verificationUriComplete ?? "", "bob");
    const outcome = await pollDeviceToken(context, started.deviceCode);
    if (outcome.kind === "pending") throw new Error("still pending");
    expect(await call(mcpUrl, tokensOf(outcome).accessToken)).toBe("bob with read");
  });

  test("or denies it", async () => {
    const { mcpUrl } = await real();
    await expect(signIn(mcpUrl, (url) => authorizeAs(url, "nobody"))).rejects.toThrow(
      '{"kind":"denied","error":"access_denied","description":"the person said no"}',
    );
  });
});

describe("a service signs in", () => {
  const service = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };

  test("with a client secret", async () => {
    const { mcpUrl } = await real({ clients: [{ client_id: "svc", client_secret: SECRET, ...service }] });
    const client: ClientRegistration = {
      clientId: "svc",
      clientSecret: SECRET,
      tokenEndpointAuthMethod: "client_secret_basic",
      source: "config",
    };
    const outcome = await clientCredentials(contextOf(mcpUrl, await discoverAt(mcpUrl), client), ["read"]);
    expect(await call(mcpUrl, tokensOf(outcome).accessToken)).toBe("svc with read");
  });
});

describe("a service with a key signs in", () => {
  test("with an assertion (private_key_jwt)", async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k", use: "sig" }] };
    const registered = {
      client_id: "svc",
      token_endpoint_auth_method: "private_key_jwt",
      jwks,
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    };
    const { mcpUrl } = await real({ clients: [registered] });
    const client: ClientRegistration = {
      clientId: "svc",
      tokenEndpointAuthMethod: "private_key_jwt",
      source: "config",
    };
    const signingKey = await importSigningKey(await exportPKCS8(privateKey), "ES256", "k");
    const context = contextOf(mcpUrl, await discoverAt(mcpUrl), client, { signingKey });
    expect(await call(mcpUrl, tokensOf(await clientCredentials(context, ["read"])).accessToken)).toBe(
      "svc with read",
    );
  });
});

describe("one login at the company's issuer", () => {
  test("yields tokens for a server of another authorization server (ID-JAG)", async () => {
    const urn = "urn:ietf:params:oauth:grant-type:";
    const secret = { client_secret: SECRET, redirect_uris: [REDIRECT_URI] };
    const company = await real({
      clients: [
        {
          ...secret,
          client_id: "gateway",
          grant_types: ["authorization_code", "refresh_token", `${urn}token-exchange`],
        },
      ],
    });
    const { mcpUrl, calls } = await real({
      trustedIssuers: [company.issuer],
      clients: [
        { ...secret, client_id: "gateway-there", grant_types: [`${urn}jwt-bearer`], response_types: [] },
      ],
    });
    const configured = { clientId: "gateway", clientSecret: SECRET };
    const login = await signIn(company.mcpUrl, asAlice, { configured, wantsIdToken: true });
    const { authorizationServer } = await discoverIssuer(company.issuer, { fetch: fetchFor(company.issuer) });
    expect(authorizationServer.issuer).toBe(company.issuer);
    const there: ClientRegistration = {
      clientId: "gateway-there",
      clientSecret: SECRET,
      tokenEndpointAuthMethod: "client_secret_basic",
      source: "config",
    };
    const request = {
      identityProvider: { ...login.context, resource: undefined },
      subjectToken: tokensOf(login.outcome).idToken ?? "",
      subjectTokenType: TOKEN_TYPES.idToken,
      resourceServer: contextOf(mcpUrl, await discoverAt(mcpUrl), there),
      scopes: ["read"],
    };
    const outcome = await enterpriseTokens(request);
    expect(outcome.at).toBe("authorization_server");
    expect(await call(mcpUrl, tokensOf(outcome).accessToken)).toBe("alice with read");
    expect(calls).toEqual([{ tool: "whoami", sub: "alice" }]);
    const refused = await enterpriseTokens({ ...request, subjectToken: "none" });
    expect(refused).toMatchObject({ at: "identity_provider", kind: "invalid_grant" });
  });

  test("or is exchanged for a token of the same authorization server (RFC 8693)", async () => {
    const exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    const gateway = {
      client_id: "gateway",
      client_secret: SECRET,
      redirect_uris: [REDIRECT_URI],
      grant_types: ["authorization_code", "refresh_token", exchange],
    };
    const { mcpUrl } = await real({ clients: [gateway] });
    const configured = { clientId: "gateway", clientSecret: SECRET };
    const { context, outcome } = await signIn(mcpUrl, asAlice, { configured });
    const exchanged = await exchangeToken(context, {
      subjectToken: tokensOf(outcome).accessToken,
      subjectTokenType: TOKEN_TYPES.accessToken,
      scopes: ["read"],
    });
    expect(await call(mcpUrl, tokensOf(exchanged).accessToken)).toBe("alice with read");
  });
});
