/** The sign-in settings of a server, from the config, as input for the OAuth client. */
import type { Config } from "../../config/config.js";
import type { ServerAuthConfig } from "../../config/server-auth.js";
import { type GuardedFetch, guardedFetch } from "../../outgoing/guarded-fetch.js";
import type { Network } from "../../outgoing/network.js";
import type { Credential } from "../vault/types.js";
import { importSigningKey, type TokenRequestContext } from "./oauth/client.js";
import type { PreparedSignIn } from "./pending-content.js";

/** A server that may need a sign-in. */
export interface SignInServer {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: ServerAuthConfig;
  /** The proxy and TLS settings of the server. */
  readonly network?: Network | undefined;
  /** Whether it is the company's issuer (`auth.idp`), not an MCP server. */
  readonly isIssuer?: true;
}

/** The server of this name where a person can sign in; undefined if there is none. */
export function signInServer(config: Config, name: string): SignInServer | undefined {
  const server = config.servers.find((each) => each.name === name);
  if (server?.auth === undefined || server.transport.kind !== "http") return undefined;
  const { url, headers, network } = server.transport;
  return { name, url, headers, auth: server.auth, ...(network !== undefined && { network }) };
}

/** The keys of the config with which the gateway proves itself as a client, each after `prefix`. */
export function proofKeys(
  { clientSecret, privateKey }: Pick<ServerAuthConfig, "clientSecret" | "privateKey">,
  prefix = "",
): string {
  const id = `${prefix}clientId`;
  if (privateKey !== undefined) return `${id}, ${prefix}privateKey and ${prefix}keyId`;
  return clientSecret === undefined ? id : `${id} and ${prefix}clientSecret`;
}

/** The id that owns the credentials of `principal` at the server. */
export const ownerAt = ({ auth }: SignInServer, principal: string): string =>
  auth.as === "principal" ? principal : auth.as;

/** The guarded fetch for all URLs that the server and its authorization server name. */
export const fetchFor = ({ url, auth, network }: SignInServer): GuardedFetch =>
  guardedFetch({ serverUrl: url, allowHosts: auth.allowHosts, network });

/** The members of a token request that all grants share. @throws OAuthError if the key cannot be used */
export async function tokenContext(
  server: SignInServer,
  about: Pick<Credential, "issuer" | "tokenEndpoint" | "client" | "resource">,
  now: () => number,
): Promise<TokenRequestContext> {
  const { quirks, privateKey, keyId } = server.auth;
  const { issuer, tokenEndpoint, client, resource } = about;
  const isSigned = client.tokenEndpointAuthMethod === "private_key_jwt" && privateKey !== undefined;
  return {
    ...{ issuer, tokenEndpoint, client, resource, quirks, now },
    fetch: fetchFor(server),
    ...(isSigned && { signingKey: await importSigningKey(privateKey, undefined, keyId) }),
  };
}

/** The members of a prepared sign-in that are stored with its tokens. */
export function endpointsOf({ discovered, client }: Pick<PreparedSignIn, "discovered" | "client">) {
  const { issuer, metadata } = discovered.authorizationServer;
  const { revocation_endpoint: revocation } = metadata;
  return {
    issuer,
    client,
    resource: discovered.resource,
    tokenEndpoint: String(metadata.token_endpoint),
    ...(typeof revocation === "string" && { revocationEndpoint: revocation }),
  };
}
