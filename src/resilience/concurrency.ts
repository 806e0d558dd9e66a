/** How many calls run at a server at the same time? A semaphore with a bounded queue, in which principals have fair shares. */
import { type Handler, isResumed, type Middleware, type Reply } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { fitsFairShare, isIdentified } from "../core/fair-share.js";
import { principalKey } from "../core/principal.js";
import type { StopSignal } from "../core/stop.js";

/** The defaults of a server. */
export const DEFAULT_CONCURRENCY = 32;
/** Calls that may wait at a server. */
export const DEFAULT_QUEUE_LIMIT = 100;

/** How many calls run at one server. */
interface ConcurrencySettings {
  readonly semaphore: Semaphore;
  /** By its key in the config. */
  readonly server: string;
}

/**
 * A call that its client cancels while it is queued leaves the queue immediately. One that is resumed continues where it
 * stopped; running calls, each with its own slot, may be waiting for that.
 */
export function concurrency(settings: ConcurrencySettings): Middleware {
  const { semaphore } = settings;
  const releasing = (owner: string | undefined) => ({
    onReply: (reply: Reply): Reply => {
      semaphore.release(owner);
      return reply;
    },
    onError: (error: unknown): never => {
      semaphore.release(owner);
      throw error;
    },
  });
  // With one principal no owner is needed.
  const releasingUnowned = releasing(undefined);
  return (next: Handler): Handler =>
    function concurrency(call) {
      const { principal } = call.client;
      const owner = isIdentified(principal) ? principalKey(principal) : undefined;
      const acquired = semaphore.acquire(call.signal, isResumed(call), owner);
      if (acquired === "full") return Promise.reject(queueFull(settings));
      const { onReply, onError } = owner === undefined ? releasingUnowned : releasing(owner);
      if (acquired === "inside") return next(call).then(onReply, onError);
      const start = performance.now();
      return acquired.then(
        () => {
          if (call.record !== undefined) call.record.queueMs += performance.now() - start;
          return next(call).then(onReply, onError);
        },
        (cause: unknown) => {
          if (call.record !== undefined) call.record.queueMs += performance.now() - start;
          throw cause === EVICTED ? queueFull(settings) : cancelledInQueue(cause);
        },
      );
    };
}

const cancelledInQueue = (cause: unknown): GatewayError =>
  new GatewayError("cancelled", "downstream", "the client cancelled this call while it waited", { cause });

const queueFull = ({ semaphore, server }: ConcurrencySettings): GatewayError =>
  new GatewayError(
    "queue_full",
    "gateway",
    `"${server}" is busy: ${semaphore.running} calls are running and ${semaphore.queued} are waiting`,
    // How fast the line moves is the server's secret; a second is short for a person and long for a queue.
    { server, retryable: true, retryAfterMs: 1000 },
  );

interface Waiter {
  readonly owner: string | undefined;
  readonly admit: () => void;
  /** Turns it away after all. */
  readonly evict: () => void;
  /** How many may be inside with it. */
  readonly limit: number;
}

/** Rejects the promise of a waiter that was evicted from the queue for another owner. */
const EVICTED = Symbol("gave way to another owner");

/** A counting semaphore with a bounded queue and fair shares for owners. */
export class Semaphore {
  #running = 0;
  /** Whose the places are that are taken, in no order; a Map of counts would be filled and emptied with every call. */
  readonly #owners: string[] = [];
  readonly #waiters = new Set<Waiter>();
  /** Called when the semaphore is idle. */
  readonly #idleWaiters: (() => void)[] = [];

  /**
   * @param limit how many may be inside at the same time
   * @param queueLimit how many may wait before they are turned away
   */
  constructor(
    readonly limit: number,
    readonly queueLimit: number,
  ) {
    if (!Number.isInteger(limit) || limit < 1) throw new RangeError("concurrency must be at least 1");
    if (!Number.isInteger(queueLimit) || queueLimit < 0) throw new RangeError("queue must not be negative");
  }

  /** How many are inside. */
  get running(): number {
    return this.#running;
  }

