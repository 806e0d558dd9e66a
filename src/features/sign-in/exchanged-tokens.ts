/**
 * Turns a person's login at the company's issuer into a token for a server, by an ID-JAG (extension
 * io.modelcontextprotocol/enterprise-managed-authorization) or by token exchange (RFC 8693).
 */

import { decodeJwt } from "jose";
import { idOfKey } from "../../core/principal.js";
import type { ClientRegistration, Credential, TokenSet, Vault } from "../vault/types.js";
import { loginServerOf } from "./login-server.js";
import {
  enterpriseTokens,
  exchangeToken,
  OAuthError,
  register,
  TOKEN_TYPES,
  takesIdJag,
} from "./oauth/client.js";
import { pinIssuer } from "./pinned-issuer.js";
import {
  checkAudience,
  clientDocumentUrl,
  configuredClient,
  discoverFor,
  discoverUnpinned,
  redirectUriOf,
} from "./prepare-sign-in.js";
import { type Renewal, renew } from "./renew.js";
import { endpointsOf, fetchFor, proofKeys, type SignInServer, tokenContext } from "./sign-in-server.js";
import type { Obtained, ObtainRequest, TokenEndpoint, TokenEndpointSettings } from "./token-endpoint.js";
import type { Discovered, TokenOutcome } from "./types.js";

/** Dependencies of an exchange. `principal` is the id under which login and token are stored. */
interface Exchange extends ObtainRequest {
  readonly settings: TokenEndpointSettings;
  /** The requests at the company's issuer. */
  readonly loginEndpoint: TokenEndpoint;
  readonly vault: Vault;
  readonly signal: AbortSignal;
}

/** Minimum remaining life (ms) of a subject token: clocks differ and requests take time. */
const LEFT_MS = 30_000;

/**
 * Tokens for the server of `settings`; `invalid_grant` if the person must sign in at the issuer. @throws OAuthError,
 * VaultError
 */
export async function exchangedTokens(exchange: Exchange): Promise<Obtained> {
  const { vault, signal, settings } = exchange;
  const { server } = settings;
  // By token exchange the authorization server of the server gets nothing.
  const { discovered } =
    server.auth.type === "token_exchange"
      ? await discoverUnpinned(server, undefined, undefined, signal)
      : await discoverFor(server, vault, undefined, signal);
  checkAudience(server, discovered);
  const first = await loginOf(exchange, undefined);
  if (first.kind !== "login") return first;
  const outcome = await exchanged(exchange, discovered, first.login);
  if (outcome.kind !== "invalid_grant") return outcome;
  // The issuer rejects this login: one retry with a renewed one.
  const second = await loginOf(exchange, first.login.tokens?.accessToken);
  return second.kind === "login" ? exchanged(exchange, discovered, second.login) : second;
}

type Failed = Exclude<TokenOutcome, { readonly kind: "tokens" }>;

/** The login with a valid subject token: the stored one, or the one that a refresh returns instead of `replaces`. */
async function loginOf(
  { settings, loginEndpoint: endpoint, vault, principal, signal }: Exchange,
  replaces: string | undefined,
): Promise<{ readonly kind: "login"; readonly login: Credential } | Failed> {
  const issuer = loginServerOf(settings.server);
  const tools = { vault, endpoint, now: Date.now, deadline: () => signal };
  const renewed = (due: string | undefined) =>
    renew({ server: issuer.name, principal, replaces: due }, tools);
  const kept = replaces ?? (await overdueToken(settings, vault, principal));
  return asLogin(issuer.name, principal, await renewed(kept));
}

/** The access token of a login whose subject token has expired or is about to; undefined if it is still valid. */
async function overdueToken(
  { server }: TokenEndpointSettings,
  vault: Vault,
  principal: string,
): Promise<string | undefined> {
  const tokens = (await vault.read(loginServerOf(server).name, principal))?.tokens;
  if (server.auth.idp?.subjectToken !== "id_token" || tokens?.idToken === undefined) return undefined;
  const { exp = 0 } = decodeJwt(tokens.idToken);
  return exp * 1000 > Date.now() + LEFT_MS ? undefined : tokens.accessToken;
}

