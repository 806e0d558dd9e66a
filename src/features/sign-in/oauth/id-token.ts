/** Validates the claims of an ID token (OpenID Connect Core, 3.1.3.7). */
import { decodeJwt, type JWTPayload } from "jose";

/** The expected values. */
export interface ExpectedIdToken {
  readonly issuer: string;
  readonly clientId: string;
  /** Of the authorization request; undefined if it had none. */
  readonly nonce?: string | undefined;
}

/** The claims, or why they are invalid. */
export type IdTokenClaims =
  | { readonly kind: "claims"; readonly subject: string; readonly claims: JWTPayload }
  | { readonly kind: "invalid"; readonly reason: string };

/** Allowed clock skew in seconds. */
const CLOCK_TOLERANCE_S = 120;

/**
 * Checks the claims of an ID token that came directly from the token endpoint over TLS, so that its signature need not
 * be verified (3.1.3.7, 6). Not for tokens that passed through a browser.
 *
 * @param now ms since 1970
 */
export function idTokenClaims(idToken: string, expected: ExpectedIdToken, now: number): IdTokenClaims {
  let claims: JWTPayload;
  try {
    claims = decodeJwt(idToken);
  } catch {
    return { kind: "invalid", reason: "the ID token is not a JWT" };
  }
  const { iss, aud, exp, sub, nonce, azp } = claims;
  const audiences = [aud ?? []].flat();
  const reason =
    iss !== expected.issuer
      ? "the ID token is from another issuer"
      : !audiences.includes(expected.clientId)
        ? "the ID token is for another client"
        : audiences.length > 1 && azp !== expected.clientId
          ? "the ID token was issued to another client (azp)"
          : typeof exp !== "number" || exp + CLOCK_TOLERANCE_S < now / 1000
            ? "the ID token has expired: is the clock of this machine right?"
            : expected.nonce !== undefined && nonce !== expected.nonce
              ? "the ID token is of another sign-in (nonce)"
              : undefined;
  if (reason !== undefined) return { kind: "invalid", reason };
  if (sub === undefined || sub === "") return { kind: "invalid", reason: "the ID token has no sub" };
  return { kind: "claims", subject: sub, claims };
}
