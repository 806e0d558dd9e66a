/** What does one limit of the config count? Token buckets, quotas and semaphores, by the key of its `per`. */
import { isDeepStrictEqual } from "node:util";
import { LRUCache } from "lru-cache";
import type { Call, Route } from "../../../core/call.js";
import { principalKey } from "../../../core/principal.js";
import type { SharedLimits, SharedPlaces } from "../../../core/replicas.js";
import { hasSingleReading, readingsOf } from "../../../core/uri-readings.js";
import { Semaphore } from "../../../resilience/concurrency.js";
import { boundedKey, entryLimit } from "../../../runtime/cache-limits.js";
import { writeJson } from "../../../wire/json-text.js";
import type { LimitConfig } from "../config.js";
import { Hits } from "../hits.js";
import { withoutNumber } from "../identity.js";
import { hasUri } from "../rules/policy-input.js";
import { compileMatcher, type Matcher, type PolicyFault } from "../rules/rule.js";

/** The queue length where the config sets `concurrency` without `queue`. */
const DEFAULT_QUEUE = 100;
/** The least recently used key is evicted first; its budget is full when it comes again. */
const MAX_BUDGETS = 10_000;
const NO_BUDGETS: readonly CallBudget[] = [];

/** One limit of the config, with its state for each key. */
export class Limit {
  readonly matcher: Matcher;
  /** Calls and questions to which it applied. */
  readonly hits = new Hits();
  #config: LimitConfig;
  readonly #budgets = new LRUCache<string, readonly CallBudget[]>(entryLimit(MAX_BUDGETS));
  /** Only those in use. */
  readonly #semaphores = new Map<string, Semaphore>();

  /** The prefix of its keys where replicas count together: what it limits, and what it counts. */
  readonly #scope: string;

  /** @param shared where replicas count together; @param purpose tells equal limits apart that count different things */
  constructor(
    config: LimitConfig,
    private readonly shared?: SharedLimits,
    purpose = "calls",
  ) {
    this.#config = config;
    this.matcher = compileMatcher(config);
    this.#scope = shared === undefined ? "" : writeJson([purpose, withoutNumber(config)]);
  }

  get config(): LimitConfig {
    return this.#config;
  }