function asLogin(
  issuer: string,
  principal: string,
  renewal: Renewal,
): { readonly kind: "login"; readonly login: Credential } | Failed {
  switch (renewal.kind) {
    case "usable":
      return { kind: "login", login: renewal.credential };
    case "sign_in_required":
      return { kind: "invalid_grant", description: `${idOfKey(principal)} has to sign in at ${issuer}` };
    case "failed": {
      const { reason, retryAfterMs, isFinal } = renewal;
      if (isFinal) return { kind: "refused", error: "login_not_renewed", description: reason };
      return { kind: "unavailable", reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    }
  }
}

async function exchanged(exchange: Exchange, discovered: Discovered, login: Credential): Promise<Obtained> {
  const { settings, principal, before, scopes, signal } = exchange;
  const { server } = settings;
  const subject = subjectOf(server.auth.idp?.subjectToken, login);
  if (subject === undefined) {
    const description = `${login.issuer} returned no ${server.auth.idp?.subjectToken}: request it with auth.idp.scopes`;
    return { kind: "refused", error: "no_subject_token", description };
  }
  const wanted = server.auth.scopes ?? discovered.scopes;
  const askedScopes = [...new Set([...(before?.askedScopes ?? []), ...wanted, ...scopes])];
  const issuer = loginServerOf(server);
  const atIssuer = { ...(await tokenContext(issuer, login, Date.now)), signal };
  if (server.auth.type === "token_exchange") {
    // The issuer itself makes a token for the server.
    const outcome = await exchangeToken(
      { ...atIssuer, resource: discovered.resource, quirks: server.auth.quirks },
      {
        ...subject,
        requestedTokenType: TOKEN_TYPES.accessToken,
        scopes: askedScopes,
        ...(server.auth.audience !== undefined && { audience: server.auth.audience }),
      },
    );
    if (outcome.kind === "invalid_client") return unknownAtIssuer(login, issuer, outcome);
    if (outcome.kind !== "tokens") return outcome;
    if (isOfLogin(outcome.tokens, login)) {
      const description = `${login.issuer} returned the token of the login itself, which must not be sent to a server`;
      return { kind: "refused", error: "not_exchanged", description };
    }
    const { tokenEndpoint, client } = login;
    const about = { issuer: login.issuer, tokenEndpoint, client, resource: discovered.resource };
    const signIn = {
      server: server.name,
      principal,
      ...about,
      askedScopes,
      grant: "token_exchange",
    } as const;
    return { kind: "tokens", tokens: withoutRefreshToken(outcome.tokens), signIn };
  }
  const client = await clientAt(exchange, discovered);
  const endpoints = endpointsOf({ discovered, client });
  await pinIssuer(exchange.vault, server, discovered.authorizationServer, Date.now());
  const atServer = { ...(await tokenContext(server, endpoints, Date.now)), signal };
  const outcome = await enterpriseTokens({
    // `resource` is sent to both (RFC 8707).
    identityProvider: { ...atIssuer, resource: discovered.resource, quirks: server.auth.quirks },
    ...subject,
    resourceServer: atServer,
    scopes: askedScopes,
  });
  if (outcome.kind === "invalid_grant" && outcome.at === "authorization_server") {
    // Another sign-in of the person would not change this result.
    const description = `${endpoints.issuer} does not accept the login of ${login.issuer}: ${outcome.description ?? "invalid_grant"}`;
    return { kind: "refused", error: "invalid_grant", description };
  }
  if (outcome.kind === "invalid_client" && outcome.at === "identity_provider") {
    return unknownAtIssuer(login, issuer, outcome);
  }
  if (outcome.kind !== "tokens") return outcome;
  const signIn = { server: server.name, principal, ...endpoints, askedScopes, grant: "jwt_bearer" } as const;
  return { kind: "tokens", tokens: withoutRefreshToken(outcome.tokens), signIn };
}

/** The company's issuer rejects the gateway's client of `auth.idp`. */
function unknownAtIssuer(
  { issuer, client }: Credential,
  { auth }: SignInServer,
  { description }: { readonly description?: string },
): Failed {
  const said = description === undefined ? "" : ` (${description})`;
  const advice = `correct ${proofKeys(auth, "auth.idp.")} in the config`;
  return {
    kind: "refused",
    error: "invalid_client",
    description: `${issuer} does not accept the client ${client.clientId}${said}: ${advice}`,
  };
}

/** The subject token; undefined if the login has none. */
function subjectOf(kind: "id_token" | "refresh_token" | "access_token" = "id_token", { tokens }: Credential) {
  const { idToken, refreshToken, accessToken } = tokens ?? {};
  const [subjectToken, subjectTokenType] = {
    id_token: [idToken, TOKEN_TYPES.idToken] as const,
    refresh_token: [refreshToken, TOKEN_TYPES.refreshToken] as const,
    access_token: [accessToken, TOKEN_TYPES.accessToken] as const,
  }[kind];
  return subjectToken === undefined ? undefined : { subjectToken, subjectTokenType };
}

/** The gateway as a client of the server's authorization server. @throws OAuthError if that accepts no ID-JAG */
async function clientAt({ settings, vault }: Exchange, discovered: Discovered): Promise<ClientRegistration> {
  const { server, baseUrl } = settings;
  const { authorizationServer } = discovered;
  const { issuer } = authorizationServer;
  if (takesIdJag(authorizationServer) === false) {
    throw new OAuthError(
      `${issuer} accepts no ID-JAG (authorization_grant_profiles_supported). Use "auth.type": "oauth" for ${server.name}.`,
    );
  }
  const redirectUri = redirectUriOf(baseUrl, server);
  const kept = await vault.readClient(issuer, redirectUri);
  const client = await register({
    ...{ authorizationServer, redirectUri, kept },
    quirks: server.auth.quirks,
    fetch: fetchFor(server),
    now: Date.now,
    configured: configuredClient(server),
    clientMetadataUrl: server.auth.clientMetadataUrl ?? clientDocumentUrl(baseUrl),
  });
  if (client.source === "dynamic" && client !== kept) await vault.writeClient(issuer, redirectUri, client);
  return client;
}

/** Whether the issuer refused the exchange. */
const isOfLogin = ({ accessToken }: TokenSet, { tokens }: Credential): boolean =>
  [tokens?.accessToken, tokens?.idToken, tokens?.refreshToken].includes(accessToken);

/** The next token is exchanged again; there is no refresh token. */
const withoutRefreshToken = ({ refreshToken: _, ...tokens }: TokenSet) => tokens;
