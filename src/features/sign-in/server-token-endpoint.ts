/** Token requests for one server of the config. Also runs in the renewal process. */

import type { ClientRegistration, Credential, Vault } from "../vault/types.js";
import { exchangedTokens } from "./exchanged-tokens.js";
import { loginServerOf } from "./login-server.js";
import {
  bearerChallenge,
  clientCredentials,
  OAuthError,
  refreshTokens,
  register,
  type TokenRequestContext,
} from "./oauth/client.js";
import { isFor } from "./owned-record.js";
import { pinIssuer } from "./pinned-issuer.js";
import { checkAudience, configuredClient, discoverFor, redirectUriOf } from "./prepare-sign-in.js";
import { endpointsOf, fetchFor, proofKeys, type SignInServer, tokenContext } from "./sign-in-server.js";
import type { Obtained, ObtainRequest, TokenEndpoint, TokenEndpointSettings } from "./token-endpoint.js";
import type { TokenOutcome } from "./types.js";

/** By name: in the published program this code is in a chunk, with the module beside it. */
const MODULE = new URL("./server-token-endpoint.js", import.meta.url).href;

/** The requests for the server of `settings`; `vault` holds the logins and stores new dynamic registrations. */
export function tokenEndpointOf(settings: TokenEndpointSettings, vault: Vault): TokenEndpoint {
  const { server } = settings;
  const { type } = server.auth;
  const isExchanged = type === "enterprise" || type === "token_exchange";
  return {
    accepts: (credential) => isFor(server, credential),
    proof: proofKeys(server.auth),
    refresh: (credential, signal) => refresh(server, credential, signal),
    registerAgain: (credential, signal) => registerAgain(settings, vault, credential, signal),
    ...((type === "client_credentials" || type === "private_key_jwt") && {
      obtain: (request, signal) => orOutcome(() => clientTokens(server, vault, request, signal)),
    }),
    ...(isExchanged && {
      obtain: (request, signal) => {
        const loginEndpoint = tokenEndpointOf({ ...settings, server: loginServerOf(server) }, vault);
        return orOutcome(() => exchangedTokens({ settings, loginEndpoint, vault, signal, ...request }));
      },
      refreshesLogin: true,
    }),
    challengedScopes(challenge) {
      const { error, scope = "" } = bearerChallenge(challenge) ?? {};
      return error === "insufficient_scope" ? scope.split(" ").filter((one) => one !== "") : [];
    },
    recipe: { module: MODULE, settings },
  };
}

async function refresh(
  server: SignInServer,
  credential: Credential,
  signal: AbortSignal,
): Promise<TokenOutcome> {
  const refreshToken = credential.tokens?.refreshToken;
  if (refreshToken === undefined) return { kind: "invalid_grant", description: "there is no refresh token" };
  return withContext(server, credential, signal, (context) => refreshTokens(context, refreshToken));
}

/** A refresh token of another authorization server is useless. */
async function registerAgain(
  { server, baseUrl }: TokenEndpointSettings,
  vault: Pick<Vault, "writeClient" | "readPin">,
  { issuer, client }: Credential,
  signal: AbortSignal,
): Promise<ClientRegistration | undefined> {
  if (client.source !== "dynamic") return undefined;
  try {
    const { discovered } = await discoverFor(server, vault, undefined, signal);
    const { authorizationServer } = discovered;
    if (authorizationServer.issuer !== issuer) return undefined;
    const redirectUri = redirectUriOf(baseUrl, server);
    const made = await register({
      ...{ authorizationServer, redirectUri },
      quirks: server.auth.quirks,
      fetch: fetchFor(server),
      now: Date.now,
    });
    await vault.writeClient(issuer, redirectUri, made);
    return made;
  } catch (error) {
    // The sign-in that follows has the same problem and reports it.
    if (error instanceof OAuthError) return undefined;
    throw error;
  }
}

/** Client credentials (RFC 6749, 4.4), with a secret or a signed assertion. @throws OAuthError */
async function clientTokens(
  server: SignInServer,
  vault: Vault,
  { principal, before, scopes }: ObtainRequest,
  signal: AbortSignal,
): Promise<Obtained> {
  const { auth, name } = server;
  const { discovered } = await discoverFor(server, vault, undefined, signal);
  checkAudience(server, discovered);
  const client = await register({
    authorizationServer: discovered.authorizationServer,
    // A client from the config needs no registration and no redirect.
    redirectUri: "",
    quirks: auth.quirks,
    fetch: fetchFor(server),
    now: Date.now,
    configured: configuredClient(server),
  });
  const wanted = auth.scopes ?? discovered.scopes;
  const askedScopes = [...new Set([...(before?.askedScopes ?? []), ...wanted, ...scopes])];
  const endpoints = endpointsOf({ discovered, client });
  await pinIssuer(vault, server, discovered.authorizationServer, Date.now());
  const outcome = await withContext(server, endpoints, signal, (context) =>
    clientCredentials(context, askedScopes),
  );
  if (outcome.kind !== "tokens") return outcome;
  const signIn = {
    ...{ server: name, principal, ...endpoints, askedScopes },
    grant: "client_credentials",
  } as const;
  return { kind: "tokens", tokens: outcome.tokens, signIn };
}

/** An error before a request becomes its outcome. */
async function orOutcome(obtain: () => Promise<Obtained>): Promise<Obtained> {
  try {
    return await obtain();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const { isTemporary, message, code } = error;
    return isTemporary
      ? { kind: "unavailable", reason: message }
      : { kind: "refused", error: code, description: message };
  }
}

/** Sends a request with the context of the server. An unusable key is a refusal. */
async function withContext(
  server: SignInServer,
  about: Pick<Credential, "issuer" | "tokenEndpoint" | "client" | "resource">,
  signal: AbortSignal,
  send: (context: TokenRequestContext) => Promise<TokenOutcome>,
): Promise<TokenOutcome> {
  try {
    return await send({ ...(await tokenContext(server, about, Date.now)), signal });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return { kind: "refused", error: "unusable_client", description: error.message };
  }
}
