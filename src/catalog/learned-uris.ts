/** Which server gave a client an address that does not say by its form whose it is. */
import { LRUCache } from "lru-cache";
import { entryAndKeyLimit } from "../runtime/cache-limits.js";
import { MAX_NAME_LENGTH } from "../wire/length-limits.js";

/** One server's key, or several that gave the same address. */
type Owners = readonly string[];

/** The limits: URIs, and their characters together. */
const LIMITS = entryAndKeyLimit(10_000, 16 * 1024 * 1024);

/**
 * Per client, so that a client cannot probe for the URIs of others. Bounded: a forgotten URI is routed by
 * lists and templates again.
 */
export class LearnedUris {
  readonly #owners = new LRUCache<string, Owners>(LIMITS);

  learn(affinity: string, uri: string, server: string): void {
    if (uri.length > MAX_NAME_LENGTH) return;
    const key = keyOf(affinity, uri);
    const known = this.#owners.get(key) ?? [];
    if (!known.includes(server)) this.#owners.set(key, [...known, server]);
  }

  owners(affinity: string, uri: string): Owners {
    return this.#owners.get(keyOf(affinity, uri)) ?? [];
  }
}

const keyOf = (affinity: string, uri: string): string => `${affinity}\0${uri}`;