  /** Continues as the limit of a later config if it is the same, perhaps under another number; else false. */
  takeOver(later: LimitConfig): boolean {
    const isSame = isDeepStrictEqual(withoutNumber(later), withoutNumber(this.#config));
    if (isSame) this.#config = later;
    return isSame;
  }

  /** The budgets of this call; none where the limit does not count. */
  budgets(call: Call, route: Route): readonly CallBudget[] {
    const { rate, burst, quota } = this.config;
    if (rate === undefined && quota === undefined) return NO_BUDGETS;
    const key = this.#budgetKey(call, route);
    let budgets = this.#budgets.get(key);
    if (budgets === undefined) {
      budgets = [
        ...(rate === undefined
          ? NO_BUDGETS
          : [this.#bucket(key, { capacity: burst ?? rate.count, perMs: rate.count / rate.windowMs })]),
        ...(quota === undefined ? NO_BUDGETS : [this.#quota(key, quota)]),
      ];
      this.#budgets.set(key, budgets);
    }
    return budgets;
  }

  #bucket(key: string, settings: TokenBucketSettings): CallBudget {
    if (this.shared === undefined) return new TokenBucket(settings);
    // A question of a server is counted without waiting, so that each replica has its share.
    if (this.config.on !== "call") return new TokenBucket(settings, this.shared);
    return this.shared.budget(`${this.#scope} rate ${key}`, { kind: "rate", ...settings });
  }

  #quota(key: string, settings: QuotaSettings): CallBudget {
    if (this.shared === undefined) return new Quota(settings);
    if (this.config.on !== "call") {
      const { count, windowMs } = settings;
      return new TokenBucket({ capacity: count, perMs: count / windowMs }, this.shared);
    }
    return this.shared.budget(`${this.#scope} quota ${key}`, { kind: "quota", ...settings });
  }

  /** The places that a call has over all replicas; undefined where each process counts for itself. */
  sharedPlaces(call: Call, route: Route): SharedPlaces | undefined {
    if (this.config.concurrency === undefined) return undefined;
    return this.shared?.places(`${this.#scope} places ${this.#budgetKey(call, route)}`);
  }

  /** How long (ms) until the budgets admit a call; 0 for now. */
  waitMs(call: Call, route: Route): number {
    return Math.max(0, ...this.budgets(call, route).map((budget) => budget.knownWaitMs ?? budget.waitMs));
  }

  /** The semaphore of this call, and its release; undefined where the limit has none. */
  semaphore(
    call: Call,
    route: Route,
  ): { readonly semaphore: Semaphore; readonly release: () => void } | undefined {
    const { concurrency, queue = DEFAULT_QUEUE } = this.config;
    if (concurrency === undefined) return undefined;
    const key = this.#budgetKey(call, route);
    const semaphore = this.#semaphores.get(key) ?? new Semaphore(concurrency, queue);
    this.#semaphores.set(key, semaphore);
    const release = (): void => {
      semaphore.release();
      if (semaphore.running === 0 && semaphore.queued === 0) this.#semaphores.delete(key);
    };
    return { semaphore, release };
  }

  #budgetKey({ client }: Call, route: Route): string {
    switch (this.config.per) {
      case "principal":
        return boundedKey(principalKey(client.principal));
      case "session":
        // A host without a session is counted by its principal.
        return client.session
          ? boundedKey(`${principalKey(client.principal)}\0${client.affinity}`)
          : boundedKey(principalKey(client.principal));
      case "server":
        return route.upstream;
      case "tool":
        return boundedKey(`${route.upstream}\0${targetOf(route)}`);
      case "all":
        return "";
    }
  }
}

/** The same for all ways to write a URI: of its readings the shortest, of those that are plain where there are any. */
function targetOf(route: Route): string {
  const { target } = route;
  if (!hasUri(route) || hasSingleReading(target)) return target;
  const { all } = readingsOf(target);
  const plain = all.filter(hasSingleReading);
  return (plain.length > 0 ? plain : all).reduce((least, reading) =>
    reading.length < least.length || (reading.length === least.length && reading < least) ? reading : least,
  );
}

/** What is wrong with the limits, by path in the config. */
export function limitFaults(limits: readonly LimitConfig[]): readonly PolicyFault[] {
  return limits.flatMap((limit, at) => {
    const path = ["limits", at] as const;
    const faults: PolicyFault[] = [];
    const { rate, quota, concurrency, timeoutMs } = limit;
    if ([rate, quota, concurrency, timeoutMs].every((bound) => bound === undefined)) {
      faults.push({ path, message: 'a limit needs a "rate", a "quota", a "concurrency" or a "timeout"' });
    }
    if (limit.burst !== undefined && limit.rate === undefined) {
      faults.push({ path: [...path, "burst"], message: 'this key needs a "rate"' });
    }
    if (limit.queue !== undefined && limit.concurrency === undefined) {
      faults.push({ path: [...path, "queue"], message: 'this key needs a "concurrency"' });
    }
    if (limit.on !== "call" && (limit.concurrency !== undefined || limit.timeoutMs !== undefined)) {
      faults.push({ path, message: "questions of servers can only be limited by a rate or a quota" });
    }
    return faults;
  });
}

/** Calls that may be spent. */
export interface CallBudget {
  /** Ms until a call is left, by a monotonic clock; 0 when one is. */
  readonly waitMs: number;
  /** Spends one call; check `waitMs` first. The returned function refunds it. */
  spend(): () => void;
  /** Where calls are leased: the wait as far as it is known without a lease. */
  readonly knownWaitMs?: number;
  /** Whether nothing is admitted because what replicas count with is away. */
  readonly isClosed?: boolean;
  /** Where replicas count together: leases calls where none is left; undefined where nothing has to be awaited. */
  prepare?(): Promise<void> | undefined;
}

/** A rate and its burst. */
interface TokenBucketSettings {
  /** How many it holds, and has when it is new. */
  readonly capacity: number;
  /** How many come back in a millisecond. */
  readonly perMs: number;
}

/** A token bucket on a monotonic clock, or the share of one. */
export class TokenBucket implements CallBudget {
  #tokens: number;
  #at: number;
  readonly #settings: TokenBucketSettings;

  constructor(
    settings: TokenBucketSettings,
    private readonly of: { readonly share: number } = { share: 1 },
  ) {
    this.#settings = settings;
    this.#tokens = settings.capacity;
    this.#at = performance.now();
  }

  get waitMs(): number {
    this.#fill();
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / (this.#settings.perMs * this.of.share);
  }

  spend(): () => void {
    this.#fill();
    this.#tokens -= 1;
    return () => {
      this.#tokens = Math.min(this.#settings.capacity, this.#tokens + 1);
    };
  }

  #fill(): void {
    const now = performance.now();
    const { capacity, perMs } = this.#settings;
    const { share } = this.of;
    // Sums of fractions fall short of whole numbers by less than this; a call that has waited must not wait again.
    const filled = this.#tokens + (now - this.#at) * perMs * share + 1e-9;
    this.#tokens = Math.min(Math.max(1, capacity * share), filled);
    this.#at = now;
  }
}

/** How many calls per window. */
interface QuotaSettings {
  readonly count: number;
  readonly windowMs: number;
}

/** A fixed-window counter on a monotonic clock. */
export class Quota implements CallBudget {
  readonly #settings: QuotaSettings;
  #used = 0;
  /** When the time that is running began. */
  #since = Number.NEGATIVE_INFINITY;

  constructor(settings: QuotaSettings) {
    this.#settings = settings;
  }

  get waitMs(): number {
    const left = this.#since + this.#settings.windowMs - performance.now();
    return left <= 0 || this.#used < this.#settings.count ? 0 : left;
  }

  spend(): () => void {
    const now = performance.now();
    if (now - this.#since >= this.#settings.windowMs) {
      this.#since = now;
      this.#used = 0;
    }
    this.#used += 1;
    const since = this.#since;
    return () => {
      // What was spent in a time that is over is no use to the one that is running.
      if (since === this.#since) this.#used -= 1;
    };
  }
}
