/** Which public keys has the issuer (JWKS)? They are found by its metadata, fetched on demand and cached. */
import { createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWTVerifyGetKey, jwksCache } from "jose";
import type { JwtConfig } from "../../config/auth-config.js";
import type { Logger } from "../../core/logger.js";
import { isLoopback } from "../../http/loopback.js";
import { isPublicHost, notPublic, publicLookup } from "../../http/public-addresses.js";
import { outgoingAgent } from "../../outgoing/connector.js";
import { inflateBody } from "../../runtime/decompression.js";
import { undici } from "../../runtime/undici.js";
import { isObject, stringAt } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";

/** The issuer's keys cannot be fetched, so no token can be verified now. */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable";
}

interface IssuerKeysOptions {
  readonly jwt: Pick<JwtConfig, "issuer" | "jwksUri">;
  readonly fetch: typeof fetchJson;
  readonly logger: Logger;
}

/** All in milliseconds. For one fetch, metadata included. */
const FETCH_MS = 10_000;
/** Keys are fetched again in the background after this age. */
const FRESH_MS = 10 * 60_000;
/** Keys that could not be fetched again are discarded at this age. */
const MAX_STALE_MS = 60 * 60_000;
/** Between a fetch and the next one for an unknown key id: the issuer may have a new key, or the id is made up. */
const UNKNOWN_KEY_COOLDOWN_MS = 30_000;
/** Between a failed fetch and the next one. */
const RETRY_COOLDOWN_MS = 5_000;

/**
 * Returns the key that signed a token, by its header.
 *
 * The returned function throws `KeysUnavailable`, or an error of jose when the issuer has no such key.
 */
export function issuerKeys({ jwt, fetch, logger }: IssuerKeysOptions): JWTVerifyGetKey {
  let failed: { readonly error: KeysUnavailable; readonly at: number } | undefined;

  async function load(signal: AbortSignal): Promise<Response> {
    if (failed !== undefined && performance.now() - failed.at < RETRY_COOLDOWN_MS) throw failed.error;
    try {
      const { uri, reach } =
        jwt.jwksUri === undefined
          ? await discoverKeys(jwt.issuer, fetch, signal)
          : ({ uri: jwt.jwksUri, reach: "anywhere" } as const);
      const keys = await fetch(uri, signal, reach);
      if (!isKeySet(keys)) throw new Error(`${uri} is no JSON Web Key Set (RFC 7517)`);
      failed = undefined;
      return Response.json(keys);
    } catch (cause) {
      const error = new KeysUnavailable("the keys of the issuer cannot be fetched", { cause });
      failed = { error, at: performance.now() };
      const reason = cause instanceof Error ? cause.message : String(cause);
      logger.warn({ issuer: jwt.issuer }, `${error.message}: ${reason}`);
      throw error;
    }
  }

  const cached: { jwks?: JSONWebKeySet; uat?: number } = {};
  // `load` finds the URL itself: the issuer's metadata may name another one each time.
  const remote = createRemoteJWKSet(new URL(jwt.jwksUri ?? jwt.issuer), {
    timeoutDuration: FETCH_MS,
    cooldownDuration: UNKNOWN_KEY_COOLDOWN_MS,
    cacheMaxAge: MAX_STALE_MS,
    [jwksCache]: cached as Record<string, never>,
    [customFetch]: (_url, { signal }) => load(signal),
  });
  return (header, token) => {
    if (cached.uat !== undefined && Date.now() - cached.uat >= FRESH_MS) remote.reload().catch(() => {});
    return remote(header, token);
  };
}

const isKeySet = (value: unknown): value is JSONWebKeySet =>
  isObject(value) && Array.isArray(value.keys) && value.keys.every(isObject);

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
async function discoverKeys(
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

/** Metadata or keys of an issuer are a few kB. */
const MAX_BYTES = 262_144;
const TIMEOUT_MS = 5_000;

/** Which addresses a URL may lead to: any for a URL of the config, only public ones for a URL from elsewhere. */
type Reach = "anywhere" | "public";

/**
 * Fetches a small JSON document, within limits of time, size and addresses (SSRF). Redirects are not followed.
 *
 * @throws Error whose message is the URL and the reason
 */
export async function fetchJson(url: string, signal: AbortSignal, reach: Reach): Promise<unknown> {
  const { hostname } = new URL(url);
  if (reach === "public" && !isPublicHost(hostname))
    throw new Error(`${url}: ${notPublic(hostname).message}`);
  // Fetches are rare, so each has a connection of its own.
  const dispatcher = outgoingAgent(
    { timeoutMs: TIMEOUT_MS, lookup: reach === "public" ? publicLookup() : undefined },
    { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, maxResponseSize: MAX_BYTES },
  );
  try {
    const { statusCode, headers, body } = await undici().request(url, {
      dispatcher,
      signal,
      headers: { accept: "application/json", "accept-encoding": "identity" },
    });
    if (statusCode === 200) {
      const sent = Buffer.from(await body.arrayBuffer());
      const content = await inflateBody(sent, [headers["content-encoding"] ?? []].flat().join(), MAX_BYTES);
      return parseJson(content.toString("utf8"));
    }
    // A destroyed body emits an error, which needs a listener.
    body.on("error", () => {}).destroy();
    throw new Error(`${url} answered ${statusCode}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it failed";
    throw reason.startsWith(url) ? error : new Error(`${url}: ${reason}`, { cause: error });
  } finally {
    await dispatcher.destroy();
  }
}
