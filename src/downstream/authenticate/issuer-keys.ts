/** The public keys of the issuer (JWKS): fetched on demand, cached, and never fetched in a flood. */
import { createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWTVerifyGetKey, jwksCache } from "jose";
import type { JwtConfig } from "../../config/config.js";
import type { Logger } from "../../core/logger.js";
import { isObject } from "../../wire/json.js";
import { discoverKeys } from "./discover-keys.js";
import type { fetchJson } from "./fetch-json.js";

/** The issuer's keys cannot be fetched, so no token can be verified now. */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable";
}

/** The issuer, how to fetch a document from it, and where a failure is logged. */
export interface IssuerKeysOptions {
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
