/**
 * prom-client without its entry point, which loads 80 files for metrics of the process that many gateways are never asked
 * for: a tenth of a cold start.
 */
import { createRequire } from "node:module";
import type * as PromClient from "prom-client";

const load = createRequire(import.meta.url);
const part = (file: string): unknown => load(`prom-client/lib/${file}`);

export const Counter = part("counter") as typeof PromClient.Counter;
export const Gauge = part("gauge") as typeof PromClient.Gauge;
export const Histogram = part("histogram") as typeof PromClient.Histogram;
export const Registry = part("registry") as typeof PromClient.Registry;

export type Counter = PromClient.Counter;
export type Histogram = PromClient.Histogram;

/** Registers CPU, memory, event loop and collector of the process; they are measured from this call on. */
export function collectProcessMetrics(register: PromClient.Registry): void {
  const collect = part("defaultMetrics") as typeof PromClient.collectDefaultMetrics;
  collect({ register });
  for (const name of MISNAMED_GAUGES) register.removeSingleMetric(name);
}

/** Gauges of prom-client with the ending of a counter, which `promtool check metrics` refuses; each is a sum of another. */
const MISNAMED_GAUGES = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];
