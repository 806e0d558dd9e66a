/** Loads the lists of one server: one refresh at a time, coalesced notifications, and retries after failures. */

import PQueue from "p-queue";
import { GatewayError } from "../core/errors.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import { inBackground, type Logger } from "../core/logger.js";
import type { StopSignal } from "../core/stop.js";
import type { ServerList, Upstream } from "../core/upstream.js";
import { cooperativeYield, nowOrInSteps, type Steps } from "../runtime/cooperative-yield.js";
import type { JsonObject } from "../wire/json.js";
import { digestEntries } from "./entry-digests.js";
import type { ConnectionLists } from "./scoped-lists.js";

/** The server, and what is called with its lists. */
export interface ListRefreshOptions {
  readonly upstream: Upstream;
  readonly logger: Logger;
  /** Debounce time (ms) of list_changed. */
  readonly settleMs: number;
  /** Timeout (ms) of all pages of one list. */
  readonly listTimeoutMs: number;
  /** The entries that the server listed before, over this or another connection; undefined if there was no list. */
  readonly known: (connection: ConnectionLists, kind: ListKind) => readonly JsonObject[] | undefined;
  /** Work on a list before `onLoaded`, in steps. Absent: none. */
  readonly prepare?: Preparation | undefined;
  /** A list was loaded. An exception counts as a failure to list. */
  readonly onLoaded: (connection: ConnectionLists, kind: ListKind, list: ServerList) => void;
  readonly onFailed: (connection: ConnectionLists, kind: ListKind, cause: unknown) => void;
  /** Whether a failed list is retried without a waiting client. */
  readonly shouldRetry: (connection: ConnectionLists) => boolean;
}

/** Backoff (ms) after the first failure, and its maximum. */
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/**
 * A server whose lists change constantly is polled at most at this interval (ms), after this number of polls at less
 * than twice that interval.
 */
const MIN_INTERVAL_MS = 1_000;
const MAX_RAPID = 5;

/** The refresh of one list scope. */
interface RefreshJob {
  readonly due: Set<ListKind>;
  /** The list that is being loaded. */
  readonly inFlight: Set<ListKind>;
  timer: NodeJS.Timeout | undefined;
  /** Pending and running refreshes. */
  running: number;
  failures: number;
  /** When a notification last triggered a poll, and the number of polls shortly after each other. */
  ranAt: number;
  rapidRefreshes: number;
  /** By the monotonic clock. */
  notBefore: number;
}

/** Schedules the loads of the lists of one server. */
export class ListRefresh {
  readonly #options: ListRefreshOptions;
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #jobs = new WeakMap<ConnectionLists, RefreshJob>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #closing = new AbortController();

  constructor(options: ListRefreshOptions) {
    this.#options = options;
  }

  /** Loads all lists after a running load is done. Resolves when they are loaded or have failed. */
  load(connection: ConnectionLists): Promise<void> {
    const job = this.#jobOf(connection);
    this.#disarm(job);
    job.failures = 0;
    for (const kind of LIST_KINDS) job.due.add(kind);
    return this.#run(connection, job);
  }

