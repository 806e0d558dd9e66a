/**
 * Enterprise-managed authorization (extension io.modelcontextprotocol/enterprise-managed-authorization): one login at
 * the company's issuer yields tokens for each capable server, through an ID-JAG.
 */
import type { AuthorizationServer, TokenOutcome } from "../types.js";
import { exchangeToken, redeemAssertion } from "./grants.js";
import type { TokenRequestContext } from "./token-request.js";

/** RFC 8693, 3, and draft-ietf-oauth-identity-assertion-authz-grant. */
export const TOKEN_TYPES = {
  accessToken: "urn:ietf:params:oauth:token-type:access_token",
  refreshToken: "urn:ietf:params:oauth:token-type:refresh_token",
  idToken: "urn:ietf:params:oauth:token-type:id_token",
  idJag: "urn:ietf:params:oauth:token-type:id-jag",
} as const;

const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

/** Whether an authorization server accepts ID-JAGs by its metadata; undefined if it does not say. */
export function takesIdJag({ metadata }: AuthorizationServer): boolean | undefined {
  const profiles = metadata.authorization_grant_profiles_supported;
  return Array.isArray(profiles) ? profiles.includes(ID_JAG_PROFILE) : undefined;
}

/** Both sides of the exchange. */
export interface EnterpriseRequest {
  /** At the company's issuer; its `resource` is sent too if set. */
  readonly identityProvider: TokenRequestContext;
  /** The result of the person's login at that issuer. */
  readonly subjectToken: string;
  /** One of `TOKEN_TYPES`: an issuer accepts ID tokens, and possibly refresh tokens. */
  readonly subjectTokenType: string;
  /** At the authorization server of the MCP server. */
  readonly resourceServer: TokenRequestContext;
  readonly scopes: readonly string[];
}

/**
 * The side that refused: the company's issuer (the person's login there may have expired) or the server's authorization
 * server.
 */
export type EnterpriseOutcome = TokenOutcome & { readonly at: "identity_provider" | "authorization_server" };

/** Exchanges the person's login for an ID-JAG, and that for an access token. The ID-JAG is used once and not stored. */
export async function enterpriseTokens(request: EnterpriseRequest): Promise<EnterpriseOutcome> {
  const { identityProvider, resourceServer, scopes } = request;
  const assertion = await exchangeToken(
    { ...identityProvider, resource: identityProvider.resource ?? resourceServer.resource },
    {
      subjectToken: request.subjectToken,
      subjectTokenType: request.subjectTokenType,
      requestedTokenType: TOKEN_TYPES.idJag,
      audience: resourceServer.issuer,
      scopes,
    },
  );
  if (assertion.kind !== "tokens") return { ...assertion, at: "identity_provider" };
  const outcome = await redeemAssertion(resourceServer, assertion.tokens.accessToken, scopes);
  return { ...outcome, at: "authorization_server" };
}
