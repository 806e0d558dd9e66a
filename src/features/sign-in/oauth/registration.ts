/**
 * The client identity of the gateway at an authorization server (2026-07-28: basic/authorization/client-registration).
 */

import type { ClientRegistration } from "../../vault/types.js";
import type { AuthorizationServer } from "../types.js";
import { type DynamicRegistrationOptions, registerDynamically } from "./dynamic-registration.js";
import { OAuthError } from "./oauth-error.js";

/** A client from the config (`auth.clientId` …). */
export interface ConfiguredClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Whether it authenticates with a private key (`private_key_jwt`). */
  readonly hasKey?: boolean;
}

/** Input of a registration. */
export interface RegistrationOptions extends DynamicRegistrationOptions {
  readonly configured?: ConfiguredClient | undefined;
  /** https URL of the gateway's client ID metadata document; undefined if it has none. */
  readonly clientMetadataUrl?: string | undefined;
  /** The stored dynamic registration for this issuer and redirect URI; used instead of a new one. */
  readonly kept?: ClientRegistration | undefined;
}

/**
 * Chooses in the order of the specification: the client of the config, the metadata document if the server accepts one,
 * the stored dynamic registration, a new one. A result whose `source` is `dynamic` must be stored for its issuer and
 * redirect URI, and used for no other.
 *
 * @throws OAuthError if none is possible; the message names `auth.clientId`
 */
export async function register(options: RegistrationOptions): Promise<ClientRegistration> {
  const { authorizationServer, configured, clientMetadataUrl, kept, now } = options;
  const { issuer, metadata } = authorizationServer;
  if (configured !== undefined) return preRegistered(configured, authorizationServer);
  if (metadata.client_id_metadata_document_supported === true && clientMetadataUrl !== undefined) {
    return { clientId: clientMetadataUrl, tokenEndpointAuthMethod: "none", source: "metadata_document" };
  }
  if (kept !== undefined && (kept.secretExpiresAt ?? Number.POSITIVE_INFINITY) > now()) return kept;
  if (typeof metadata.registration_endpoint === "string") return registerDynamically(options);
  const noDocument =
    metadata.client_id_metadata_document_supported === true
      ? " It accepts client ID metadata documents: set listen.http.publicUrl (https) or auth.clientMetadataUrl, or"
      : " Register the gateway there by hand and";
  throw new OAuthError(
    `${issuer} has no dynamic client registration.${noDocument} set auth.clientId (and auth.clientSecret) for this server. The redirect URI is ${options.redirectUri}.`,
  );
}

/** The registration of a client from the config, with an authentication method that the server supports. */
function preRegistered(
  { clientId, clientSecret, hasKey = false }: ConfiguredClient,
  { metadata }: AuthorizationServer,
): ClientRegistration {
  if (hasKey) return { clientId, tokenEndpointAuthMethod: "private_key_jwt", source: "config" };
  if (clientSecret === undefined) return { clientId, tokenEndpointAuthMethod: "none", source: "config" };
  const methods = metadata.token_endpoint_auth_methods_supported;
  // RFC 8414, 2: the default is client_secret_basic.
  const takesOnlyPost =
    Array.isArray(methods) &&
    !methods.includes("client_secret_basic") &&
    methods.includes("client_secret_post");
  const tokenEndpointAuthMethod = takesOnlyPost ? "client_secret_post" : "client_secret_basic";
  return { clientId, clientSecret, tokenEndpointAuthMethod, source: "config" };
}
