/** Identifies the person at the browser as the principal that the page was made for. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { AuthConfig } from "../../config/auth-config.js";
import { idOfKey, isFrom } from "../../core/principal.js";
import { isLoopback } from "../../http/loopback.js";
import { reservedIn } from "../../wire/reserved-ids.js";
import { identityServerOf } from "./login-server.js";
import type { IdentityQuestion } from "./page-texts.js";
import type { PreparedSignIn, SignInSubject } from "./pending-content.js";
import { SignInRefusal } from "./sign-in-refusal.js";

/** Input of the identification. */
export interface Identification {
  /** Absent if the gateway accepts calls without credentials. */
  readonly auth: AuthConfig | undefined;
  /** The bind address of the main listener. */
  readonly host: string;
}

/** The sign-in of a page. */
export interface RequestedSignIn extends Pick<SignInSubject, "principal"> {
  readonly prepared: PreparedSignIn;
  /** Whether it is at an OpenID issuer from the config (`auth.idp`). */
  readonly isIssuer: boolean;
}

/** What the page requests. @throws SignInRefusal if principals cannot be distinguished */
export function identityQuestion(
  { principal, prepared, isIssuer }: RequestedSignIn,
  { auth, host }: Identification,
  now: number,
): IdentityQuestion {
  if (auth === undefined) {
    if (isLoopback(host)) return "none";
    throw new SignInRefusal(
      "This gateway serves other machines without authentication, so it cannot tell whose sign-in this would be. Sign in on its own machine with cardea login.",
      403,
    );
  }
  if (keysOf(principal, auth, now).length > 0) return "key";
  // Neither a token nor a login may claim these ids.
  const from = auth.jwt?.issuer ?? auth.signIn?.issuer;
  const isOfIssuer = from !== undefined && isFrom(principal, { issuer: from });
  if (!isOfIssuer || reservedIn(auth.keys)(idOfKey(principal))) throw noQuestion(principal);
  const isOfOne = auth.signIn === undefined || auth.signIn.issuer === from;
  if (isOfOne && isIssuer && prepared.discovered.authorizationServer.issuer === from) return "subject";
  if (identityServerOf(auth) !== undefined) return "login";
  throw noQuestion(principal);
}

const noQuestion = (principal: string): SignInRefusal =>
  new SignInRefusal(
    `${idOfKey(principal)} has no key in the config (auth.keys), and the config names no client (auth.signIn) at the issuer of its tokens, so this page cannot verify who is at the browser. Ask the operator of the gateway to sign in for you: cardea login SERVER --as ${idOfKey(principal)}.`,
    403,
  );

/** Whether `key` belongs to the principal. All keys are compared, so the time does not depend on the result. */
export function isKeyOf(principal: string, key: string, { auth }: Identification, now: number): boolean {
  const sent = createHash("sha256").update(key).digest();
  let isFound = false;
  for (const { digest } of auth === undefined ? [] : keysOf(principal, auth, now)) {
    if (timingSafeEqual(Buffer.from(digest, "hex"), sent)) isFound = true;
  }
  return isFound;
}

const keysOf = (principal: string, { keys }: AuthConfig, now: number) =>
  isFrom(principal, "key")
    ? keys.filter(
        ({ id, expiresAt = Number.POSITIVE_INFINITY }) => id === idOfKey(principal) && expiresAt > now,
      )
    : [];
