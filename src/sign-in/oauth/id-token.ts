/** Whom does an ID token name (OpenID Connect Core, 3.1.3.7)? */
import { decodeJwt, type JWTPayload } from "jose";

/** What an ID token must agree with. */
export interface ExpectedIdToken {
  readonly issuer: string;
  readonly clientId: string;
  /** Of the authorization request; undefined where there was none. */
  readonly nonce?: string | undefined;
}

/** The claims, or why they must not be used. */
export type IdTokenClaims =
  | { readonly kind: "claims"; readonly subject: string; readonly claims: JWTPayload }
  | { readonly kind: "invalid"; readonly reason: string };

/** In seconds, for clocks that differ. */
const CLOCK_TOLERANCE_S = 120;

/**
 * Checks the claims of an ID token that came from the token endpoint itself: over TLS, so that its signature need not be
 * checked (3.1.3.7, 6). Never use it for one that came through a browser.
 *
 * @param now ms since 1970
 */
export function idTokenClaims(idToken: string, expected: ExpectedIdToken, now: number): IdTokenClaims {
  let claims: JWTPayload;
  try {
    claims = decodeJwt(idToken);
  } catch {
    return { kind: "invalid", reason: "the ID token is no JWT" };
  }
  const { iss, aud, exp, sub, nonce, azp } = claims;
  const audiences = [aud ?? []].flat();
  const reason =
    iss !== expected.issuer
      ? "the ID token is of another issuer"
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
  if (sub === undefined || sub === "") return { kind: "invalid", reason: "the ID token names no sub" };
  return { kind: "claims", subject: sub, claims };
}
