/**
 * A shared rate limit or quota without a store access per call: each replica leases calls from the shared token bucket
 * and spends them locally; near the limit leases shrink to single calls.
 */
import {
  type BudgetSettings,
  type SharedBudget,
  type SharedStore,
  type StoreScript,
  StoreUnavailable,
} from "../core/cluster.js";

/** The source of leases, and the behaviour during an outage. */
export interface LeaseContext {
  readonly store: SharedStore;
  readonly onOutage: "share" | "closed" | "open";
  /** Since when the store is unavailable, by `performance.now()`; undefined while it is available. */
  readonly awaySince: () => number | undefined;
  /** 1 / number of replicas. */
  readonly share: () => number;
  /** Called with each command. */
  readonly onUse: () => void;
  /** Called if the store responds with an error: its limits then count as in an outage. */
  readonly onRefused: (error: unknown) => void;
}

/**
 * A replica's share is empty when an outage starts. Calls without a token in this first period (ms) wait for its end,
 * so that an outage refuses nothing that is far below the limit.
 */
const FIRST_MOMENT_MS = 250;
/** Maximum calls per lease. */
const WANTED = 64;
/** `Retry-After` in ms of a replica that cannot count. */
const CLOSED_MS = 1_000;
/** A refused lease is retried after this time, in ms. */
const REFUSED_MS = 1_000;

/**
 * KEYS[1]: the bucket. ARGV: capacity, tokens per ms, wanted, replicas, spent without a lease. Returns the granted
 * number and the ms until there is more, by the clock of the store.
 */
const LEASE_RATE: StoreScript = {
  name: "lease.rate",
  text: `local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local capacity, per = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(kept[1]) or capacity
local at = tonumber(kept[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * per) - tonumber(ARGV[5])
local granted = 0
if tokens >= 1 then
  granted = math.min(tonumber(ARGV[3]), math.max(1, math.floor(tokens / (2 * tonumber(ARGV[4])))))
end
tokens = tokens - granted
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.3f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - tokens) / per) + 60000)
local wait = 0
if granted == 0 then wait = math.max(1, math.ceil((1 - tokens) / per)) end
return {granted, wait}`,
};

/** The same for a quota: a window starts with its first call. Also returns the ms until the window ends. */
const LEASE_QUOTA: StoreScript = {
  name: "lease.quota",
  text: `local count, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('SET', KEYS[1], 0, 'PX', window)
  left = window
end
local used = tonumber(redis.call('GET', KEYS[1])) + tonumber(ARGV[5])
local rest = count - used
local granted = 0
if rest >= 1 then
  granted = math.min(tonumber(ARGV[3]), math.max(1, math.floor(rest / (2 * tonumber(ARGV[4])))))
end
redis.call('SET', KEYS[1], used + granted, 'KEEPTTL')
return {granted, granted == 0 and left or 0, left}`,
};

/** Returns ARGV[1] calls: to a bucket of at most ARGV[2], or, if that is 0, to the window of a quota. */
const GIVE_BACK: StoreScript = {
  name: "lease.return",
  text: `if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local count, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
if capacity > 0 then
  local tokens = tonumber(redis.call('HGET', KEYS[1], 'tokens')) or 0
  redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', math.min(capacity, tokens + count)))
else
  redis.call('SET', KEYS[1], math.max(0, tonumber(redis.call('GET', KEYS[1])) - count), 'KEEPTTL')
end
return 1`,
};

/** One bucket, as seen by this replica. */
export class LeasedBudget implements SharedBudget {
  /** Remaining calls of the lease. */
  #left = 0;
  /** End of the quota's window, by `performance.now()`: remaining calls expire then. */
  #until = Number.POSITIVE_INFINITY;
  #refusedUntil = 0;
  #usedAt = performance.now();
  #asking: Promise<void> | undefined;
  /** Admitted during an outage; the next lease deducts it. */
  #debt = 0;
  /** Whether the store refused the last lease, e.g. for missing permissions. */
  #isRefused = false;
  /** This replica's share during an outage: its tokens, and when they were counted. */
  #own: { tokens: number; at: number } | undefined;

  constructor(
    /** Relative to the prefix of the store. */
    readonly key: string,
    private readonly settings: BudgetSettings,
    private readonly context: LeaseContext,
  ) {}

