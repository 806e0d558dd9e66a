/** ID-JAG (enterprise-managed authorization) and token exchange for `real-issuer.mjs`, as grant types of `oidc-provider`. */
import { randomUUID } from "node:crypto";
import { createLocalJWKSet, createRemoteJWKSet, importJWK, jwtVerify, SignJWT } from "jose";
import { errors } from "oidc-provider";

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

/**
 * As identity provider it exchanges its ID tokens for ID-JAGs, and any access token of its own for one of another audience;
 * as resource authorization server it takes the ID-JAGs of the issuers in `trusted`, and of itself, once each.
 */
export function addAssertionGrants(provider, { key, issuer, trusted, scope }) {
  const { d: _d, ...publicKey } = key;
  const ownKeys = createLocalJWKSet({ keys: [publicKey] });
  const keysOf = new Map([[issuer, ownKeys]]);
  for (const other of trusted) keysOf.set(other, createRemoteJWKSet(new URL(`${other}/jwks`)));
  const usedIds = new Set();

  provider.registerGrantType(
    TOKEN_EXCHANGE,
    async function exchange(ctx) {
      const { client, params } = ctx.oidc;
      if (client.clientAuthMethod === "none")
        throw new errors.InvalidClient("client authentication is required");
      const subject = await verified(params.subject_token, ownKeys, { issuer }, "invalid subject_token");
      const signing = await importJWK(key, "ES256");
      if (params.requested_token_type === ID_JAG) {
        if (params.audience === undefined) throw new errors.InvalidRequest("audience is required");
        const assertion = await new SignJWT({
          client_id: client.clientId,
          scope: params.scope,
          ...(params.resource && { resource: params.resource }),
        })
          .setProtectedHeader({ alg: "ES256", kid: key.kid, typ: "oauth-id-jag+jwt" })
          .setIssuer(issuer)
          .setSubject(subject.sub)
          .setAudience(params.audience)
          .setJti(randomUUID())
          .setIssuedAt()
          .setExpirationTime("5m")
          .sign(signing);
        ctx.body = { issued_token_type: ID_JAG, access_token: assertion, token_type: "N_A", expires_in: 300 };
        return;
      }
      const token = await accessToken(ctx, subject.sub, params.resource ?? params.audience, params.scope);
      ctx.body = {
        ...token,
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
      };
    },
    [
      ...["audience", "resource", "scope", "requested_token_type", "subject_token", "subject_token_type"],
      ...["actor_token", "actor_token_type"],
    ],
  );

  provider.registerGrantType(
    JWT_BEARER,
    async function bearer(ctx) {
      const { params } = ctx.oidc;
      const { iss } = JSON.parse(Buffer.from(params.assertion.split(".")[1] ?? "", "base64url").toString());
      const keys = keysOf.get(iss);
      if (keys === undefined) throw new errors.InvalidGrant("the issuer is not trusted");
      const expected = { issuer: iss, audience: issuer, typ: "oauth-id-jag+jwt" };
      const claims = await verified(params.assertion, keys, expected, "invalid assertion");
      if (usedIds.has(claims.jti)) throw new errors.InvalidGrant("the assertion was used before");
      usedIds.add(claims.jti);
      ctx.body = await accessToken(ctx, claims.sub, claims.resource ?? params.resource, claims.scope);
    },
    ["assertion", "scope", "resource"],
  );

  async function verified(token, keys, expected, sentence) {
    try {
      return (await jwtVerify(token, keys, expected)).payload;
    } catch (cause) {
      throw new errors.InvalidGrant(sentence, cause.message);
    }
  }

  async function accessToken(ctx, accountId, resource, asked = scope) {
    const { client } = ctx.oidc;
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    const granted = asked
      .split(" ")
      .filter((one) => scope.split(" ").includes(one))
      .join(" ");
    grant.addResourceScope(resource, granted);
    const grantId = await grant.save();
    const token = new provider.AccessToken({ client, accountId, grantId, gty: "assertion", scope: granted });
    token.resourceServer = new provider.ResourceServer(resource, {
      scope,
      audience: resource,
      accessTokenFormat: "jwt",
      jwt: { sign: { alg: "ES256" } },
    });
    const value = await token.save();
    return { access_token: value, token_type: token.tokenType, expires_in: token.expiration, scope: granted };
  }
}
