/** Whether a token (JWT) of the authorization server is valid for this gateway, and which principal it names. */

import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { JwtConfig } from "../../config/auth-config.js";
import { groupsIn, PERSON_ISSUER, subjectFault } from "../../core/claims.js";
import { type Principal, tokenScopes } from "../../core/client.js";
import { principalOf } from "../../core/principal.js";
import { endpointOf } from "../../http/resources.js";
import type { JsonObject } from "../../wire/json.js";
import { hasHiddenCharacters } from "../../wire/readable-text.js";
import { KeysUnavailable } from "./issuer-keys.js";
import { AuthError, type AuthFailure } from "./refusals.js";

/** What a token must satisfy. */
export interface TokenSettings {
  readonly jwt: Pick<JwtConfig, "issuer" | "algorithms" | "groupsClaim">;
  /** One of these must be in `aud`, or the resource. */
  readonly audience: readonly string[];
  /** The URL of the gateway, where it is the audience: one of its endpoints may be in `aud` too. */
  readonly resource?: string;
  readonly requiredScopes: readonly string[];
  /** Ids that no token may claim: see `reservedIn`. */
  readonly isReserved: (id: string) => boolean;
  /** The issuer that knows the persons: `jwt.issuer`, or the company's one behind the gateway's own. */
  readonly personIssuer: string;
  readonly keyOf: JWTVerifyGetKey;
}

/** The principal of a verified token, and when the token expires. */
export interface CheckedToken {
  readonly principal: Principal;
  /** The endpoints that the token is meant for; absent if it is for the whole gateway. */
  readonly endpoints?: readonly string[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Allowed clock skew, in s. */
const LEEWAY_S = 60;

/**
 * Verifies the signature and claims of a JWT (RFC 7519), and reads its principal.
 *
 * @throws AuthError
 */
export async function checkToken(text: string, settings: TokenSettings): Promise<CheckedToken> {
  const { jwt, requiredScopes, isReserved, personIssuer, keyOf } = settings;
  const payload = await withAuthErrors(async () => {
    // Checked first, unverified, so that a token of another issuer fetches no keys.
    if (decodeJwt(text).iss !== jwt.issuer) throw new AuthError("issuer", "the token is of another issuer");
    return jwtVerify(text, keyOf, {
      issuer: jwt.issuer,
      algorithms: [...jwt.algorithms],
      clockTolerance: LEEWAY_S,
      requiredClaims: ["exp", "sub"],
    });
  });
  const { exp = 0 } = payload;
  const endpoints = endpointsOf(payload, settings);
  const id = subjectOf(payload);
  if (isReserved(id)) {
    throw new AuthError("invalid", "the token's subject (sub) is a reserved id");
  }
  // Of a token of the gateway: the issuer at which its person has signed in.
  if (payload[PERSON_ISSUER] !== undefined && payload[PERSON_ISSUER] !== personIssuer)
    throw new AuthError("issuer", "the token is of a person of another issuer");
  const claims: JsonObject = payload;
  const groups = groupsIn(claims, jwt.groupsClaim);
  if (groups.some(hasHiddenCharacters))
    throw new AuthError("invalid", "a group of the token has hidden characters");
  const principal = principalOf({ issuer: personIssuer }, id, { groups, claims, byToken: true });
  const granted = tokenScopes(principal);
  if (!requiredScopes.every((scope) => granted.has(scope))) {
    throw new AuthError("scope", `the token needs the scopes ${requiredScopes.join(" ")}`);
  }
  return { principal, expiresAt: exp * 1000, ...(endpoints !== undefined && { endpoints }) };
}

/** The endpoints that the token is meant for; undefined for the whole gateway. @throws AuthError */
function endpointsOf(
  { aud }: JWTPayload,
  { audience, resource }: Pick<TokenSettings, "audience" | "resource">,
): readonly string[] | undefined {
  const named = [aud ?? []].flat();
  if (named.some((each) => audience.includes(each))) return undefined;
  const endpoints =
    resource === undefined
      ? []
      : named.map((each) => endpointOf(each, resource)).filter((each) => each !== undefined);
  if (endpoints.length === 0) throw new AuthError("audience", "the token is not meant for this gateway");
  return endpoints.includes("") ? undefined : endpoints;
}

/** Whether `text` claims to be a token of `issuer`; nothing is verified. */
export function isOf(issuer: string, text: string): boolean {
  try {
    return decodeJwt(text).iss === issuer;
  } catch {
    // `checkToken` says what is wrong with it.
    return false;
  }
}

/** The keys of the gateway's own authorization server; a disk that fails makes no token invalid. */
export const ownKeys =
  (keyOf: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keyOf(header, token);
    } catch (cause) {
      if (cause instanceof errors.JOSEError) throw cause;
      throw new KeysUnavailable("the keys of the gateway cannot be read", { cause });
    }
  };

/** Turns the errors of jose and of the key fetch into `AuthError`. */
async function withAuthErrors(work: () => Promise<{ readonly payload: JWTPayload }>): Promise<JWTPayload> {
  try {
    return (await work()).payload;
  } catch (error) {
    if (error instanceof AuthError) throw error;
    if (error instanceof KeysUnavailable) {
      throw new AuthError("unavailable", `tokens cannot be checked now: ${error.message}`, error);
    }
    const [reason, message] = authFailureOf(error);
    throw new AuthError(reason, message, error);
  }
}

function authFailureOf(error: unknown): readonly [AuthFailure, string] {
  if (error instanceof errors.JWTExpired) return ["expired", "the token has expired"];
  if (error instanceof errors.JWTClaimValidationFailed) return claimFailure(error.claim, error.reason);
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return ["algorithm", "the token's signature algorithm (alg) is not allowed"];
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return ["signature", "the token's signature is wrong"];
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return ["unknown_signer", "the token is signed with a key that its issuer does not have"];
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return ["unknown_signer", "the token does not say with which key it is signed"];
  }
  return ["invalid", "the token cannot be read"];
}

function claimFailure(claim: string, reason: string): readonly [AuthFailure, string] {
  if (claim === "iss") return ["issuer", "the token is of another issuer"];
  if (claim === "nbf" && reason === "check_failed") return ["not_yet_valid", "the token is not valid yet"];
  return ["invalid", `the token's claim ${claim} is missing or wrong`];
}

/** The principal's id. @throws AuthError */
function subjectOf({ sub }: JWTPayload): string {
  const fault = subjectFault(sub);
  if (sub === undefined || fault !== undefined)
    throw new AuthError("invalid", `the token's subject (sub) ${fault ?? "is missing"}`);
  return sub;
}
