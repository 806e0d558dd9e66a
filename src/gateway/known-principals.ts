/** What the last token of each principal has said, so that an operator may ask about it: its groups and claims. */
import { LRUCache } from "lru-cache";
import type { Principal } from "../core/client.js";
import { principalKey } from "../core/principal.js";
import { entryLimit } from "../runtime/cache-limits.js";

/** A principal as its last token has shown it. */
export interface KnownPrincipal {
  readonly principal: Principal;
  /** When the token was verified; ISO 8601. */
  readonly seenAt: string;
}

const MAX_PRINCIPALS = 10_000;

/** Those of one gateway, the latest ones; over all its configs. */
export class KnownPrincipals {
  readonly #latest = new LRUCache<string, KnownPrincipal>(entryLimit(MAX_PRINCIPALS));

  /** A token of the principal was verified. */
  seen(principal: Principal): void {
    this.#latest.set(principalKey(principal), { principal, seenAt: new Date().toISOString() });
  }

  /** Undefined if no token of it was seen. */
  of(principal: Principal): KnownPrincipal | undefined {
    return this.#latest.get(principalKey(principal));
  }
}
