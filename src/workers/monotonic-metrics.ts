/** The metrics of all workers as one text whose counts never go back: a scraper would take that for a new start. */
import { mergeMetrics, monotonicSeriesOf } from "./merge-metrics.js";

/** What a worker that runs said of itself; no text where it did not answer. */
export interface WorkerMetrics {
  readonly worker: number;
  /** Another process of that number counts anew. */
  readonly pid: number | undefined;
  readonly text: string | undefined;
}

export class MonotonicMetrics {
  /** By number, what each said last. */
  readonly #last = new Map<number, { readonly pid: number | undefined; readonly text: string }>();
  /** What those counted that have ended, as far as somebody asked them before. */
  #endedCounts = "";

  /**
   * @param told of every worker that runs; one that does not answer is taken at its last word
   * @param others texts to be added
   */
  merged(told: readonly WorkerMetrics[], others: readonly string[]): string {
    for (const [worker, { pid, text }] of this.#last) {
      if (told.some((each) => each.worker === worker && each.pid === pid)) continue;
      this.#endedCounts = mergeMetrics([this.#endedCounts, monotonicSeriesOf(text)]);
      this.#last.delete(worker);
    }
    for (const { worker, pid, text } of told) if (text !== undefined) this.#last.set(worker, { pid, text });
    return mergeMetrics([...[...this.#last.values()].map(({ text }) => text), this.#endedCounts, ...others]);
  }
}