  /** How many stand in line. */
  get queued(): number {
    return this.#waiters.size;
  }

  /**
   * Takes a place at once where one is free (`"inside"`), else stands in line (a promise that resolves inside,
   * and rejects with the signal's reason when it is aborted first), else is turned away (`"full"`). Where an owner
   * has more in a line that is full than the one who comes, its youngest there gives way (`EVICTED`).
   * Each holder must `release` under the same `owner`.
   *
   * `owner`: the principal's id, for fair shares of permits and queue (`fitsFairShare`); none where all calls are of one principal.
   *
   * `returning`: the call resumes earlier work, so it skips the queue and may use up to 2 × `limit`; running calls may be
   * waiting for it.
   */
  acquire(signal: StopSignal, returning = false, owner?: string): "inside" | "full" | Promise<void> {
    const limit = returning ? 2 * this.limit : this.limit;
    // Waiters may not enter yet, so no other owner overtakes them.
    const mayAcquire = owner === undefined ? returning || this.#waiters.size === 0 : true;
    if (mayAcquire && this.#hasCapacity(limit, owner)) {
      this.#take(owner);
      return "inside";
    }
    if (!this.#hasQueueSpace(owner) && !this.#evictFor(owner)) return "full";
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        owner,
        limit,
        admit() {
          signal.removeEventListener("abort", giveUp);
          resolve();
        },
        evict() {
          signal.removeEventListener("abort", giveUp);
          reject(EVICTED);
        },
      };
      const giveUp = (): void => {
        this.#waiters.delete(waiter);
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      this.#waiters.add(waiter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Resolves when there are no holders and no waiters. */
  idle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
    });
  }

  /** Gives the place to the first in line who may have it, or sets it free. */
  release(owner?: string): void {
    this.#running -= 1;
    if (owner !== undefined) {
      const last = this.#owners.pop();
      const at = last === owner ? -1 : this.#owners.indexOf(owner);
      if (at !== -1 && last !== undefined) this.#owners[at] = last;
    }
    // A Set keeps the order of insertion, so the first of it has waited longest.
    for (const first of this.#waiters) {
      if (!this.#hasCapacity(first.limit, first.owner)) continue;
      this.#waiters.delete(first);
      this.#take(first.owner);
      first.admit();
      return;
    }
    if (this.#running === 0 && this.#idleWaiters.length > 0)
      for (const tell of this.#idleWaiters.splice(0)) tell();
  }

  #take(owner: string | undefined): void {
    this.#running += 1;
    if (owner !== undefined) this.#owners.push(owner);
  }

  #hasCapacity(places: number, owner: string | undefined): boolean {
    if (owner === undefined) return this.#running < places;
    let own = 0;
    // There are usually few holders, and no owner has to be counted.
    if (4 * this.#running >= 3 * places) for (const one of this.#owners) own += one === owner ? 1 : 0;
    return fitsFairShare(places, this.#running, own);
  }

  #hasQueueSpace(owner: string | undefined): boolean {
    if (owner === undefined) return this.#waiters.size < this.queueLimit;
    const own = [...this.#waiters].filter((waiting) => waiting.owner === owner).length;
    return fitsFairShare(this.queueLimit, this.#waiters.size, own);
  }

  /** Rejects the youngest waiter of the owner with most waiters; false where no owner has more than `owner` would have. */
  #evictFor(owner: string | undefined): boolean {
    if (owner === undefined) return false;
    const counts = new Map<string | undefined, number>();
    for (const one of this.#waiters) counts.set(one.owner, (counts.get(one.owner) ?? 0) + 1);
    const [longest] = [...counts].toSorted(([, a], [, b]) => b - a);
    if (longest === undefined || longest[1] <= (counts.get(owner) ?? 0) + 1) return false;
    // One that was inside before has left something half done there.
    const last = [...this.#waiters].findLast((one) => one.owner === longest[0] && one.limit === this.limit);
    if (last === undefined) return false;
    this.#waiters.delete(last);
    last.evict();
    return true;
  }
}
