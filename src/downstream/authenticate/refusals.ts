/** How strangers are turned away: the status, the reason, and the challenge that says what would let them in. */
import { HttpRefusal } from "../http-errors.js";

/** Why somebody was not let in; the label of a metric. */
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

/** What the credentials lack, before it is known how to ask for better ones. */
export class AuthError extends Error {
  override readonly name = "AuthError";
  constructor(
    readonly reason: AuthFailure,
    /** A plain sentence with nothing of the credentials in it. */
    message: string,
    override readonly cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** What a challenge asks for. */
export interface ChallengeParameters {
  /** Where the metadata of the resource is; absent where only keys are taken. */
  readonly metadataUrl?: string;
  readonly scopes: readonly string[];
}

/** Keys that cannot be fetched now may be there after this, in s. */
const RETRY_AFTER_S = "5";

/** RFC 6750, 3: whoever sent no credentials is told no error. */
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

/** The value of `WWW-Authenticate` (RFC 6750, 3; RFC 9728, 5.1). Nothing in it needs escaping: a test knows. */
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
