/** The metrics of budgets. */
import type { CounterReading, FeatureCounter, FeatureGauge } from "../../core/feature.js";

/** How much is kept. */
export const KEPT_BYTES: FeatureGauge = {
  name: "cardea_results_kept_bytes",
  help: "Results of tools that were over their budget, and are kept for their clients.",
};

/** What previews have saved. */
export const TOKENS_SAVED: FeatureCounter = {
  name: "cardea_result_tokens_saved_total",
  help: "Tokens (4 characters) of results that hosts got as previews, less those of the previews.",
  labelNames: ["server"],
};

/** Sums of tokens by server. */
export class SavedTokens {
  readonly #byServer = new Map<string, number>();

  readonly add = (server: string, tokens: number): void => {
    this.#byServer.set(server, (this.#byServer.get(server) ?? 0) + tokens);
  };

  readonly reading: CounterReading = {
    counter: TOKENS_SAVED,
    read: () => [...this.#byServer].map(([server, value]) => ({ labels: { server }, value })),
  };
}