  get waitMs(): number {
    this.#dropEnded();
    if (this.#left >= 1) return 0;
    if (this.#isAlone) return this.#waitAlone();
    return Math.max(1, this.#refusedUntil - performance.now());
  }

  get knownWaitMs(): number {
    if (this.#isAlone) return this.waitMs;
    return this.#left >= 1 ? 0 : Math.max(0, this.#refusedUntil - performance.now());
  }

  get isClosed(): boolean {
    return this.context.onOutage === "closed" && this.#isAlone && this.waitMs > 0;
  }

  spend(): () => void {
    this.#usedAt = performance.now();
    this.#dropEnded();
    if (this.#left >= 1) {
      this.#left -= 1;
      const until = this.#until;
      return () => {
        if (until === this.#until) this.#left += 1;
      };
    }
    const own = this.#fill();
    own.tokens -= 1;
    this.#debt += 1;
    return () => {
      own.tokens += 1;
      this.#debt -= 1;
    };
  }

  prepare(): Promise<void> | undefined {
    this.#dropEnded();
    if (this.#left >= 1) return undefined;
    if (!this.context.store.isUp) return this.#firstMoment();
    if (performance.now() < this.#refusedUntil) return undefined;
    this.#asking ??= this.#lease().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Returns the lease if nothing was spent since `before` (by `performance.now()`). */
  async giveBack(before: number): Promise<void> {
    this.#dropEnded();
    const count = this.#left;
    if (count < 1 || this.#usedAt > before || this.#asking !== undefined) return;
    this.#left = 0;
    const { kind } = this.settings;
    const capacity = kind === "rate" ? this.settings.capacity : 0;
    this.context.onUse();
    // A lease that cannot be returned is lost for one window at most.
    await this.context.store.run(GIVE_BACK, [this.key], [String(count), String(capacity)]).catch(() => {});
  }

  /** Whether it can be dropped without loss. */
  get isIdle(): boolean {
    return this.#left < 1 && this.#debt === 0 && this.#asking === undefined && this.#own === undefined;
  }

  get #isAlone(): boolean {
    return this.#isRefused || !this.context.store.isUp;
  }

  async #lease(): Promise<void> {
    const { store, share, onUse } = this.context;
    const debt = this.#debt;
    const [script, most, per] =
      this.settings.kind === "rate"
        ? [LEASE_RATE, this.settings.capacity, this.settings.perMs]
        : [LEASE_QUOTA, this.settings.count, this.settings.windowMs];
    const args = [most, per, WANTED, Math.max(1, Math.round(1 / share())), debt].map(String);
    onUse();
    try {
      const answer = (await store.run(script, [this.key], args)) as readonly number[];
      const [granted = 0, waitMs = 0, leftMs] = answer;
      const now = performance.now();
      this.#isRefused = false;
      this.#debt -= debt;
      this.#own = undefined;
      this.#left += granted;
      this.#refusedUntil = granted === 0 ? now + waitMs : 0;
      if (leftMs !== undefined) this.#until = now + leftMs;
    } catch (error) {
      // The store reports its outage itself; meanwhile this replica's share counts.
      if (error instanceof StoreUnavailable) return this.#firstMoment();
      this.#isRefused = true;
      this.#refusedUntil = performance.now() + REFUSED_MS;
      this.context.onRefused(error);
    }
  }

  /**
   * Resolves at the end of the first period of an outage; undefined after it, or if a wait is unnecessary or useless.
   */
  #firstMoment(): Promise<void> | undefined {
    const { awaySince, onOutage } = this.context;
    const restMs = (awaySince() ?? Number.NEGATIVE_INFINITY) + FIRST_MOMENT_MS - performance.now();
    const waitMs = this.#waitAlone();
    if (onOutage === "closed" || waitMs === 0 || waitMs > restMs) return undefined;
    return new Promise((resolve) => setTimeout(resolve, restMs));
  }

  /** Remaining calls of a quota do not carry over to the next window. */
  #dropEnded(): void {
    if (performance.now() < this.#until) return;
    this.#left = 0;
    this.#until = Number.POSITIVE_INFINITY;
  }

  #waitAlone(): number {
    if (this.context.onOutage === "closed") return CLOSED_MS;
    const { tokens } = this.#fill();
    return tokens >= 1 ? 0 : Math.max(1, (1 - tokens) / this.#aloneSettings().perMs);
  }

  /** This replica's own bucket: initially empty if shares count, so that the sum never exceeds the limit. */
  #fill(): { tokens: number; at: number } {
    const { capacity, perMs } = this.#aloneSettings();
    const now = performance.now();
    const { onOutage, awaySince } = this.context;
    const since = awaySince() ?? now;
    // The bucket of an earlier outage is discarded.
    const kept = this.#isRefused || (this.#own?.at ?? 0) >= since ? this.#own : undefined;
    const own = kept ?? { tokens: onOutage === "open" ? capacity : 0, at: since };
    own.tokens = Math.min(capacity, own.tokens + (now - own.at) * perMs);
    own.at = now;
    this.#own = own;
    return own;
  }

  #aloneSettings(): { readonly capacity: number; readonly perMs: number } {
    const { settings } = this;
    const part = this.context.onOutage === "open" ? 1 : this.context.share();
    return settings.kind === "rate"
      ? { capacity: Math.max(1, settings.capacity * part), perMs: settings.perMs * part }
      : { capacity: Math.max(1, settings.count * part), perMs: (settings.count / settings.windowMs) * part };
  }
}
