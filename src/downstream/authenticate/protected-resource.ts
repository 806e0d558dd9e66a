/** Which authorization server issues tokens for the gateway, as clients read it without a token (RFC 9728). */
import type { AuthConfig, JwtConfig } from "../../config/config.js";
import type { JsonObject } from "../../wire/json.js";

/** The path of the document, also served followed by the path of the resource (RFC 9728, 3.1). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** The URL of the metadata of `resource`. */
export function metadataUrlOf(resource: string): string {
  const { origin } = new URL(resource);
  return `${origin}${METADATA_PATH}${pathOf(resource)}`;
}

/** The path of `resource`, without a trailing slash. */
export const pathOf = (resource: string): string => new URL(resource).pathname.replace(/\/$/, "");

/** The metadata document of `resource` (RFC 9728, 2). */
export function resourceMetadata(
  { requiredScopes }: Pick<AuthConfig, "requiredScopes">,
  { issuer, scopes }: Pick<JwtConfig, "issuer" | "scopes">,
  resource: string,
): JsonObject {
  const all = [...new Set([...requiredScopes, ...scopes])];
  return {
    resource,
    authorization_servers: [issuer],
    ...(all.length > 0 && { scopes_supported: all }),
    bearer_methods_supported: ["header"],
    resource_name: "Cardea",
  };
}
