/** One limit of the config: its purses and its lines, one for each of those who share it. */
import { LRUCache } from "lru-cache";
import type { LimitConfig } from "../../config/config.js";
import type { Call, Route } from "../../core/call.js";
import { hasSingleReading, readingsOf } from "../../core/uri-readings.js";
import { boundedKey, entryLimit } from "../../runtime/cache-limits.js";
import { compileMatcher, type Matcher } from "../rules/matcher.js";
import { hasUri } from "../rules/route-readings.js";
import type { PolicyFault } from "../rules/rule.js";
import { Semaphore } from "../semaphore.js";
import type { CallBudget } from "./call-budgets.js";
import { Quota, TokenBucket } from "./call-budgets.js";

/** The queue length where the config sets `concurrency` without `queue`. */
const DEFAULT_QUEUE = 100;
/** The one that was used longest ago goes first, and one that goes is full when it comes again. */
const MAX_BUDGETS = 10_000;
const NO_BUDGETS: readonly CallBudget[] = [];

/** One limit of the config, with its state for each key. */
export class Limit {
  readonly matcher: Matcher;
  readonly #budgets = new LRUCache<string, readonly CallBudget[]>(entryLimit(MAX_BUDGETS));
  /** Only those in use. */
  readonly #semaphores = new Map<string, Semaphore>();

  constructor(readonly config: LimitConfig) {
    this.matcher = compileMatcher(config);
  }

  /** What pays for this call, each for itself; nothing where the limit does not count. */
  budgets(call: Call, route: Route): readonly CallBudget[] {
    const { rate, burst, quota } = this.config;
    if (rate === undefined && quota === undefined) return NO_BUDGETS;
    const key = this.#budgetKey(call, route);
    let purses = this.#budgets.get(key);
    if (purses === undefined) {
      purses = [
        ...(rate === undefined
          ? NO_BUDGETS
          : [new TokenBucket({ capacity: burst ?? rate.count, perMs: rate.count / rate.windowMs })]),
        ...(quota === undefined ? NO_BUDGETS : [new Quota(quota)]),
      ];
      this.#budgets.set(key, purses);
    }
    return purses;
  }

  /** How long until a call would be let through by the purses; 0 for now. */
  waitMs(call: Call, route: Route): number {
    return Math.max(0, ...this.budgets(call, route).map((budget) => budget.waitMs));
  }

  /** The line that this call must go through, and how to leave it; undefined where the limit has none. */
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
        return boundedKey(client.principal.id);
      case "session":
        // Where a host has no session, its principal stands for it.
        return client.session
          ? boundedKey(`${client.principal.id}\0${client.affinity}`)
          : boundedKey(client.principal.id);
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
      faults.push({ path, message: "what a server asks can only be limited by a rate or a quota" });
    }
    return faults;
  });
}
