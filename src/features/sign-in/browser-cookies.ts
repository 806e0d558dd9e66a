/** Cookies of the sign-in pages: `__Host-` over https, plain on loopback, which has no https. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** In seconds; longer than the longest sign-in. */
const MAX_AGE_S = 1_800;
const PREFIX = "__Host-";

/** The cookies of a request. */
export interface BrowserCookies {
  readonly get: (name: string) => string | undefined;
}

/**
 * Reads the cookies of a request. A name that occurs twice counts as absent: one of the two was set by another page.
 */
export function browserCookies(
  { headers }: Pick<IncomingMessage, "headers">,
  isSecure: boolean,
): BrowserCookies {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
  });
  return {
    get(name) {
      const found = pairs.filter(([each]) => each === nameOf(name, isSecure));
      return found.length === 1 ? found[0]?.[1] : undefined;
    },
  };
}

/**
 * A `Set-Cookie` value. `Lax`: sent with the redirect to the callback from another site, not with a form of another
 * site.
 */
export const setCookie = (name: string, value: string, isSecure: boolean): string =>
  `${nameOf(name, isSecure)}=${value}; Path=/; Max-Age=${MAX_AGE_S}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;

/** The `Set-Cookie` value that deletes the cookie. */
export const clearCookie = (name: string, isSecure: boolean): string =>
  `${nameOf(name, isSecure)}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;

const nameOf = (name: string, isSecure: boolean): string => (isSecure ? `${PREFIX}${name}` : name);

/** The CSRF cookie: a form must come from the page that was sent to this browser. */
export const CSRF_COOKIE = "cardea-connect";

/** The secret of this browser. */
export const newSecret = (): string => randomBytes(24).toString("base64url");

/** The CSRF token in the form of a ticket's page. */
export const csrfToken = (secret: string, ticket: string): string =>
  createHmac("sha256", secret).update(ticket).digest("base64url");

/** Whether a form carries the CSRF token of this browser and ticket. */
export function isCsrfToken(sent: string, secret: string | undefined, ticket: string): boolean {
  if (secret === undefined || secret === "") return false;
  return timingSafeEqual(digest(sent), digest(csrfToken(secret, ticket)));
}

/** `timingSafeEqual` needs equal lengths. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
