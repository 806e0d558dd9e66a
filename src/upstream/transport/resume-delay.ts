/** After how long is an event stream resumed that was dropped, and when no more (basic/transports, "Resumability and Redelivery")? */

/** The delay (ms), unless the server sets `retry`, and its bounds. */
const RESUME_AFTER_MS = 1_000;
const MIN_RESUME_AFTER_MS = 10;
const MAX_RESUME_AFTER_MS = 30_000;
const MAX_FAILED_RESUMES = 5;

/** How the attempt ended that is over. */
export interface EndedStream {
  /** Whether it was one that resumed the stream. */
  readonly isResumed: boolean;
  readonly wasOpened: boolean;
  readonly hasReceived: boolean;
  /** What the server named in `retry`. */
  readonly retryMs: number | undefined;
}

/** The attempts to resume one stream. */
export class ResumeDelay {
  /** In a row: that opened no stream, and that opened an empty one. */
  #failed = 0;
  #empty = 0;

  /** A stream is open. */
  opened(): void {
    this.#failed = 0;
  }

  /** How long (ms) to wait for the next attempt; undefined where there should be none. */
  next({ isResumed, wasOpened, hasReceived, retryMs }: EndedStream): number | undefined {
    if (isResumed && !wasOpened) this.#failed++;
    this.#empty = wasOpened && hasReceived ? 0 : this.#empty + 1;
    if (this.#failed > MAX_FAILED_RESUMES) return undefined;
    // A `retry` of the server is obeyed at any length: the call has its own deadline.
    const base = Math.max(retryMs ?? RESUME_AFTER_MS, MIN_RESUME_AFTER_MS);
    return Math.min(base * 2 ** this.#empty, Math.max(base, MAX_RESUME_AFTER_MS), 2 ** 31 - 1);
  }
}
