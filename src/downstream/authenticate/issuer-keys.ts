/** The public keys of the issuer: fetched when a token needs them, kept for a while, and never fetched in a flood. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { JwtConfig } from "../../config/config.js";
import type { Logger } from "../../core/logger.js";
import { isObject } from "../../wire/json.js";
import { discoverKeys } from "./discover-keys.js";
import type { fetchJson } from "./fetch-json.js";

/** Nobody can tell now whether a token is good, because the issuer's keys cannot be had. */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable";
}

export interface IssuerKeysOptions {
  readonly jwt: Pick<JwtConfig, "issuer" | "jwksUri">;
  readonly fetch: typeof fetchJson;
  readonly logger: Logger;
}

/** All in milliseconds. For one fetch, metadata included. */
const FETCH_MS = 10_000;
/** Keys are fetched again after this; meanwhile those that are known go on being used. */
const FRESH_MS = 10 * 60_000;
/** Keys that could not be fetched again for so long are not believed any more. */
const MAX_STALE_MS = 60 * 60_000;
/** A token signed with an unknown key may be signed with a new one; strangers can make up such tokens at will. */
const UNKNOWN_KEY_COOLDOWN_MS = 30_000;
/** After a failure. */
const RETRY_COOLDOWN_MS = 5_000;

interface CachedKeys {
  readonly find: JWTVerifyGetKey;
  readonly at: number;
}

export class IssuerKeys {
  #cached: CachedKeys | undefined;
  #failed: { readonly error: KeysUnavailable; readonly at: number } | undefined;
  #loading: Promise<CachedKeys> | undefined;

  constructor(private readonly options: IssuerKeysOptions) {}

  /**
   * The key that signed a token, by its header.
   *
   * @throws KeysUnavailable, or an error of jose when the issuer has no such key
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const known = await this.#current();
    try {
      return await known.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || now() - known.at < UNKNOWN_KEY_COOLDOWN_MS)
        throw error;
      return (await this.#load()).find(header, token);
    }
  };

  async #current(): Promise<CachedKeys> {
    const known = this.#cached;
    const age = known === undefined ? MAX_STALE_MS : now() - known.at;
    if (known === undefined || age >= MAX_STALE_MS) return this.#load();
    if (age >= FRESH_MS) this.#load().catch(() => {});
    return known;
  }

  #load(): Promise<CachedKeys> {
    const failed = this.#failed;
    if (failed !== undefined && now() - failed.at < RETRY_COOLDOWN_MS) return Promise.reject(failed.error);
    this.#loading ??= this.#fetch().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #fetch(): Promise<CachedKeys> {
    const { jwt, fetch, logger } = this.options;
    try {
      const signal = AbortSignal.timeout(FETCH_MS);
      const { uri, reach } =
        jwt.jwksUri === undefined
          ? await discoverKeys(jwt.issuer, fetch, signal)
          : ({ uri: jwt.jwksUri, reach: "anywhere" } as const);
      const keys = await fetch(uri, signal, reach);
      if (!isKeySet(keys)) throw new Error(`${uri} is no set of keys`);
      this.#cached = { find: createLocalJWKSet(keys), at: now() };
      this.#failed = undefined;
      return this.#cached;
    } catch (cause) {
      const error = new KeysUnavailable("the keys of the issuer cannot be fetched", { cause });
      this.#failed = { error, at: now() };
      const reason = cause instanceof Error ? cause.message : String(cause);
      logger.warn({ issuer: jwt.issuer }, `${error.message}: ${reason}`);
      throw error;
    }
  }
}

const now = (): number => performance.now();

const isKeySet = (value: unknown): value is JSONWebKeySet =>
  isObject(value) && Array.isArray(value.keys) && value.keys.every(isObject);
