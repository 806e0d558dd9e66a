/** At which paths of the main listener is the gateway an authorization server for its hosts? */

/** The metadata (RFC 8414), also served followed by the path of the issuer. */
export const SERVER_METADATA_PATH = "/.well-known/oauth-authorization-server";

/** The endpoints, below the issuer. */
export const ENDPOINT_PATHS = {
  authorize: "/oauth/authorize",
  /** Where the company's issuer sends a person back to. */
  callback: "/oauth/authorize/callback",
  token: "/oauth/token",
  register: "/oauth/register",
  revoke: "/oauth/revoke",
  jwks: "/oauth/jwks",
} as const;

/** One endpoint, or the metadata. */
export type AuthorizationServerEndpoint = keyof typeof ENDPOINT_PATHS | "metadata";
