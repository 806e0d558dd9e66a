/**
 * Which redirect URIs can be used: https URLs, loopback, and private schemes that the config names (2026-07-28: security
 * considerations; RFC 8252, 7).
 */
import { isLoopback } from "../../http/loopback.js";
import { isUnsafeScheme } from "../../wire/unsafe-schemes.js";
import { OAuthError } from "./oauth-error.js";

const MAX_LENGTH = 1_000;
const MAX_COUNT = 16;
/** Length of what a reason quotes. */
const MAX_QUOTED = 60;

/** What the config allows besides loopback. */
export interface AllowedRedirects {
  /** The hosts of https redirect URIs; undefined allows all. */
  readonly hosts?: readonly string[] | undefined;
  /** Private schemes, in lower case, without the colon. */
  readonly schemes?: readonly string[] | undefined;
}

/** The redirect URIs of a registration or metadata document. */
export interface RedirectUris {
  /** At least one. */
  readonly usable: readonly string[];
  /** Why others are left out, each reason once; with nothing of them but a host or scheme, shortened. */
  readonly leftOut: readonly string[];
}

/**
 * Reads the redirect URIs of a registration or metadata document. Hosts register all that they may ever use; those that
 * cannot be used are left out (RFC 7591, 3.2.1).
 *
 * @throws OAuthError `invalid_redirect_uri` if none can be used
 */
export function readRedirectUris(value: unknown, allowed: AllowedRedirects): RedirectUris {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_COUNT)
    throw refused(`redirect_uris must be a list of 1 to ${MAX_COUNT} URLs`);
  const usable: string[] = [];
  const leftOut = new Set<string>();
  for (const uri of value as readonly unknown[]) {
    if (typeof uri !== "string") throw refused("a redirect URI is not a text");
    const fault = faultOf(uri, allowed);
    if (fault === undefined) usable.push(uri);
    else leftOut.add(fault);
  }
  const [first] = leftOut;
  if (usable.length === 0) throw refused(`a redirect URI ${first}`);
  return { usable, leftOut: [...leftOut] };
}

/** Those of `uris`, of an earlier registration, that are still allowed. */
export const stillAllowed = (uris: readonly unknown[], allowed: AllowedRedirects): readonly string[] =>
  uris.filter((uri): uri is string => typeof uri === "string" && faultOf(uri, allowed) === undefined);

const refused = (message: string): OAuthError => new OAuthError("invalid_redirect_uri", message);

/** Why `uri` cannot be used; undefined if it can. */
export function faultOf(uri: string, { hosts, schemes = [] }: AllowedRedirects): string | undefined {
  if (uri.length > MAX_LENGTH) return `has more than ${MAX_LENGTH} characters`;
  // Characters that a URL parser removes or changes would make a text ambiguous.
  if (!/^[\x21-\x7e]+$/.test(uri) || /["<>\\^`{|}]/.test(uri) || !URL.canParse(uri))
    return "is not an absolute URL";
  const { protocol, hostname, hash, username, password } = new URL(uri);
  if (hash !== "" || uri.includes("#")) return "has a fragment";
  if (username !== "" || password !== "") return "has a user name";
  const isPlain = protocol === "http:" && isLoopback(hostname);
  const isPrivate = schemes.includes(protocol.slice(0, -1));
  if (protocol !== "https:" && !isPlain && !isPrivate) return schemeFault(protocol);
  if (isPrivate && !uri.startsWith(`${protocol}/`))
    return "is not written as scheme://name/path or scheme:/path";
  if (!isCanonical(portlessLoopback(uri) ?? uri))
    return "is not written as browsers write it: scheme://host/path, in lower case";
  if (isPlain || isPrivate) return undefined;
  if (hosts !== undefined && !hosts.includes(hostname.toLowerCase()))
    return `leads to ${quoted(hostname)}, which auth.signIn.allowedRedirectHosts does not name`;
  return undefined;
}

const schemeFault = (protocol: string): string =>
  protocol === "http:" || isUnsafeScheme(protocol.slice(0, -1))
    ? "must be an https URL, or http on this machine (loopback)"
    : `has the scheme ${quoted(protocol.slice(0, -1))}, which auth.signIn.redirectSchemes does not name`;

const quoted = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}...` : text;

/**
 * Whether a URL parser reads `uri` as it stands. Otherwise parsers of RFC 3986 and of WHATWG may see different hosts:
 * `https:evil`, `https:/evil`, `HTTPS://a@b`, `https://a:443`, `https://0x7f.1`, `https://a/../b`, `https://a.`.
 */
export function isCanonical(uri: string): boolean {
  if (!URL.canParse(uri)) return false;
  const { href, origin, hostname } = new URL(uri);
  // A path of its own may be missing: `https://a` and `https://a?b` are written so by hosts.
  const isAsRead =
    href === uri || (uri.startsWith(origin) && href === `${origin}/${uri.slice(origin.length)}`);
  return isAsRead && !/^\.|\.\.|\.$/.test(hostname);
}

/**
 * Whether `uri` is one of `registered`: the same text, except for the port of a loopback address, which a native app
 * chooses at each start (RFC 8252, 7.3).
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  const loopback = withoutLoopbackPort(uri);
  return loopback !== undefined && registered.some((each) => withoutLoopbackPort(each) === loopback);
}

/** The host is compared as text: `localhost` is not 127.0.0.1. */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?(?=[/?]|$)/;

const NO_WEBSITES: AllowedRedirects = { hosts: [] };

const withoutLoopbackPort = (uri: string): string | undefined =>
  faultOf(uri, NO_WEBSITES) === undefined ? portlessLoopback(uri) : undefined;

function portlessLoopback(uri: string): string | undefined {
  const found = LOOPBACK.exec(uri);
  return found === null ? undefined : `http://${found[1]}${uri.slice(found[0].length)}`;
}

const isWeb = (protocol: string): boolean => protocol === "https:" || protocol === "http:";

/** Whether the URI is a loopback address. */
export function isOnLoopback(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return isWeb(protocol) && isLoopback(hostname);
}

/** The private scheme of the URI, with its colon; undefined for a website or loopback. */
export function privateSchemeOf(uri: string): string | undefined {
  const { protocol } = new URL(uri);
  return isWeb(protocol) ? undefined : protocol;
}

/** Where the URI leads, for logs and people: a host, or a private scheme. */
export const destinationOf = (uri: string): string => privateSchemeOf(uri) ?? new URL(uri).host;
