/** How is a request without valid credentials refused, and where does its challenge point to (RFC 6750, RFC 9728)? */
import type { AuthConfig } from "../../config/auth-config.js";
import { resourceAt } from "../../http/resources.js";
import type { JsonObject } from "../../wire/json.js";
import { HttpRefusal } from "../http-errors.js";

/** Why authentication failed; the label of a metric. */
export type AuthFailure =
  | "missing"
  | "unknown_key"
  | "expired"
  | "not_yet_valid"
  | "issuer"
  | "audience"
  | "algorithm"
  | "signature"
  | "unknown_signer"
  | "invalid"
  | "scope"
  | "unavailable";

/** Why credentials were refused, before the challenge is built. */
export class AuthError extends Error {
  override readonly name = "AuthError";
  constructor(
    readonly reason: AuthFailure,
    /** Contains nothing of the credentials. */
    message: string,
    override readonly cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** What a challenge requires of the next request. */
export interface ChallengeParameters {
  /** The URL of the resource metadata; absent where only API keys are accepted. */
  readonly metadataUrl?: string;
  readonly scopes: readonly string[];
}

/** Seconds until the issuer's keys are fetched again. */
const RETRY_AFTER_S = "5";

/** The HTTP refusal for `error`. A request without credentials gets no error code (RFC 6750, 3). */
export function refusal({ reason, message, cause }: AuthError, wanted: ChallengeParameters): HttpRefusal {
  if (reason === "unavailable") {
    const headers = { "retry-after": RETRY_AFTER_S };
    return new HttpRefusal(503, "unauthenticated", message, headers, { retryable: true, cause });
  }
  if (reason === "scope") {
    const headers = { "www-authenticate": challenge(wanted, "insufficient_scope") };
    return new HttpRefusal(403, "forbidden", message, headers);
  }
  const error = reason === "missing" ? undefined : "invalid_token";
  const headers = { "www-authenticate": challenge(wanted, error, error && message) };
  return new HttpRefusal(401, "unauthenticated", message, headers, { cause });
}

/** The value of `WWW-Authenticate` (RFC 6750, 3; RFC 9728, 5.1). Its values need no escaping; a test checks that. */
export function challenge(
  { metadataUrl, scopes }: ChallengeParameters,
  error?: "invalid_token" | "insufficient_scope",
  description?: string,
): string {
  const parameters = [
    error !== undefined && `error="${error}"`,
    description !== undefined && `error_description="${description}"`,
    metadataUrl !== undefined && `resource_metadata="${metadataUrl}"`,
    scopes.length > 0 && `scope="${scopes.join(" ")}"`,
  ].filter((parameter) => parameter !== false);
  return `Bearer ${parameters.length === 0 ? 'realm="cardea"' : parameters.join(", ")}`;
}

/** The path of the document, also served followed by the path of the resource (RFC 9728, 3.1). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** The URL of the metadata of `place` (`placeIn`) at `resource`. */
export function metadataUrlOf(resource: string, place: string): string {
  const { origin } = new URL(resource);
  return `${origin}${METADATA_PATH}${pathOf(resource)}${place}`;
}

/** The path of `resource`, without a trailing slash. */
export const pathOf = (resource: string): string => new URL(resource).pathname.replace(/\/$/, "");

/**
 * The metadata document of `place` at `resource` (RFC 9728, 2), which names the URL that the host uses (3.3). `issuers`: its
 * authorization servers, the preferred one first.
 */
export function resourceMetadata(
  { requiredScopes, jwt, signIn }: Pick<AuthConfig, "requiredScopes" | "jwt" | "signIn">,
  issuers: readonly string[],
  resource: string,
  place: string,
): JsonObject {
  const all = [...new Set([...requiredScopes, ...(jwt?.scopes ?? []), ...(signIn?.hostScopes ?? [])])];
  return {
    resource: resourceAt(resource, place),
    authorization_servers: issuers,
    ...(all.length > 0 && { scopes_supported: all }),
    bearer_methods_supported: ["header"],
    resource_name: "Cardea",
  };
}
