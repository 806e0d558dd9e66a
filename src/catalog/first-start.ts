/** How long clients wait for a server without cached lists: until its first start is over, or hangs. */
import { awaitWithin, Stop, type StopSignal } from "../core/stop.js";

/** From the start of a server until its first lists are loaded, or it has failed. */
export class FirstStart {
  /** When the server was started, by the monotonic clock in milliseconds. */
  readonly since: number;
  readonly #ended: Promise<void>;
  #end: () => void = () => {};
  #isOver = false;
  #hanging: NodeJS.Timeout | undefined;

  constructor(since = performance.now()) {
    this.since = since;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The lists are loaded, or the server has failed: no further waits. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#hanging);
    this.#end();
  }

  /** Calls `listener` if the start takes longer than `ms`. */
  onceHanging(ms: number, listener: () => void): void {
    if (this.#isOver) return;
    this.#hanging = setTimeout(listener, this.since + ms - performance.now());
    this.#hanging.unref();
  }

  /** Resolves when the start is over. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /**
   * Waits for the end, for at most `ms` and until `signal` aborts. A start that has taken longer than `ms` hangs and is
   * not awaited.
   */
  async wait(ms: number, signal: StopSignal | undefined): Promise<void> {
    if (this.#isOver || performance.now() - this.since >= ms) return;
    await awaitWithin(ms, this.#ended, signal);
  }
}

/** The waits of one catalog. */
export class StartupWaits {
  readonly #stops = new Set<Stop>();
  #isOver = false;

  /** Whether the gateway drains, so that first starts are no longer awaited. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends all waits. */
  end(): void {
    this.#isOver = true;
    for (const stop of this.#stops) stop.abort();
  }

  /** Runs `wait`, which ends early when its signal aborts: with `signal`, and at `end`. */
  async during(
    signal: StopSignal | undefined,
    wait: (signal: StopSignal) => Promise<unknown>,
  ): Promise<void> {
    const stop = new Stop();
    const abort = (): void => stop.abort();
    this.#stops.add(stop);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true || this.#isOver) abort();
    await wait(stop.signal);
    signal?.removeEventListener("abort", abort);
    this.#stops.delete(stop);
  }
}
