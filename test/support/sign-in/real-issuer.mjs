#!/usr/bin/env node
/**
 * A real authorization server (`oidc-provider`) in front of a real MCP server (SDK 2.4), in one listener on loopback.
 *
 *   node real-issuer.mjs ['{"accessTokenTtl":60}']
 *
 * As a program it prints `ready {"issuer":…,"mcpUrl":…}` on stderr and ends when its stdin does.
 */
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import { addAssertionGrants } from "./real-assertions.mjs";
import { realMcp } from "./real-mcp.mjs";

const SCOPES = "read admin";
/** The members of requests and responses that only client and issuer may see. */
const SECRETS = [
  ...["access_token", "refresh_token", "id_token", "code", "code_verifier", "device_code"],
  ...["client_secret", "registration_access_token"],
];
const CODE_GRANTS = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"];

/** @param {import("./real-issuer.mjs").RealIssuerOptions} options */
export async function startRealIssuer(options = {}) {
  const { accessTokenTtl = 3600, refreshTokenTtl = 14 * 86_400, port = 0, tokenFormat = "jwt" } = options;
  let handle = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  await new Promise((listening) => server.listen(port, "127.0.0.1", listening));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const mcpUrl = `${issuer}/mcp`;

  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: "issuer-key", alg: "ES256", use: "sig" };
  const events = [];
  const documents = new Map();
  const secrets = new Map();
  const keepSecrets = (members = {}) => {
    for (const name of SECRETS) if (typeof members[name] === "string") secrets.set(members[name], name);
  };
  let epoch = 0;

  const provider = new Provider(issuer, {
    clients: (options.clients ?? []).map((client) => ({
      grant_types: CODE_GRANTS,
      response_types: ["code"],
      ...client,
    })),
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    jwks: { keys: [key] },
    cookies: { keys: ["for tests only"] },
    scopes: ["openid", "offline_access"],
    claims: { openid: ["sub"], email: ["email"] },
    pkce: { required: () => true },
    clientBasedCORS: () => false,
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    extraTokenClaims: () => ({ epoch }),
    expiresWithSession: () => false,
    ttl: {
      AccessToken: accessTokenTtl,
      ClientCredentials: accessTokenTtl,
      RefreshToken: refreshTokenTtl,
      AuthorizationCode: 60,
      DeviceCode: 600,
      IdToken: 3600,
      Grant: refreshTokenTtl,
      Session: 86_400,
      Interaction: 600,
    },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    // Documents of clients are served by the test, without https and a certificate.
    fetch: async (url) => {
      const document = documents.get(String(url));
      if (document === undefined) return new Response(null, { status: 404 });
      return Response.json(document);
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      clientIdMetadataDocument: { enabled: options.cimd !== false, ack: "draft-02" },
      revocation: { enabled: true },
      introspection: { enabled: true },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      rpInitiatedLogout: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => mcpUrl,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: SCOPES,
          audience: resource,
          accessTokenTTL: accessTokenTtl,
          accessTokenFormat: tokenFormat,
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
  });
  provider.on("grant.success", (ctx) => {
    events.push({ grant: ctx.oidc.params.grant_type, outcome: "success" });
    keepSecrets(ctx.oidc.params);
    keepSecrets(ctx.body);
  });
  provider.on("grant.error", (ctx, error) =>
    events.push({ grant: ctx.oidc?.params?.grant_type, outcome: error.error }),
  );
  provider.on("registration_create.success", (ctx) => {
    events.push({ grant: "registration", outcome: "success" });
    keepSecrets(ctx.body);
  });
  addAssertionGrants(provider, { key, issuer, trusted: options.trustedIssuers ?? [], scope: SCOPES });

  const callback = provider.callback();
  const mcp = realMcp({ provider, issuer, mcpUrl, key, tokenFormat, epoch: () => epoch });
  handle = (request, response) => {
    const { pathname } = new URL(request.url, issuer);
    if (pathname === "/mcp" || pathname.startsWith("/.well-known/oauth-protected-resource")) {
      return mcp.answer(request, response, pathname);
    }
    if (pathname.startsWith("/interaction/")) return interact(request, response);
    // RFC 8414; oidc-provider itself publishes OpenID Connect Discovery.
    if (pathname === "/.well-known/oauth-authorization-server")
      request.url = "/.well-known/openid-configuration";
    return callback(request, response);
  };

  /** Signs in the person of the header `x-person`, who consents to everything. */
  async function interact(request, response) {
    const person = request.headers["x-person"];
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (person === undefined) return response.writeHead(403).end("no x-person");
    if (person === "nobody") {
      const result = { error: "access_denied", error_description: "the person said no" };
      return provider.interactionFinished(request, response, result);
    }
    if (prompt.name === "login") {
      const result = { login: { accountId: person } };
      return provider.interactionFinished(request, response, result);
    }
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    const allowed = options.scopesOf?.[person] ?? SCOPES;
    const asked = (params.scope ?? "").split(" ").filter((scope) => scope !== "");
    grant.addOIDCScope(asked.filter((scope) => ["openid", "offline_access"].includes(scope)).join(" "));
    const granted = asked.filter((scope) => allowed.split(" ").includes(scope));
    const refused = asked.filter((scope) => SCOPES.split(" ").includes(scope) && !granted.includes(scope));
    for (const resource of [params.resource ?? mcpUrl].flat()) {
      if (granted.length > 0) grant.addResourceScope(resource, granted.join(" "));
      if (refused.length > 0) grant.rejectResourceScope(resource, refused.join(" "));
    }
    const result = { consent: { grantId: await grant.save() } };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  }

  return {
    issuer,
    mcpUrl,
    events,
    documents,
    calls: mcp.calls,
    tokens: mcp.tokens,
    hasRefused: mcp.hasRefused,
    secrets,
    expireAccessTokens: () => {
      epoch += 1;
    },
    async close() {
      await mcp.close();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const running = await startRealIssuer(JSON.parse(process.argv[2] ?? "{}"));
  process.stderr.write(`ready ${JSON.stringify({ issuer: running.issuer, mcpUrl: running.mcpUrl })}\n`);
  process.stdin.resume().on("end", () => process.exit(0));
}
