/** How often something was stripped. */
import type { CountedValue, CounterReading, FeatureCounter } from "../../core/feature.js";

/** `server`: where it came from; `in`: `definition` or `message`. */
export const TEXTS_STRIPPED: FeatureCounter = {
  name: "cardea_invisible_text_stripped_total",
  help: "Definitions and messages of servers from which control characters or invisible text were taken out.",
  labelNames: ["server", "in"],
};

/** In what it stood: an entry of a list or the instructions, or any other message. */
export type Carrier = "definition" | "message";

/** Counts, and tells the first time of each server and carrier. */
export class StrippedTexts {
  readonly #counts = new Map<string, { readonly labels: CountedValue["labels"]; value: number }>();
  readonly #onFirst: (server: string, carrier: Carrier) => void;

  constructor(onFirst: (server: string, carrier: Carrier) => void) {
    this.#onFirst = onFirst;
  }

  add(server: string, carrier: Carrier): void {
    const key = `${carrier} ${server}`;
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { labels: { server, in: carrier }, value: 0 };
      this.#counts.set(key, count);
      this.#onFirst(server, carrier);
    }
    count.value += 1;
  }

  readonly reading: CounterReading = {
    counter: TEXTS_STRIPPED,
    read: () => [...this.#counts.values()],
  };
}
