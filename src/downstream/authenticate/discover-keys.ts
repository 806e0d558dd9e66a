/** Where an issuer's public keys are, by the metadata it publishes (RFC 8414, OpenID Connect Discovery). */
import { isLoopback } from "../../http/loopback.js";
import { isObject, stringAt } from "../../wire/json.js";
import type { fetchJson, Reach } from "./fetch-json.js";

interface JwksLocation {
  readonly uri: string;
  readonly reach: Reach;
}

/**
 * The `jwks_uri` of the issuer, from the well-known URLs of the specification in its order
 * (2026-07-28: basic/authorization/authorization-server-discovery).
 *
 * @throws Error with the reason for each URL that failed
 */
export async function discoverKeys(
  issuer: string,
  fetch: typeof fetchJson,
  signal: AbortSignal,
): Promise<JwksLocation> {
  const reasons: string[] = [];
  for (const url of metadataUrls(issuer)) {
    try {
      return jwksLocationIn(await fetch(url, signal, "anywhere"), issuer, url);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(reasons.join("; "));
}

function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

function jwksLocationIn(metadata: unknown, issuer: string, url: string): JwksLocation {
  const document = isObject(metadata) ? metadata : {};
  // Metadata with another `issuer` must not be used (RFC 8414, 3.3): its keys could sign tokens of this issuer.
  if (stringAt(document, "issuer") !== issuer) throw new Error(`${url} is about another issuer`);
  const uri = stringAt(document, "jwks_uri");
  if (uri === undefined || !URL.canParse(uri)) throw new Error(`${url} names no jwks_uri`);
  const { protocol, hostname, origin } = new URL(uri);
  const local = isLoopback(hostname) && isLoopback(new URL(issuer).hostname);
  if (protocol !== "https:" && !(protocol === "http:" && local)) {
    throw new Error(`${url} names a jwks_uri that is not https:`);
  }
  // SSRF: only the origin of the configured issuer may be private; other private hosts need `auth.jwt.jwksUri`.
  return { uri, reach: local || origin === new URL(issuer).origin ? "anywhere" : "public" };
}
