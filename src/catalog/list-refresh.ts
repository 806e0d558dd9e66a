/** Asks one server for its lists: one refresh at a time, many announcements in one, and again later when it fails. */

import PQueue from "p-queue";
import { inBackground } from "../core/background.js";
import { GatewayError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import type { StopSignal } from "../core/stop.js";
import { LIST_KINDS, type ListKind, type ServerList, type Upstream } from "../core/upstream.js";
import type { Listener } from "./audience-lists.js";

export interface ListRefreshOptions {
  readonly upstream: Upstream;
  readonly logger: Logger;
  /** How long (ms) to wait for more announcements before asking. */
  readonly settleMs: number;
  /** How long (ms) the server may take to give all pages of one list. */
  readonly listTimeoutMs: number;
  /** A list was heard. What this throws counts as a failure to list. */
  readonly heard: (listener: Listener, kind: ListKind, list: ServerList) => void;
  readonly failed: (listener: Listener, kind: ListKind, cause: unknown) => void;
  /** Whether a failed list is asked for again without anybody waiting for it. */
  readonly persist: (listener: Listener) => boolean;
}

/** Waits (ms) after the first failure, and at most. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

/**
 * A server whose lists change all the time is asked, and with it everybody told, no more often than this (ms) once it was
 * asked so many times with less than twice that in between.
 */
const CALM_MS = 1_000;
const HURRIED = 5;

/** What is under way on behalf of one listener. */
interface Errand {
  readonly due: Set<ListKind>;
  /** What is being asked for at this moment. */
  readonly asking: Set<ListKind>;
  timer: NodeJS.Timeout | undefined;
  /** Refreshes that wait or run. */
  running: number;
  failures: number;
  /** When it was last asked because of an announcement, and how many times soon after another. */
  ranAt: number;
  hurried: number;
  /** By the monotonic clock. */
  notBefore: number;
}

export class ListRefresh {
  readonly #options: ListRefreshOptions;
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #errands = new WeakMap<Listener, Errand>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #closing = new AbortController();

  constructor(options: ListRefreshOptions) {
    this.#options = options;
  }

  /** Asks for all lists as soon as what runs already is done. Resolves when they were heard or failed. */
  load(listener: Listener): Promise<void> {
    const errand = this.#errandOf(listener);
    this.#disarm(errand);
    errand.failures = 0;
    for (const kind of LIST_KINDS) errand.due.add(kind);
    return this.#run(listener, errand);
  }

  /** Asks for `kinds` in a moment, together with whatever else is marked until then. */
  mark(listener: Listener, kinds: readonly ListKind[], delayMs?: number): void {
    if (this.#closing.signal.aborted) return;
    const errand = this.#errandOf(listener);
    const wait = delayMs ?? (errand.hurried < HURRIED ? this.#options.settleMs : CALM_MS);
    for (const kind of kinds) errand.due.add(kind);
    if (errand.timer !== undefined) return;
    const timer = setTimeout(() => {
      this.#disarm(errand);
      const now = performance.now();
      errand.hurried = now - errand.ranAt < 2 * CALM_MS ? errand.hurried + 1 : 0;
      errand.ranAt = now;
      inBackground(this.#run(listener, errand), this.#options.logger, "a refresh of lists");
    }, wait);
    this.#timers.add(timer);
    errand.timer = timer;
  }

  /** Whether `listener` is being asked, is about to be, or failed so recently that it had better not be. */
  isBusy(listener: Listener): boolean {
    const errand = this.#errands.get(listener);
    if (errand === undefined) return false;
    return errand.timer !== undefined || errand.running > 0 || performance.now() < errand.notBefore;
  }

  /** What is yet to be heard for `listener`. */
  pending(listener: Listener): readonly ListKind[] {
    const errand = this.#errands.get(listener);
    return errand === undefined ? [] : [...new Set([...errand.due, ...errand.asking])];
  }

  /** Forgets what was marked for `listener`. */
  cancel(listener: Listener): void {
    const errand = this.#errands.get(listener);
    if (errand === undefined) return;
    this.#disarm(errand);
    errand.due.clear();
  }

  close(): void {
    this.#closing.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#queue.clear();
  }

  async #run(listener: Listener, errand: Errand): Promise<void> {
    errand.running++;
    try {
      await this.#queue.add(() => this.#refresh(listener, errand));
    } finally {
      errand.running--;
    }
  }

  async #refresh(listener: Listener, errand: Errand): Promise<void> {
    const kinds = [...errand.due];
    errand.due.clear();
    for (const kind of kinds) errand.asking.add(kind);
    // Side by side, and each is taken in as it comes: a list that hangs holds up no other.
    const heard = await Promise.all(kinds.map((kind) => this.#ask(listener, kind)));
    errand.asking.clear();
    const missing = kinds.filter((_, index) => heard[index] === false);
    if (missing.length === 0) {
      errand.failures = 0;
      return;
    }
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** errand.failures++, LAST_RETRY_MS);
    errand.notBefore = performance.now() + delayMs;
    if (this.#options.persist(listener)) this.mark(listener, missing, delayMs);
  }

  /** Asks for one list. Resolves to whether it was heard. */
  async #ask(listener: Listener, kind: ListKind): Promise<boolean> {
    const { upstream, listTimeoutMs, heard, failed } = this.#options;
    const giveUp = new AbortController();
    const stop = () => giveUp.abort();
    const timer = setTimeout(stop, listTimeoutMs);
    this.#closing.signal.addEventListener("abort", stop);
    try {
      // The server may not notice that nobody waits any more, so it is not waited for either.
      const list = await Promise.race([
        upstream.list(kind, listener.client, giveUp.signal),
        refusal(giveUp.signal, upstream.name, kind),
      ]);
      heard(listener, kind, list);
      return true;
    } catch (cause) {
      if (!this.#closing.signal.aborted) failed(listener, kind, cause);
      return false;
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener("abort", stop);
    }
  }

  #disarm(errand: Errand): void {
    if (errand.timer === undefined) return;
    clearTimeout(errand.timer);
    this.#timers.delete(errand.timer);
    errand.timer = undefined;
  }

  #errandOf(listener: Listener): Errand {
    const known = this.#errands.get(listener);
    if (known !== undefined) return known;
    const errand: Errand = {
      due: new Set(),
      asking: new Set(),
      timer: undefined,
      running: 0,
      failures: 0,
      ranAt: Number.NEGATIVE_INFINITY,
      hurried: 0,
      notBefore: 0,
    };
    this.#errands.set(listener, errand);
    return errand;
  }
}

/** Rejects when `signal` is aborted. */
function refusal(signal: StopSignal, server: string, kind: ListKind): Promise<never> {
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
