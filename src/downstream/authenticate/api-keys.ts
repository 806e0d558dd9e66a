/** The API keys of the config: finds whose a key is, in a time that tells nothing about the others. */
import { timingSafeEqual } from "node:crypto";
import type { AuthConfig, KeyConfig } from "../../config/config.js";
import type { Principal } from "../../core/client.js";

export interface KnownKey {
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Whoever started the gateway may be anybody; one who has keys has their groups. */
export function principalNamed(id: string, auth: AuthConfig | undefined): Principal {
  const groups = (auth?.keys ?? []).filter((key) => key.id === id).flatMap((key) => key.groups);
  return { id, groups: [...new Set(groups)], claims: {} };
}

/**
 * Keys are kept as plain SHA-256. A slow hash protects what a person can remember; a key of 256 random bits
 * cannot be guessed however fast the hash is, and is checked on every request.
 */
export class ApiKeys {
  readonly #keys: readonly (KnownKey & { readonly digest: Buffer })[];

  constructor(keys: readonly KeyConfig[]) {
    this.#keys = keys.map(({ id, digest, groups, expiresAt = Number.POSITIVE_INFINITY }) => ({
      digest: Buffer.from(digest, "hex"),
      principal: { id, groups, claims: {} },
      expiresAt,
    }));
  }

  /** The key whose SHA-256 is `digest`. All of them are compared, so that it takes as long for any answer. */
  find(digest: Buffer): KnownKey | undefined {
    let found: KnownKey | undefined;
    for (const key of this.#keys) if (timingSafeEqual(key.digest, digest)) found = key;
    return found;
  }
}
