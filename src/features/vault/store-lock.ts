/**
 * A lock per record between replicas: the holder is the replica whose random token is in the lock's key, which expires.
 */
import { randomBytes } from "node:crypto";
import { type SharedStore, type StoreScript, StoreUnavailable } from "../../core/shared-store.js";
import { type HeldLock, LOCK_TIMES, type LockTimes } from "./process-lock.js";
import type { RecordName } from "./record-names.js";
import { OUTAGE_MS, throughOutage } from "./through-outage.js";
import { VaultError } from "./vault-error.js";

const FIRST_POLL_MS = 10;
const MAX_POLL_MS = 250;
const MAX_LEFT = 1_000;

/** A command whose response was too late may have taken the lock. */
const ACQUIRE: StoreScript = {
  name: "lock.acquire",
  text: `local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
};

const RENEW: StoreScript = {
  name: "lock.renew",
  text: `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
};

const RELEASE: StoreScript = {
  name: "lock.release",
  text: `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`,
};

/**
 * The locks of the records in the store. A holder that is suspended for longer than `staleMs` loses its lock unnoticed:
 * the generation of the record fences its write off.
 */
export class StoreLocks {
  readonly #times: LockTimes;
  /** Tokens of locks that the store may hold although this process does not: the store did not respond. */
  readonly #left = new Map<string, string>();
  #unwatch: (() => void) | undefined;

  constructor(
    private readonly store: SharedStore,
    private readonly keyOf: (file: string) => string,
    times: Partial<LockTimes> = {},
    private readonly outageMs: number = OUTAGE_MS,
  ) {
    this.#times = { ...LOCK_TIMES, ...times };
  }

  /**
   * Resolves when this process holds the lock. @throws VaultError `locked`, or StoreUnavailable, which does not mean
   * "held"
   */
  async acquire({ file, what }: RecordName): Promise<HeldLock> {
    const { staleMs, waitMs, renewMs } = this.#times;
    const key = this.keyOf(file);
    const token = randomBytes(16).toString("hex");
    const begun = performance.now();
    let pollMs = FIRST_POLL_MS;
    while (!(await this.#take(key, token))) {
      if (performance.now() - begun > waitMs) {
        const seconds = Math.round(waitMs / 1000);
        throw new VaultError("locked", `${what} was locked by another replica for more than ${seconds} s`);
      }
      await pause(pollMs * (0.5 + Math.random() / 2));
      pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS);
    }
    // In an outage the next renewal may be in time; otherwise the lock expires.
    const renew = setInterval(() => {
      this.store.run(RENEW, [key], [token, String(staleMs)]).catch(() => {});
    }, renewMs);
    renew.unref();
    return {
      release: async () => {
        clearInterval(renew);
        await this.#release(key, token);
      },
    };
  }

  async #take(key: string, token: string): Promise<boolean> {
    const args = [token, String(this.#times.staleMs)];
    try {
      const taken = await throughOutage(this.store, this.outageMs, () =>
        this.store.run(ACQUIRE, [key], args),
      );
      return taken === 1;
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#leave(key, token);
      throw error;
    }
  }

  async #release(key: string, token: string): Promise<void> {
    try {
      await this.store.run(RELEASE, [key], [token]);
    } catch {
      this.#leave(key, token);
    }
  }

  /** The lock is released once the store is back, or expires. */
  #leave(key: string, token: string): void {
    if (this.#left.size >= MAX_LEFT) return;
    this.#left.set(token, key);
    this.#unwatch ??= this.store.onChange((isUp) => isUp && this.#releaseLeft());
  }

  #releaseLeft(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    const left = [...this.#left];
    this.#left.clear();
    for (const [token, key] of left) this.#release(key, token).catch(() => {}); // it does not reject
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
