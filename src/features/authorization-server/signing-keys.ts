/** The signing keys of access tokens and the JWKS. Rotated monthly; the previous key verifies for one more day. */
import { randomBytes } from "node:crypto";
import {
  type CryptoKey,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  SignJWT,
} from "jose";
import { isObject, stringAt } from "../../wire/json.js";
import { digestOf, Sealing } from "./sealing.js";
import type { GrantStore, Now } from "./types.js";

/** All in ms. How long a key signs. */
export const ROTATION_MS = 30 * 24 * 3_600_000;
/** How long it still verifies after that; access tokens last an hour at most. */
export const OVERLAP_MS = 24 * 3_600_000;
/** Minimum time between two reads of the store for a key of another process. */
const RELOAD_MS = 1_000;

/** The signature algorithm of access tokens. */
const ALGORITHM = "ES256";
/** The record of the keys. */
export const KEYS_RECORD = digestOf("keys of the authorization server");
const SECRET_BYTES = 32;

interface KeptKey {
  readonly kid: string;
  /** The private key. */
  readonly jwk: JWK;
  readonly createdAt: number;
}

/** The stored keys, the newest first. */
interface KeptKeys {
  readonly secret: string;
  readonly keys: readonly [KeptKey, ...KeptKey[]];
}

/** The imported keys. */
interface LoadedKeys {
  readonly kept: KeptKeys;
  readonly sealing: Sealing;
  readonly privateKey: CryptoKey | Uint8Array;
  readonly publicKeys: ReadonlyMap<string, CryptoKey | Uint8Array>;
  readonly jwks: JSONWebKeySet;
}

/** The keys of one authorization server, shared by its processes through the store. */
export class SigningKeys {
  readonly #store: GrantStore;
  readonly #now: Now;
  #loaded: Promise<LoadedKeys> | undefined;
  #loadedAt = Number.NEGATIVE_INFINITY;

  constructor(store: GrantStore, now: Now) {
    this.#store = store;
    this.#now = now;
  }

  /** Sealing under the secret of this server. @throws Error of the store */
  async sealing(): Promise<Sealing> {
    return (await this.#current()).sealing;
  }

  /** The public keys of `/oauth/jwks`. @throws Error of the store */
  async jwks(): Promise<JSONWebKeySet> {
    return (await this.#current()).jwks;
  }

  /** Signs an access token (RFC 9068). @throws Error of the store */
  async sign(claims: JWTPayload): Promise<string> {
    const { kept, privateKey } = await this.#current();
    const header = { alg: ALGORITHM, typ: "at+jwt", kid: kept.keys[0].kid };
    return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
  }

  /** The public key of a token. */
  readonly keyOf: JWTVerifyGetKey = async ({ kid = "", typ }) => {
    // These keys sign access tokens only, and each states its type.
    if (typ !== "at+jwt") throw new errors.JWKSNoMatchingKey();
    const known = (await this.#current()).publicKeys.get(kid);
    if (known !== undefined) return known;
    // Another process may have made a new key.
    if (this.#now() - this.#loadedAt >= RELOAD_MS) this.#loaded = undefined;
    const found = (await this.#current()).publicKeys.get(kid);
    if (found === undefined) throw new errors.JWKSNoMatchingKey();
    return found;
  };

  async #current(): Promise<LoadedKeys> {
    this.#loaded ??= this.#load();
    const loaded = await this.#loaded;
    if (!this.#isDue(loaded.kept)) return loaded;
    this.#loaded = undefined;
    this.#loaded = this.#load();
    return this.#loaded;
  }

  #isDue({ keys }: KeptKeys): boolean {
    return this.#now() - keys[0].createdAt >= ROTATION_MS;
  }

  async #load(): Promise<LoadedKeys> {
    this.#loadedAt = this.#now();
    try {
      const found = readKept(await this.#store.read(KEYS_RECORD));
      return await prepare(
        found !== undefined && !this.#isDue(found)
          ? found
          : await this.#store.locked(KEYS_RECORD, () => this.#makeOrRotate()),
      );
    } catch (error) {
      // The next request retries.
      this.#loaded = undefined;
      throw error;
    }
  }

  async #makeOrRotate(): Promise<KeptKeys> {
    const now = this.#now();
    const found = readKept(await this.#store.read(KEYS_RECORD));
    if (found !== undefined && !this.#isDue(found)) return found;
    // A key stopped signing when its successor was made.
    const stillValid = (found?.keys ?? []).filter(
      (_, at, all) => now - (all[at - 1]?.createdAt ?? now) < OVERLAP_MS,
    );
    const kept: KeptKeys = {
      secret: found?.secret ?? randomBytes(SECRET_BYTES).toString("base64url"),
      keys: [await newKey(now), ...stillValid],
    };
    await this.#store.write(KEYS_RECORD, kept);
    return kept;
  }
}

async function newKey(createdAt: number): Promise<KeptKey> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  return { kid: randomBytes(8).toString("hex"), jwk: await exportJWK(privateKey), createdAt };
}

async function prepare(kept: KeptKeys): Promise<LoadedKeys> {
  const published = kept.keys.map(({ kid, jwk: { kty, crv, x, y } }) => ({
    kid,
    alg: ALGORITHM,
    use: "sig",
    ...(kty !== undefined && { kty }),
    ...(crv !== undefined && { crv }),
    ...(x !== undefined && { x }),
    ...(y !== undefined && { y }),
  }));
  const imported = published.map(async (jwk) => [jwk.kid, await importJWK(jwk, ALGORITHM)] as const);
  return {
    kept,
    sealing: new Sealing(Buffer.from(kept.secret, "base64url")),
    privateKey: await importJWK(kept.keys[0].jwk, ALGORITHM),
    publicKeys: new Map(await Promise.all(imported)),
    jwks: { keys: published as JSONWebKeySet["keys"] },
  };
}

/** @throws Error if the record has another form */
function readKept(value: unknown): KeptKeys | undefined {
  if (value === undefined) return undefined;
  const record = isObject(value) ? value : {};
  const { keys } = record;
  const secret = stringAt(record, "secret");
  if (secret === undefined || !Array.isArray(keys) || keys.length === 0 || !keys.every(isKept)) {
    throw new Error(
      "the keys of the authorization server have an unknown form: a newer version has written them",
    );
  }
  return { secret, keys: keys as unknown as KeptKeys["keys"] };
}

const isKept = (value: unknown): boolean =>
  isObject(value) &&
  typeof value.kid === "string" &&
  isObject(value.jwk) &&
  typeof value.createdAt === "number";
