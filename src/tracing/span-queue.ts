/** Which spans wait for the collector? A bounded number; they leave in batches, and what it does not take is counted and dropped. */
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { Logger } from "../core/logger.js";
import { withTimeout } from "../core/stop.js";
import type { LossReason } from "../core/tracing.js";

/** Spans that wait for their export. */
const MAX_WAITING = 8_192;
/** Spans of one export: to write 256 as text takes about 2 ms, during which no call is served. */
const BATCH = 256;
/** Exports under way. */
const MAX_EXPORTS = 4;

type Exporter = Pick<SpanExporter, "export" | "shutdown">;

/** Where spans wait, and which log an outage is written to. */
export interface SpanQueueOptions {
  readonly exporter: Exporter;
  readonly logger: Logger;
  /** The collector, as the log names it. */
  readonly destination: string;
  /** How long (ms) a span waits for others. */
  readonly delayMs: number;
}

/** Exports spans in the background. */
export class SpanQueue {
  readonly lost: Record<LossReason, number> = { queue_full: 0, export_failed: 0 };
  readonly #options: SpanQueueOptions;
  readonly #exports = new Set<Promise<void>>();
  #waiting: ReadableSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isDown = false;
  #wasFull = false;
  #closing: Promise<void> | undefined;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  add(span: ReadableSpan): void {
    if (this.#waiting.length >= MAX_WAITING || this.#closing !== undefined) {
      this.#lose("queue_full", 1, "more calls end than it takes spans");
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= BATCH && this.#exports.size < MAX_EXPORTS) this.#exportBatch();
    else this.#timer ??= setTimeout(this.#onTimer, this.#options.delayMs).unref();
  }

  /** Exports what waits; the wait ends after `withinMs` of this call. */
  async close(withinMs: number): Promise<void> {
    this.#closing ??= this.#drain();
    await withTimeout(withinMs, this.#closing);
    const left = this.#waiting.length;
    this.#waiting = [];
    if (left > 0) this.#lose("export_failed", left, "the gateway stops");
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#waiting.length + this.#exports.size > 0) {
      while (this.#waiting.length > 0 && this.#exports.size < MAX_EXPORTS) this.#exportBatch();
      await Promise.race(this.#exports);
    }
    await this.#options.exporter.shutdown();
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    if (this.#waiting.length > 0 && this.#exports.size < MAX_EXPORTS) this.#exportBatch();
  };

  #exportBatch(): void {
    const batch = this.#waiting.splice(0, BATCH);
    const exported = new Promise<void>((resolve) => {
      const failed = (error: unknown): void => {
        this.#lose("export_failed", batch.length, error instanceof Error ? error.message : "no reason given");
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
      if (this.#waiting.length > 0 && this.#closing === undefined)
        this.#timer ??= setTimeout(
          this.#onTimer,
          this.#waiting.length >= BATCH ? 0 : this.#options.delayMs,
        ).unref();
    });
    this.#exports.add(exported);
  }

  #succeeded(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#options.logger.info({}, `traces reach ${this.#options.destination} again`);
  }

  /** One warning for each outage, and one for a collector that is too slow; the metric counts the spans. */
  #lose(reason: LossReason, count: number, why: string): void {
    this.lost[reason] += count;
    if (this.#isDown || (reason === "queue_full" && this.#wasFull)) return;
    if (reason === "queue_full") this.#wasFull = true;
    else this.#isDown = true;
    const { logger, destination } = this.#options;
    logger.warn({ reason: why }, `traces do not reach ${destination}; calls go on, and their spans are lost`);
  }
}

/** `ExportResultCode.SUCCESS` of the core package, which is loaded only with the exporter. */
const SUCCESS = 0;
