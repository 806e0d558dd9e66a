/** The well-known URLs of a protected resource (RFC 9728, 3.1) and of an issuer (RFC 8414, 3.1; OpenID Connect). */

/**
 * The URLs for a server, in request order: the one with its path; if the path ends in a slash, also the one without
 * (many servers publish only that); then the root.
 */
export function resourceMetadataUrls(serverUrl: string): {
  readonly ofPath: readonly string[];
  readonly root: string;
} {
  const { origin, pathname, search } = new URL(serverUrl);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const withoutSlash = pathname.replace(/\/$/, "");
  const paths = pathname === "/" ? [""] : [...new Set([pathname, withoutSlash])];
  return { ofPath: paths.map((path) => `${root}${path}${search}`), root };
}

/** The URLs for an issuer, in request order (2026-07-28: basic/authorization/authorization-server-discovery). */
export function issuerMetadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}
