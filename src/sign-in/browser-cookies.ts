/** Which cookies do the pages set and read? `__Host-` ones over https; plain ones on loopback, where there is no https. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Longer than a sign-in may take, in seconds. */
const MAX_AGE_S = 1_800;
const PREFIX = "__Host-";

/** The cookies of the browser behind a request. */
export interface BrowserCookies {
  readonly get: (name: string) => string | undefined;
}

/** Reads the cookies of a request. A name that comes twice counts as absent: another page has set one of them. */
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
 * The value of `Set-Cookie`. `Lax`, as the browser comes back to the callback from another site; a form of another
 * site does not carry it.
 */
export const setCookie = (name: string, value: string, isSecure: boolean): string =>
  `${nameOf(name, isSecure)}=${value}; Path=/; Max-Age=${MAX_AGE_S}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;

/** The same to take a cookie away. */
export const clearCookie = (name: string, isSecure: boolean): string =>
  `${nameOf(name, isSecure)}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;

const nameOf = (name: string, isSecure: boolean): string => (isSecure ? `${PREFIX}${name}` : name);

/** The cookie by which a form is known to come from the page that this browser was shown. */
export const CSRF_COOKIE = "cardea-connect";

/** A secret of this browser. */
export const newSecret = (): string => randomBytes(24).toString("base64url");

/** The token in the form of a ticket's page. */
export const csrfToken = (secret: string, ticket: string): string =>
  createHmac("sha256", secret).update(ticket).digest("base64url");

/** Whether a form has the token of this browser and ticket. */
export function isCsrfToken(sent: string, secret: string | undefined, ticket: string): boolean {
  if (secret === undefined || secret === "") return false;
  return timingSafeEqual(digest(sent), digest(csrfToken(secret, ticket)));
}

/** `timingSafeEqual` needs equal lengths. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
