/** The metrics of trust. */
import type { CounterReading, FeatureCounter, FeatureGauge } from "../../core/feature.js";
import type { Finding } from "../scan/finding.js";
import type { Difference } from "./lock/differences.js";

/** What has changed since it was approved. */
export const CHANGES: FeatureCounter = {
  name: "cardea_trust_changes_total",
  help: "Definitions of servers that were found to differ from cardea.lock, by what differs: tools, prompts, resources, resourceTemplates, instructions, name, start.",
  labelNames: ["server", "kind"],
};

/** What is held now. */
export const HELD: FeatureGauge = {
  name: "cardea_trust_held",
  help: "Entries of servers that are held, as cardea.lock does not have their definitions.",
  merge: "max",
};

/** Sums by server and kind. */
export class CountedChanges {
  readonly #sums = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();

  add(server: string, { kind }: Difference): void {
    const key = `${server}\0${kind}`;
    const known = this.#sums.get(key);
    if (known === undefined) this.#sums.set(key, { labels: { server, kind }, value: 1 });
    else known.value += 1;
  }

  readonly reading: CounterReading = { counter: CHANGES, read: () => [...this.#sums.values()] };
}

/** What the scan finds. */
export const FINDINGS: FeatureCounter = {
  name: "cardea_trust_findings_total",
  help: "What the scan of definitions has found (trust.scan), by severity: low, medium, high.",
  labelNames: ["server", "severity"],
};

/** Sums by server and severity. */
export class CountedFindings {
  readonly #sums = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();

  add({ server, severity }: Finding): void {
    const key = `${server}\0${severity}`;
    const known = this.#sums.get(key);
    if (known === undefined) this.#sums.set(key, { labels: { server, severity }, value: 1 });
    else known.value += 1;
  }

  readonly reading: CounterReading = { counter: FINDINGS, read: () => [...this.#sums.values()] };
}
