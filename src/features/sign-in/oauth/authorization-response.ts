/** Validates an authorization response before its code is used (RFC 9207; RFC 6749, 4.1.2). */
import type { PendingAuthorization } from "./authorization-request.js";
import { quotedText } from "./oauth-error.js";

/** The result of the check. */
export type AuthorizationResponse =
  | { readonly kind: "code"; readonly code: string }
  /** The authorization server, or the person, refused. */
  | { readonly kind: "denied"; readonly error: string; readonly description?: string }
  /** The response is not from the expected issuer; nothing of it is shown or used. */
  | { readonly kind: "rejected"; readonly reason: string };

/**
 * Checks a response before its code is sent: first the issuer, by simple string comparison of the decoded value, then
 * `state`. Nothing of an invalid response is repeated, including its `error`.
 *
 * @param parameters the query of the callback URL
 */
export function authorizationResponse(
  parameters: URLSearchParams,
  pending: PendingAuthorization,
): AuthorizationResponse {
  const repeated = ["iss", "state", "code", "error"].find((name) => parameters.getAll(name).length > 1);
  if (repeated !== undefined) {
    return { kind: "rejected", reason: `The response repeats ${repeated} (RFC 6749, 3.1). Sign in again.` };
  }
  const wrongIssuer = whyWrongIssuer(parameters.get("iss"), pending);
  if (wrongIssuer !== undefined) return { kind: "rejected", reason: `${wrongIssuer} Sign in again.` };
  if (parameters.get("state") !== pending.state) {
    return {
      kind: "rejected",
      reason:
        "The state of the response is not that of the request: it belongs to another sign-in. Sign in again.",
    };
  }
  const error = parameters.get("error");
  if (error !== null) {
    const description = parameters.get("error_description");
    return {
      kind: "denied",
      error: quotedText(error),
      ...(description !== null && { description: quotedText(description) }),
    };
  }
  const code = parameters.get("code");
  if (code === null || code === "") {
    return { kind: "rejected", reason: "The response has neither a code nor an error. Sign in again." };
  }
  return { kind: "code", code };
}

/** The four cases of 2026-07-28, basic/authorization, "Authorization Response Validation". */
function whyWrongIssuer(
  iss: string | null,
  { issuer, advertisesIss }: PendingAuthorization,
): string | undefined {
  if (iss === null) {
    if (!advertisesIss) return undefined;
    return `The response has no iss, although ${issuer} advertises it (RFC 9207).`;
  }
  if (iss === issuer) return undefined;
  return `The response is from another authorization server than ${issuer}, to which the browser was sent (RFC 9207).`;
}
