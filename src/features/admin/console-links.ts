/** Which links open the console unlocked, and which tokens do the pages have that they have unlocked? */
import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { RateLimit } from "../../http/rate-limit.js";
import { bearerToken } from "./access.js";

/** How long (s) a link can be used. */
export const LINK_SECONDS = 60;
const LINK_MS = LINK_SECONDS * 1_000;
/** How long (ms) a page stays unlocked: a day of work. */
const PAGE_MS = 12 * 60 * 60 * 1_000;
/** Links that wait, and pages that are unlocked; beyond, the oldest ends. */
const MAX_LINKS = 16;
const MAX_PAGES = 64;
/** Attempts a minute; a person needs one. */
const ATTEMPTS_PER_NETWORK = 30;
const ATTEMPTS_IN_ALL = 120;
/** 256 bits. */
const CODE = /^[\w-]{43}$/;

/** What comes of a code: the token of the page, or the seconds until the next attempt; undefined if it opens nothing. */
type Redeemed = { readonly token: string } | { readonly retryAfter: number } | undefined;

/** The links of one listener. Nothing of them outlives it. */
export class ConsoleLinks {
  readonly #links: ExpiringSecrets;
  readonly #pages: ExpiringSecrets;
  readonly #attempts: RateLimit;

  /** @param now in ms */
  constructor(now: () => number = () => performance.now()) {
    this.#links = new ExpiringSecrets(MAX_LINKS, LINK_MS, now);
    this.#pages = new ExpiringSecrets(MAX_PAGES, PAGE_MS, now);
    this.#attempts = new RateLimit({ perKey: ATTEMPTS_PER_NETWORK, total: ATTEMPTS_IN_ALL, now });
  }

  /** The code of a new link. */
  issue(): string {
    return this.#links.add();
  }

  /** Uses up the code. `network`: by what attempts are counted. */
  redeem(code: unknown, network: string): Redeemed {
    const retryAfter = this.#attempts.take(network);
    if (retryAfter !== undefined) return { retryAfter };
    const isLink = typeof code === "string" && CODE.test(code) && this.#links.take(code);
    return isLink ? { token: this.#pages.add() } : undefined;
  }

  /** Whether the `Authorization` header has the token of an unlocked page. */
  isPage(authorization: string | undefined): boolean {
    const token = bearerToken(authorization);
    return token !== undefined && this.#pages.has(token);
  }
}

/** Random texts that are valid for a while. Of each only the hash is kept, so that a comparison says nothing of it. */
class ExpiringSecrets {
  /** When each expires, by its hash. */
  readonly #ends: LRUCache<string, number>;
  readonly #lifetimeMs: number;
  readonly #now: () => number;

  constructor(max: number, lifetimeMs: number, now: () => number) {
    this.#ends = new LRUCache({ max });
    this.#lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  add(): string {
    const text = randomBytes(32).toString("base64url");
    this.#ends.set(hash("sha256", text), this.#now() + this.#lifetimeMs);
    return text;
  }

  has(text: string): boolean {
    return (this.#ends.get(hash("sha256", text)) ?? Number.NEGATIVE_INFINITY) > this.#now();
  }

  /** Deletes it. @returns whether it was valid */
  take(text: string): boolean {
    const isValid = this.has(text);
    this.#ends.delete(hash("sha256", text));
    return isValid;
  }
}
