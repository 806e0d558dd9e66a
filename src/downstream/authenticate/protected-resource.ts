/** What clients may read before they have a token: who issues one, and for what (RFC 9728). */
import type { AuthConfig, JwtConfig } from "../../config/config.js";
import type { JsonObject } from "../../wire/json.js";

/** The document stands here, and at this path followed by that of the resource (RFC 9728, 3.1). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** The address of the document that is about `resource`. */
export function metadataUrlOf(resource: string): string {
  const { origin } = new URL(resource);
  return `${origin}${METADATA_PATH}${pathOf(resource)}`;
}

/** Its path, without a slash at its end. */
export const pathOf = (resource: string): string => new URL(resource).pathname.replace(/\/$/, "");

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
