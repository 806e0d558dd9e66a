/** When does a connection end that nothing needs any longer? */
import type { Supervisor } from "../supervision/supervisor.js";
import type { ConnectionUse } from "./connection-use.js";

/** The longest time (ms) between two looks at a connection that is in use. */
const MAX_INTERVAL_MS = 30_000;
/** The share of the idle timeout after which it is looked at again. */
const INTERVAL_SHARE = 0.1;

/** One connection, and what keeps it open. */
export interface IdleTimerSettings {
  readonly supervisor: Pick<Supervisor, "current" | "isConnecting" | "isListing">;
  readonly use: ConnectionUse;
  /** Whether a subscription or a task keeps it open. */
  readonly isHeld: () => boolean;
  readonly idleTimeoutMs: () => number;
  /** Ends it; called once for each `start`. */
  readonly end: () => void;
}

/** Looks at a connection from `start` to `stop`, and ends it when it is due. A running call keeps it open. */
export class IdleTimer {
  readonly #settings: IdleTimerSettings;
  #timer: NodeJS.Timeout | undefined;
  /** When `#timer` fires, by the monotonic clock. */
  #firesAt = 0;
  #startedAt = 0;

  constructor(settings: IdleTimerSettings) {
    this.#settings = settings;
  }

  /** Begins, also again where it has begun. */
  start(): void {
    this.stop();
    this.#startedAt = performance.now();
    this.#schedule();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Looks now: something that kept it open may be over. */
  check(): void {
    if (this.#timer !== undefined) this.#schedule();
  }

  /**
   * Leaves a timer that fires early enough: each duration is a list in Node, which is kept until it has run out although
   * the timer was cleared, and every session that ends looks at every connection.
   */
  #schedule(): void {
    const { idleTimeoutMs, end } = this.#settings;
    const endsAt = this.#endsAt();
    const now = performance.now();
    if (endsAt !== undefined && endsAt <= now) {
      this.stop();
      end();
      return;
    }
    const interval = Math.min(idleTimeoutMs() * INTERVAL_SHARE, MAX_INTERVAL_MS);
    const wait = endsAt === undefined ? interval : Math.ceil(endsAt - now);
    if (this.#timer !== undefined && this.#firesAt <= now + wait) return;
    this.stop();
    this.#firesAt = now + wait;
    this.#timer = setTimeout(this.#look, wait).unref();
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    this.#schedule();
  };

  /** Undefined while it is needed. */
  #endsAt(): number | undefined {
    const { supervisor, use, isHeld } = this.#settings;
    if (supervisor.isConnecting || supervisor.isListing || isHeld()) return undefined;
    const { current } = supervisor;
    const idleSince = current === undefined ? this.#startedAt : current.connection.idleSince;
    if (idleSince === undefined) return undefined;
    const callEndedAt = current?.connection.lastCallEndedAt ?? this.#startedAt;
    return use.endsAt(Math.max(idleSince, this.#startedAt), Math.max(callEndedAt, this.#startedAt));
  }
}
