/** The authorization URL that a browser opens, and the state to keep until the callback (RFC 6749, 4.1.1; RFC 7636). */
import {
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
} from "oauth4webapi";
import { isLoopback } from "../../../http/loopback.js";
import type { ClientRegistration } from "../../vault/types.js";
import type { Discovered, Quirks } from "../types.js";
import { OAuthError, quotedText } from "./oauth-error.js";

/** Input of an authorization request. */
export interface AuthorizationRequestOptions {
  readonly discovered: Discovered;
  readonly client: ClientRegistration;
  /** https, or http on loopback. */
  readonly redirectUri: string;
  /** All requested scopes; for a step-up those requested earlier plus those of the challenge. */
  readonly scopes: readonly string[];
  readonly quirks?: Quirks | undefined;
  /** Whether an ID token is needed, for `sub` or for ID-JAG: adds the scope `openid` and a nonce. */
  readonly wantsIdToken?: boolean;
  /** Whether the tokens are used once and not stored, so that no refresh token (`offline_access`) is requested. */
  readonly isForOnce?: boolean;
}

/** Stored by the gateway per request, keyed by `state`. Plain data; `codeVerifier` is a secret. */
export interface PendingAuthorization {
  readonly state: string;
  readonly codeVerifier: string;
  /**
   * The issuer of the validated metadata; recorded before the redirect (2026-07-28: "Authorization Response
   * Validation").
   */
  readonly issuer: string;
  /** Whether the metadata advertises `iss` in authorization responses (RFC 9207, 3). */
  readonly advertisesIss: boolean;
  readonly redirectUri: string;
  /** As requested. */
  readonly scopes: readonly string[];
  readonly nonce?: string;
}

/**
 * Builds an authorization request.
 *
 * @throws OAuthError if the metadata does not advertise PKCE with S256, or the authorization endpoint is not an allowed
 * URL
 */
export async function authorizationRequest(
  options: AuthorizationRequestOptions,
): Promise<{ readonly url: string; readonly pending: PendingAuthorization }> {
  const { discovered, client, redirectUri, quirks = {}, wantsIdToken = false } = options;
  const { issuer, metadata } = discovered.authorizationServer;
  checkPkce(issuer, metadata.code_challenge_methods_supported, quirks);
  const url = authorizationUrl(issuer, metadata.authorization_endpoint);
  checkRedirectUri(redirectUri);
  const pending: PendingAuthorization = {
    state: generateRandomState(),
    codeVerifier: generateRandomCodeVerifier(),
    issuer,
    advertisesIss: metadata.authorization_response_iss_parameter_supported === true,
    redirectUri,
    scopes: scopesToAsk(
      options.scopes,
      options.isForOnce === true ? [] : metadata.scopes_supported,
      wantsIdToken,
    ),
    ...(wantsIdToken && { nonce: generateRandomNonce() }),
  };
  const parameters: Readonly<Record<string, string | undefined>> = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    scope: pending.scopes.length > 0 ? pending.scopes.join(" ") : undefined,
    state: pending.state,
    code_challenge: await calculatePKCECodeChallenge(pending.codeVerifier),
    code_challenge_method: "S256",
    nonce: pending.nonce,
    resource: quirks.noResource === true ? undefined : discovered.resource,
    // OpenID Connect Core, 11: a refresh token for `offline_access` needs consent.
    prompt: pending.scopes.includes("offline_access") ? "consent" : undefined,
  };
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return { url: url.href, pending };
}

function checkPkce(issuer: string, methods: unknown, { assumeS256 = false }: Quirks): void {
  if (assumeS256 || (Array.isArray(methods) && methods.includes("S256"))) return;
  const says = methods === undefined ? "has no code_challenge_methods_supported" : "does not name S256 there";
  throw new OAuthError(
    `The metadata of ${issuer} ${says}, so PKCE is not assured and MCP forbids the sign-in. If its documentation says that it supports PKCE with S256, set the quirk assume-s256 for this server.`,
    { quirk: "assume-s256" },
  );
}

/** Only https:, and http: on loopback: `file:`, `javascript:` and other schemes are never passed to a browser. */
function authorizationUrl(issuer: string, endpoint: unknown): URL {
  if (typeof endpoint !== "string" || !URL.canParse(endpoint)) {
    throw new OAuthError(
      `The metadata of ${issuer} names no authorization_endpoint: a person cannot sign in there. Set auth.type to client_credentials, or use the device grant.`,
    );
  }
  const url = new URL(endpoint);
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
  if (!isSafe) {
    const shown = quotedText(url.protocol);
    throw new OAuthError(`The authorization_endpoint of ${issuer} begins with ${shown}, and must be https:.`);
  }
  url.hash = "";
  return url;
}

function checkRedirectUri(redirectUri: string): void {
  const { protocol, hostname } = new URL(redirectUri);
  if (protocol === "https:" || (protocol === "http:" && isLoopback(hostname))) return;
  throw new OAuthError(
    `The redirect URI ${redirectUri} must be https:, or loopback. Set listen.http.publicUrl to an https URL.`,
  );
}

/** `offline_access` if the authorization server lists it (SEP-2207), `openid` if an ID token is wanted. */
function scopesToAsk(
  scopes: readonly string[],
  supported: unknown,
  wantsIdToken: boolean,
): readonly string[] {
  const isListed = Array.isArray(supported) && supported.includes("offline_access");
  return [
    ...new Set([
      ...(wantsIdToken ? ["openid"] : []),
      ...scopes,
      ...(isListed && (wantsIdToken || scopes.length > 0) ? ["offline_access"] : []),
    ]),
  ];
}
