/** Compares the resource of a metadata document with the URL of the server (RFC 9728, 3.3). */

/** What tokens for a resource are valid for, as seen from a server. */
export type Audience =
  /** The server: the same URL, except for the notation of the host and a slash at its end. */
  | "same"
  /** The server and more: a parent path, or the path without the query. */
  | "wider"
  /** Something else. */
  | "other";

/** The audience of tokens for `resource` at the server with this URL. */
export function audienceOf(resource: string, serverUrl: string): Audience {
  if (!URL.canParse(resource)) return "other";
  const named = new URL(resource);
  const server = new URL(serverUrl);
  const hasCredentials = named.username !== "" || named.password !== "";
  if (named.origin !== server.origin || hasCredentials || named.hash !== "") return "other";
  const isSamePath = withoutSlash(named.pathname) === withoutSlash(server.pathname);
  if (isSamePath && named.search === server.search) return "same";
  if (named.search !== "") return "other";
  return withSlash(server.pathname).startsWith(withSlash(named.pathname)) ? "wider" : "other";
}

/**
 * The resource as it is sent: as written, because authorization servers compare text, but without dot segments, default
 * ports and upper-case hosts, which would name another resource to some of them.
 */
export function sentResource(resource: string): string {
  const url = new URL(resource);
  const isPlain = url.href === resource || url.href === `${resource}/`;
  return isPlain ? resource : canonicalUri(resource);
}

/** Whether two identifiers are the same URL. */
export const isSameResource = (one: string, other: string): boolean =>
  URL.canParse(one) && URL.canParse(other) && canonicalUri(one) === canonicalUri(other);

/** The canonical URI of a server (RFC 8707, 2): no fragment, and no slash if that is the whole path. */
export function canonicalUri(serverUrl: string): string {
  const url = new URL(serverUrl);
  url.hash = "";
  return url.pathname === "/" && url.search === "" ? url.origin : url.href;
}

const withSlash = (path: string): string => (path.endsWith("/") ? path : `${path}/`);
const withoutSlash = (path: string): string => path.replace(/\/$/, "");
