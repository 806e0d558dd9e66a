/** How many event streams are open towards hosts, by kind. */

import type { GaugeLabels } from "./gauges.js";
import type { Metrics } from "./metrics.js";

type Kind = GaugeLabels["streamsOpen"]["kind"];

export class OpenStreams {
  readonly #open: Record<Kind, number> = { response: 0, session: 0, subscription: 0, sse: 0 };

  constructor(metrics: Metrics) {
    for (const kind of ["response", "session", "subscription", "sse"] as const) {
      metrics.gauge("streamsOpen", { kind }, () => this.#open[kind]);
    }
  }

  opened(kind: Kind): void {
    this.#open[kind] += 1;
  }

  closed(kind: Kind): void {
    this.#open[kind] -= 1;
  }
}
