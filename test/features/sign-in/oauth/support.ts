/** The OAuth client in front of the adversarial server or the real issuer. */

import {
  authorizationRequest,
  authorizationResponse,
  type ConfiguredClient,
  type Discovery,
  discover,
  type PendingAuthorization,
  redeemCode,
  register,
  type TokenRequestContext,
} from "../../../../src/features/sign-in/oauth/client.js";
import type { Quirks, TokenOutcome } from "../../../../src/features/sign-in/types.js";
import type { ClientRegistration, TokenSet } from "../../../../src/features/vault/types.js";
import { type GuardedFetchOptions, guardedFetch } from "../../../../src/outgoing/guarded-fetch.js";

export const REDIRECT_URI = "http://127.0.0.1:7/oauth/callback";
/** ms since 1970. */
export const NOW = 1_790_000_000_000;

/** A fetch for `serverUrl` with the timeout `timeoutMs`. */
export const fetchFor = (serverUrl: string, more: Partial<GuardedFetchOptions> = {}) =>
  guardedFetch({ serverUrl, ...more });

interface Way {
  readonly quirks?: Quirks;
  readonly issuer?: string;
  readonly timeoutMs?: number;
}

/** Asks the server without a token, and discovers by its challenge. */
export async function discoverAt(
  mcpUrl: string,
  { quirks = {}, issuer, timeoutMs }: Way = {},
): Promise<Discovery> {
  const refusal = await fetch(mcpUrl, { method: "POST" });
  return discover({
    serverUrl: mcpUrl,
    challenge: refusal.headers.get("www-authenticate") ?? undefined,
    quirks,
    issuer,
    fetch: fetchFor(mcpUrl, timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

/** What a token request at the discovered authorization server needs. */
export function contextOf(
  mcpUrl: string,
  { discovered }: Discovery,
  client: ClientRegistration,
  more: Partial<TokenRequestContext> = {},
): TokenRequestContext {
  const { issuer, metadata } = discovered.authorizationServer;
  return {
    issuer,
    tokenEndpoint: String(metadata.token_endpoint),
    client,
    resource: discovered.resource,
    fetch: fetchFor(mcpUrl),
    now: () => NOW,
    ...more,
  };
}

interface SignIn extends Way {
  readonly scopes?: readonly string[];
  readonly wantsIdToken?: boolean;
  readonly configured?: ConfiguredClient;
  readonly clientMetadataUrl?: string;
}

/** Everything of a sign-in up to the tokens; `browser` returns the callback URL. */
export async function signIn(
  mcpUrl: string,
  browser: (url: string) => Promise<string>,
  { scopes, wantsIdToken = false, configured, clientMetadataUrl, ...way }: SignIn = {},
) {
  const found = await discoverAt(mcpUrl, way);
  const { discovered } = found;
  const client = await register({
    authorizationServer: discovered.authorizationServer,
    redirectUri: REDIRECT_URI,
    configured,
    clientMetadataUrl,
    quirks: way.quirks,
    fetch: fetchFor(mcpUrl),
    now: () => NOW,
  });
  const { url, pending } = await authorizationRequest({
    discovered,
    client,
    redirectUri: REDIRECT_URI,
    scopes: scopes ?? discovered.scopes,
    quirks: way.quirks,
    wantsIdToken,
  });
  const context = contextOf(mcpUrl, found, client, { quirks: way.quirks });
  const callback = await browser(url);
  const outcome = await redeem(context, callback, pending);
  return { found, client, context, pending, url, callback, outcome };
}

/** Checks the callback and redeems its code. */
export async function redeem(
  context: TokenRequestContext,
  callback: string,
  pending: PendingAuthorization,
): Promise<TokenOutcome> {
  const response = authorizationResponse(new URL(callback).searchParams, pending);
  if (response.kind !== "code") throw new Error(JSON.stringify(response));
  return redeemCode(context, response.code, pending);
}

/** The tokens of an outcome. @throws Error where it has none */
export function tokensOf(outcome: TokenOutcome): TokenSet {
  if (outcome.kind === "tokens") return outcome.tokens;
  throw new Error(JSON.stringify(outcome));
}