  /** Loads `kinds` after the debounce time, together with everything marked until then. */
  schedule(connection: ConnectionLists, kinds: readonly ListKind[], delayMs?: number): void {
    if (this.#closing.signal.aborted) return;
    const job = this.#jobOf(connection);
    const wait = delayMs ?? (job.rapidRefreshes < MAX_RAPID ? this.#options.settleMs : MIN_INTERVAL_MS);
    for (const kind of kinds) job.due.add(kind);
    if (job.timer !== undefined) return;
    const timer = setTimeout(() => {
      this.#disarm(job);
      // No server is started for it: the next start loads all lists.
      if (this.#options.upstream.isOpenFor?.(connection.client) === false) return;
      const now = performance.now();
      job.rapidRefreshes = now - job.ranAt < 2 * MIN_INTERVAL_MS ? job.rapidRefreshes + 1 : 0;
      job.ranAt = now;
      inBackground(this.#run(connection, job), this.#options.logger, "a refresh of lists");
    }, wait);
    this.#timers.add(timer);
    job.timer = timer;
  }

  /** Whether a load for `connection` is running, scheduled, or failed so recently that it should wait. */
  isBusy(connection: ConnectionLists): boolean {
    const job = this.#jobs.get(connection);
    if (job === undefined) return false;
    return job.timer !== undefined || job.running > 0 || performance.now() < job.notBefore;
  }

  /** The lists still to be loaded for `connection`. */
  pending(connection: ConnectionLists): readonly ListKind[] {
    const job = this.#jobs.get(connection);
    return job === undefined ? [] : [...new Set([...job.due, ...job.inFlight])];
  }

  /** Drops the marks of `connection`. */
  cancel(connection: ConnectionLists): void {
    const job = this.#jobs.get(connection);
    if (job === undefined) return;
    this.#disarm(job);
    job.due.clear();
  }

  close(): void {
    this.#closing.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#queue.clear();
  }

  async #run(connection: ConnectionLists, job: RefreshJob): Promise<void> {
    job.running++;
    try {
      await this.#queue.add(() => this.#refresh(connection, job));
    } finally {
      job.running--;
    }
  }

  async #refresh(connection: ConnectionLists, job: RefreshJob): Promise<void> {
    const kinds = [...job.due];
    job.due.clear();
    for (const kind of kinds) job.inFlight.add(kind);
    // In parallel, and each is stored when it arrives: a hanging list delays no other.
    const heard = await Promise.all(kinds.map((kind) => this.#load(connection, kind)));
    job.inFlight.clear();
    const missing = kinds.filter((_, index) => heard[index] === false);
    if (missing.length === 0) {
      job.failures = 0;
      return;
    }
    const delayMs = Math.min(MIN_RETRY_MS * 2 ** job.failures++, MAX_RETRY_MS);
    job.notBefore = performance.now() + delayMs;
    if (this.#options.shouldRetry(connection)) this.schedule(connection, missing, delayMs);
  }

  /** Loads one list. Resolves to whether that succeeded. */
  async #load(connection: ConnectionLists, kind: ListKind): Promise<boolean> {
    const { upstream, listTimeoutMs, known, prepare, onLoaded, onFailed } = this.#options;
    const giveUp = new AbortController();
    const stop = () => giveUp.abort();
    const timer = setTimeout(stop, listTimeoutMs);
    this.#closing.signal.addEventListener("abort", stop);
    try {
      // The server may ignore the cancel, so its response is not awaited.
      const list = await Promise.race([
        upstream.list(kind, connection.client, giveUp.signal, known(connection, kind)),
        rejectOnAbort(giveUp.signal, upstream.name, kind),
      ]);
      const digested = nowOrInSteps(preparing(kind, list.items, prepare));
      if (digested instanceof Promise) {
        await digested;
        await cooperativeYield();
      }
      onLoaded(connection, kind, list);
      return true;
    } catch (cause) {
      if (!this.#closing.signal.aborted) onFailed(connection, kind, cause);
      return false;
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener("abort", stop);
    }
  }

  #disarm(job: RefreshJob): void {
    if (job.timer === undefined) return;
    clearTimeout(job.timer);
    this.#timers.delete(job.timer);
    job.timer = undefined;
  }

  #jobOf(connection: ConnectionLists): RefreshJob {
    const known = this.#jobs.get(connection);
    if (known !== undefined) return known;
    const job: RefreshJob = {
      due: new Set(),
      inFlight: new Set(),
      timer: undefined,
      running: 0,
      failures: 0,
      ranAt: Number.NEGATIVE_INFINITY,
      rapidRefreshes: 0,
      notBefore: 0,
    };
    this.#jobs.set(connection, job);
    return job;
  }
}

type Preparation = (kind: ListKind, items: readonly JsonObject[]) => Steps<void>;

function* preparing(
  kind: ListKind,
  items: readonly JsonObject[],
  prepare: Preparation | undefined,
): Steps<void> {
  yield* digestEntries(items);
  if (prepare !== undefined) yield* prepare(kind, items);
}

/** Rejects when `signal` is aborted. */
function rejectOnAbort(signal: StopSignal, server: string, kind: ListKind): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () =>
      reject(
        new GatewayError("timed_out", "upstream", `${server} did not list its ${kind} in time`, {
          server,
          retryable: true,
        }),
      ),
    );
  });
}
