/**
 * A bounded queue of spans for the collector; they are exported in batches, and spans that do not fit are counted and
 * dropped.
 */
import type { Logger } from "../../core/logger.js";
import { withTimeout } from "../../core/stop.js";
import type { SpanFacts } from "./span.js";
import { SpanBatch } from "./span-batch.js";
import type { LossReason } from "./types.js";

/** Maximum batches, pending or in flight, of 768 KiB each: at least 3,000 spans, mostly some 9,000. */
const MAX_BATCHES = 13;
/** Concurrent exports. */
const MAX_EXPORTS = 4;
/** Spans per full batch. Whatever it holds, an export takes some 0.3 ms of processor time. */
const BATCH = 768;

/** Sends spans. */
export interface SpanExporter {
  /** Calls `done` once; a `code` other than 0 is a failure. */
  export(batch: SpanBatch, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

/** Dependencies of the queue. */
export interface SpanQueueOptions {
  readonly exporter: SpanExporter;
  readonly logger: Logger;
  /** The collector, as named in the log. */
  readonly destination: string;
  /** Batch delay (ms). */
  readonly delayMs: number;
  /** The text around the spans of an export. */
  readonly head: string;
  readonly tail: string;
}

/** Exports spans in the background. */
export class SpanQueue {
  readonly lost: Record<LossReason, number> = { queue_full: 0, export_failed: 0 };
  readonly #options: SpanQueueOptions;
  readonly #exports = new Set<Promise<void>>();
  /** The batch in progress; undefined before the first span, and after each export. */
  #open: SpanBatch | undefined;
  /** Full batches, oldest first. */
  #waiting: SpanBatch[] = [];
  /** Empty batches for reuse. */
  readonly #free: SpanBatch[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isDown = false;
  #wasFull = false;
  #closing: Promise<void> | undefined;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  /** Writes the span into the batch in progress. */
  add(span: SpanFacts): void {
    if (this.#open?.add(span) !== true && !this.#addToNext(span)) {
      this.#lose("queue_full", 1, "calls end faster than it accepts spans");
      return;
    }
    if (this.#open !== undefined && this.#open.count >= BATCH) this.#seal();
    else this.#timer ??= setTimeout(this.#onTimer, this.#options.delayMs).unref();
  }

  /** Exports all pending spans within `withinMs`. */
  async close(withinMs: number): Promise<void> {
    this.#closing ??= this.#drain();
    await withTimeout(withinMs, this.#closing);
    const left = this.#waiting.reduce((sum, { count }) => sum + count, 0);
    this.#waiting = [];
    if (left > 0) this.#lose("export_failed", left, "the gateway stops");
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#seal();
    while (this.#waiting.length + this.#exports.size > 0) {
      this.#exportWaiting();
      await Promise.race(this.#exports);
    }
    await this.#options.exporter.shutdown();
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    this.#seal();
  };

  /** False if the queue is full. */
  #addToNext(span: SpanFacts): boolean {
    this.#seal();
    const used = this.#waiting.length + this.#exports.size;
    if (used >= MAX_BATCHES || this.#closing !== undefined) return false;
    const { head, tail } = this.#options;
    this.#open = this.#free.pop() ?? new SpanBatch(head, tail);
    return this.#open.add(span);
  }

  /** Exports the batch in progress, or queues it. */
  #seal(): void {
    if (this.#open !== undefined && this.#open.count > 0) this.#waiting.push(this.#open);
    this.#open = undefined;
    this.#exportWaiting();
  }

  #exportWaiting(): void {
    while (this.#exports.size < MAX_EXPORTS) {
      const batch = this.#waiting.shift();
      if (batch === undefined) return;
      this.#export(batch);
    }
  }

  #export(batch: SpanBatch): void {
    const exported = new Promise<void>((resolve) => {
      const failed = (error: unknown): void => {
        this.#lose("export_failed", batch.count, error instanceof Error ? error.message : "no reason given");
        resolve();
      };
      try {
        this.#options.exporter.export(batch, ({ code, error }) => {
          if (code !== SUCCESS) return failed(error);
          this.#succeeded();
          resolve();
        });
      } catch (error) {
        failed(error);
      }
    }).then(() => {
      this.#exports.delete(exported);
      batch.clear();
      if (this.#free.length < MAX_EXPORTS) this.#free.push(batch);
      this.#exportWaiting();
    });
    this.#exports.add(exported);
  }

  #succeeded(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#options.logger.info({}, `traces reach ${this.#options.destination} again`);
  }

  /** One warning per outage, and one for a slow collector; the metric counts the spans. */
  #lose(reason: LossReason, count: number, why: string): void {
    this.lost[reason] += count;
    if (this.#isDown || (reason === "queue_full" && this.#wasFull)) return;
    if (reason === "queue_full") this.#wasFull = true;
    else this.#isDown = true;
    const { logger, destination } = this.#options;
    logger.warn(
      { reason: why },
      `traces do not reach ${destination}; calls continue, and their spans are dropped`,
    );
  }
}

/** `ExportResultCode.SUCCESS` of the core package, which is loaded only with the exporter. */
const SUCCESS = 0;
