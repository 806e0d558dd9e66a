/** A real oidc-provider whose refresh tokens are valid once; a second use ends the whole grant. */

import { once } from "node:events";
import { createServer } from "node:http";

const CLIENT = "cardea";

export async function startRotatingIssuer() {
  // It warns of Node 20 as it is loaded.
  const { default: Provider } = await import("oidc-provider");
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT,
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: ["http://127.0.0.1/oauth/callback"],
        application_type: "native",
      },
    ],
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    rotateRefreshToken: true,
    scopes: ["openid", "offline_access"],
    ttl: { AccessToken: 3_600, RefreshToken: 86_400, Grant: 86_400 },
    features: { devInteractions: { enabled: false } },
  });
  const counts = { refreshes: 0, reuses: 0, issued: 0 };
  provider.on("grant.success", () => {
    counts.refreshes += 1;
    counts.issued += 1;
  });
  provider.on("grant.error", (_ctx, error) => {
    if (/already used|not found/.test(`${error.error_description} ${error.error_detail}`)) counts.reuses += 1;
  });
  server.on("request", provider.callback());
  return {
    tokenEndpoint: `${issuer}/token`,
    counts: () => counts,
    /** Calls `listener` when the next refresh was granted, before its answer is sent. */
    onceGranted: (listener) => void provider.once("grant.success", listener),
    /** Signs a person in, as the page of the issuer would. */
    async signIn() {
      const grant = new provider.Grant({ accountId: "ann", clientId: CLIENT });
      grant.addOIDCScope("openid offline_access");
      const grantId = await grant.save();
      const client = await provider.Client.find(CLIENT);
      const shared = {
        accountId: "ann",
        client,
        grantId,
        gty: "authorization_code",
        scope: "openid offline_access",
      };
      const refreshToken = await new provider.RefreshToken({ ...shared, expiresWithSession: false }).save();
      const accessToken = await new provider.AccessToken(shared).save();
      counts.issued += 1;
      const obtainedAt = Date.now();
      return {
        issuer,
        resource: `${issuer}/mcp`,
        client: { clientId: CLIENT, tokenEndpointAuthMethod: "none", source: "config" },
        tokenEndpoint: `${issuer}/token`,
        grant: "authorization_code",
        tokens: { accessToken, refreshToken, obtainedAt, expiresAt: obtainedAt + 3_600_000 },
        askedScopes: ["openid", "offline_access"],
      };
    },
    async isLive(header) {
      return (await provider.AccessToken.find(header.replace("Bearer ", ""))) !== undefined;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
