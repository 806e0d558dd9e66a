/** The authorization server metadata (RFC 8414). */
import { ENDPOINT_PATHS, SERVER_METADATA_PATH } from "../http/authorization-server-paths.js";
import type { JsonObject } from "../wire/json.js";

/** The document. `issuer` has no trailing slash. */
export function serverMetadata(issuer: string, scopes: readonly string[]): JsonObject {
  return {
    issuer,
    authorization_endpoint: `${issuer}${ENDPOINT_PATHS.authorize}`,
    token_endpoint: `${issuer}${ENDPOINT_PATHS.token}`,
    registration_endpoint: `${issuer}${ENDPOINT_PATHS.register}`,
    revocation_endpoint: `${issuer}${ENDPOINT_PATHS.revoke}`,
    jwks_uri: `${issuer}${ENDPOINT_PATHS.jwks}`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  };
}

/** Whether `path` is the metadata path of `issuer`: the well-known path, followed by the issuer's own. */
export function isMetadataPath(path: string, issuer: string): boolean {
  const own = new URL(issuer).pathname.replace(/\/$/, "");
  return [SERVER_METADATA_PATH, `${SERVER_METADATA_PATH}${own}`].includes(path.replace(/\/$/, ""));
}
