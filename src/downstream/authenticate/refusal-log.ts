/** One warning for refused credentials with the address they came from, and not one for each attempt of a flood. */
import { LRUCache } from "lru-cache";
import type { Logger } from "../../core/logger.js";
import { boundedKey, entryLimit } from "../../runtime/cache-limits.js";
import type { AuthFailure } from "./refusals.js";

/** After a line, attempts of the same address and reason are counted for this long (ms) before the next line. */
const INTERVAL_MS = 30_000;
/** Lines per interval in all, so that a flood from many addresses does not fill the log. */
const MAX_LINES = 20;
const MAX_ADDRESSES = 1_000;

/** Logs refused credentials; nothing of the credentials and no principal, since neither is known to be true. */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #sources = new LRUCache<string, { loggedAt: number; unlogged: number }>(entryLimit(MAX_ADDRESSES));
  #intervalStart = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #dropped = 0;

  /** @param now the time in ms, for tests */
  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  /** Counts one refusal, and logs it where a line is due. */
  add(reason: AuthFailure, address: string | undefined, error: unknown): void {
    // Every host without credentials begins so: the refusal tells it where to sign in.
    if (reason === "missing") {
      this.#logger.debug({ reason, address }, "request without credentials refused");
      return;
    }
    const now = this.#now();
    const key = boundedKey(`${address} ${reason}`);
    const source = this.#sources.get(key);
    if (source !== undefined && now - source.loggedAt < INTERVAL_MS) {
      source.unlogged++;
      return;
    }
    if (!this.#mayLog(now)) return;
    const more = (source?.unlogged ?? 0) + this.#dropped;
    this.#dropped = 0;
    this.#sources.set(key, { loggedAt: now, unlogged: 0 });
    const also = more === 0 ? "" : `; ${more} more refused since the last such line`;
    this.#logger.warn(
      { reason, address, ...(more > 0 && { more }), ...(error !== undefined && { error }) },
      `credentials refused (${reason}) from ${address ?? "an unknown address"}${also}`,
    );
  }

  #mayLog(now: number): boolean {
    if (now - this.#intervalStart >= INTERVAL_MS) {
      this.#intervalStart = now;
      this.#lines = 0;
    }
    this.#lines++;
    if (this.#lines <= MAX_LINES) return true;
    this.#dropped++;
    return false;
  }
}
