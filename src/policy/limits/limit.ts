/** One limit of the config: its purses and its lines, one for each of those who share it. */
import { LRUCache } from "lru-cache";
import type { LimitConfig } from "../../config/config.js";
import type { Call, Route } from "../../core/call.js";
import { keptKey } from "../../core/kept-text.js";
import { upTo } from "../../core/up-to.js";
import { isPlain, readingsOf } from "../../core/uri-readings.js";
import { Line } from "../line.js";
import { hasUri } from "../rules/route-readings.js";
import type { PolicyFault } from "../rules/rule.js";
import { compileSubject, type Subject } from "../rules/subject.js";
import { Bucket } from "./bucket.js";
import type { Purse } from "./purse.js";
import { Quota } from "./quota.js";

/** Where the config gives a concurrency and says nothing of a queue. */
const DEFAULT_QUEUE = 100;
/** The one that was used longest ago goes first, and one that goes is full when it comes again. */
const MOST_PURSES = 10_000;
const NONE: readonly Purse[] = [];

export class Limit {
  readonly subject: Subject;
  readonly #purses = new LRUCache<string, readonly Purse[]>(upTo(MOST_PURSES));
  /** Only those that somebody is in. */
  readonly #lines = new Map<string, Line>();

  constructor(readonly config: LimitConfig) {
    this.subject = compileSubject(config);
  }

  /** What pays for this call, each for itself; nothing where the limit does not count. */
  purses(call: Call, route: Route): readonly Purse[] {
    const { rate, burst, quota } = this.config;
    if (rate === undefined && quota === undefined) return NONE;
    const key = this.#sharer(call, route);
    let purses = this.#purses.get(key);
    if (purses === undefined) {
      purses = [
        ...(rate === undefined
          ? NONE
          : [new Bucket({ capacity: burst ?? rate.count, perMs: rate.count / rate.windowMs })]),
        ...(quota === undefined ? NONE : [new Quota(quota)]),
      ];
      this.#purses.set(key, purses);
    }
    return purses;
  }

  /** How long until a call would be let through by the purses; 0 for now. */
  waitMs(call: Call, route: Route): number {
    return Math.max(0, ...this.purses(call, route).map((purse) => purse.waitMs));
  }

  /** The line that this call must go through, and how to leave it; undefined where the limit has none. */
  line(call: Call, route: Route): { readonly line: Line; readonly leave: () => void } | undefined {
    const { concurrency, queue = DEFAULT_QUEUE } = this.config;
    if (concurrency === undefined) return undefined;
    const key = this.#sharer(call, route);
    const line = this.#lines.get(key) ?? new Line(concurrency, queue);
    this.#lines.set(key, line);
    const leave = (): void => {
      line.leave();
      if (line.taken === 0 && line.waiting === 0) this.#lines.delete(key);
    };
    return { line, leave };
  }

  #sharer({ client }: Call, route: Route): string {
    switch (this.config.per) {
      case "principal":
        return keptKey(client.principal.id);
      case "session":
        // Where a host has no session, its principal stands for it.
        return client.session
          ? keptKey(`${client.principal.id}\0${client.affinity}`)
          : keptKey(client.principal.id);
      case "server":
        return route.upstream;
      case "tool":
        return keptKey(`${route.upstream}\0${targetOf(route)}`);
      case "all":
        return "";
    }
  }
}

/** The same for all ways to write a URI: of its readings the shortest, of those that are plain where there are any. */
function targetOf(route: Route): string {
  const { target } = route;
  if (!hasUri(route) || isPlain(target)) return target;
  const { all } = readingsOf(target);
  const plain = all.filter(isPlain);
  return (plain.length > 0 ? plain : all).reduce((least, reading) =>
    reading.length < least.length || (reading.length === least.length && reading < least) ? reading : least,
  );
}

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
