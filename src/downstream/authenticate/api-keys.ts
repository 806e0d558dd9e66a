/** Which principal an API key of the config belongs to, compared in constant time. */
import { timingSafeEqual } from "node:crypto";
import type { AuthConfig, KeyConfig } from "../../config/config.js";
import type { Principal } from "../../core/client.js";

/** A key of the config: its principal and its expiry. */
export interface KnownKey {
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The principal with this id, with the groups of all keys of that id. */
export function principalNamed(id: string, auth: AuthConfig | undefined): Principal {
  const groups = (auth?.keys ?? []).filter((key) => key.id === id).flatMap((key) => key.groups);
  return { id, groups: [...new Set(groups)], claims: {} };
}

/**
 * The API keys, stored as plain SHA-256. A slow hash protects short passwords; a key of 256 random bits cannot be
 * guessed at any speed, and is checked on every request.
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

  /** The key whose SHA-256 is `digest`. All keys are compared, so the time does not depend on the result. */
  find(digest: Buffer): KnownKey | undefined {
    let found: KnownKey | undefined;
    for (const key of this.#keys) if (timingSafeEqual(key.digest, digest)) found = key;
    return found;
  }
}
