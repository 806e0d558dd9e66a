/** How often secrets of the config were taken out. */
import type { CountedValue, CounterReading, FeatureCounter } from "../../core/feature.js";

/** `server`: where the message came from, or was to go; `direction`: `to_server` or `to_host`. */
export const SECRETS_REMOVED: FeatureCounter = {
  name: "cardea_own_secrets_removed_total",
  help: "Messages from which secrets were taken out that the config gives to a server.",
  labelNames: ["server", "direction"],
};

/** Which way a message goes. */
export type Direction = "to_server" | "to_host";

/** Counts, and tells the first time of each server and direction. */
export class RemovedSecrets {
  readonly #counts = new Map<string, { readonly labels: CountedValue["labels"]; value: number }>();
  readonly #onFirst: (server: string, direction: Direction) => void;

  constructor(onFirst: (server: string, direction: Direction) => void) {
    this.#onFirst = onFirst;
  }

  add(server: string, direction: Direction): void {
    const key = `${direction} ${server}`;
    const count = this.#counts.get(key) ?? { labels: { server, direction }, value: 0 };
    if (count.value === 0) this.#onFirst(server, direction);
    count.value += 1;
    this.#counts.set(key, count);
  }

  readonly reading: CounterReading = {
    counter: SECRETS_REMOVED,
    read: () => [...this.#counts.values()],
  };
}
