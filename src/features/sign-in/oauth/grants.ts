/** The token requests of each grant. None throws for a response of the authorization server. */
import type { TokenOutcome } from "../types.js";
import type { PendingAuthorization } from "./authorization-request.js";
import { idTokenClaims } from "./id-token.js";
import { type TokenRequestContext, tokenRequest } from "./token-request.js";

/** Scopes as the `scope` parameter; undefined for none. */
export const scopeParameter = (scopes: readonly string[]): string | undefined =>
  scopes.length > 0 ? scopes.join(" ") : undefined;

/**
 * Redeems an authorization code (RFC 6749, 4.1.3; RFC 7636, 4.5). The code is spent, whatever the response.
 *
 * An ID token in the response is checked with the nonce of the request; if that fails the outcome is `refused`.
 */
export async function redeemCode(
  context: TokenRequestContext,
  code: string,
  pending: PendingAuthorization,
): Promise<TokenOutcome> {
  const { codeVerifier, redirectUri } = pending;
  const parameters = { code, redirect_uri: redirectUri, code_verifier: codeVerifier };
  const outcome = await tokenRequest(context, "authorization_code", parameters, ["code", "code_verifier"]);
  const idToken = outcome.kind === "tokens" ? outcome.tokens.idToken : undefined;
  if (idToken === undefined || pending.nonce === undefined) return outcome;
  const expected = { issuer: context.issuer, clientId: context.client.clientId, nonce: pending.nonce };
  const claims = idTokenClaims(idToken, expected, context.now());
  if (claims.kind === "claims") return outcome;
  return { kind: "refused", error: "invalid_id_token", description: claims.reason };
}

/**
 * Refreshes (RFC 6749, 6). The tokens of the outcome always have a refresh token: the one in the response, otherwise
 * the one that was sent. `scopes` must not exceed the granted ones; omitted, they stay.
 */
export async function refreshTokens(
  context: TokenRequestContext,
  refreshToken: string,
  scopes: readonly string[] = [],
): Promise<TokenOutcome> {
  const parameters = { refresh_token: refreshToken, scope: scopeParameter(scopes) };
  const outcome = await tokenRequest(context, "refresh_token", parameters, ["refresh_token"]);
  if (outcome.kind !== "tokens") return outcome;
  return { kind: "tokens", tokens: { refreshToken, ...outcome.tokens } };
}

/** Client credentials (RFC 6749, 4.4; extension io.modelcontextprotocol/oauth-client-credentials). */
export const clientCredentials = (
  context: TokenRequestContext,
  scopes: readonly string[],
): Promise<TokenOutcome> => tokenRequest(context, "client_credentials", { scope: scopeParameter(scopes) });

/** Redeems a JWT as an authorization grant (RFC 7523, 2.1): the second half of ID-JAG. */
export const redeemAssertion = (
  context: TokenRequestContext,
  assertion: string,
  scopes: readonly string[] = [],
): Promise<TokenOutcome> =>
  tokenRequest(
    context,
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    { assertion, scope: scopeParameter(scopes) },
    ["assertion"],
  );

/** The subject token and the requested token type (RFC 8693, 2.1). */
export interface TokenExchange {
  readonly subjectToken: string;
  /** For example `urn:ietf:params:oauth:token-type:access_token`. */
  readonly subjectTokenType: string;
  readonly actorToken?: string;
  readonly actorTokenType?: string;
  readonly requestedTokenType?: string;
  readonly audience?: string;
  readonly scopes?: readonly string[];
}

/** Exchanges a token (RFC 8693). `resource` of the context is sent too. */
export const exchangeToken = (context: TokenRequestContext, exchange: TokenExchange): Promise<TokenOutcome> =>
  tokenRequest(
    context,
    "urn:ietf:params:oauth:grant-type:token-exchange",
    {
      subject_token: exchange.subjectToken,
      subject_token_type: exchange.subjectTokenType,
      actor_token: exchange.actorToken,
      actor_token_type: exchange.actorTokenType,
      requested_token_type: exchange.requestedTokenType,
      audience: exchange.audience,
      scope: scopeParameter(exchange.scopes ?? []),
    },
    ["subject_token", "actor_token"],
  );
