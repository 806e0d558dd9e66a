/** Validates redirect URIs: https URLs and loopback, nothing else (2026-07-28: security considerations). */
import { isLoopback } from "../http/loopback.js";
import { OAuthError } from "./oauth-error.js";

const MAX_LENGTH = 1_000;
const MAX_COUNT = 16;

/** The allowed hosts of https redirect URIs; undefined allows all. */
export type AllowedHosts = readonly string[] | undefined;

/**
 * The redirect URIs of a registration or metadata document.
 *
 * @throws OAuthError `invalid_redirect_uri`
 */
export function readRedirectUris(value: unknown, allowed: AllowedHosts): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_COUNT)
    throw refused(`redirect_uris must be a list of 1 to ${MAX_COUNT} URLs`);
  return value.map((uri: unknown) => {
    const reason = typeof uri === "string" ? faultOf(uri, allowed) : "is not a text";
    if (reason !== undefined) throw refused(`a redirect URI ${reason}`);
    return uri as string;
  });
}

/** Those of `uris`, of an earlier registration, that are still allowed. */
export const stillAllowed = (uris: readonly unknown[], allowed: AllowedHosts): readonly string[] =>
  uris.filter((uri): uri is string => typeof uri === "string" && faultOf(uri, allowed) === undefined);

const refused = (message: string): OAuthError => new OAuthError("invalid_redirect_uri", message);

function faultOf(uri: string, allowed: AllowedHosts): string | undefined {
  if (uri.length > MAX_LENGTH) return `has more than ${MAX_LENGTH} characters`;
  // Characters that a URL parser removes or changes would make a text ambiguous.
  if (!/^[\x21-\x7e]+$/.test(uri) || /["<>\\^`{|}]/.test(uri) || !URL.canParse(uri))
    return "is not an absolute URL";
  const { protocol, hostname, hash, username, password } = new URL(uri);
  if (hash !== "" || uri.includes("#")) return "has a fragment";
  if (username !== "" || password !== "") return "has a user name";
  const isPlain = protocol === "http:" && isLoopback(hostname);
  if (protocol !== "https:" && !isPlain) return "must be an https URL, or http on this machine (loopback)";
  if (!isCanonical(portlessLoopback(uri) ?? uri))
    return "is not written as browsers write it: scheme://host/path, in lower case";
  if (isPlain) return undefined;
  if (allowed !== undefined && !allowed.includes(hostname.toLowerCase()))
    return `leads to ${hostname}, which auth.signIn.allowedRedirectHosts does not name`;
  return undefined;
}

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

const withoutLoopbackPort = (uri: string): string | undefined =>
  faultOf(uri, []) === undefined ? portlessLoopback(uri) : undefined;

function portlessLoopback(uri: string): string | undefined {
  const found = LOOPBACK.exec(uri);
  return found === null ? undefined : `http://${found[1]}${uri.slice(found[0].length)}`;
}

/** Whether the URI is a loopback address. */
export const isOnLoopback = (uri: string): boolean => isLoopback(new URL(uri).hostname);
