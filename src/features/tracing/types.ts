/** Traces of calls, as the rest of the feature sees them. */
import type { Middleware, Observer } from "../../core/call.js";
import type { LayeredServer } from "../../core/feature.js";

/** Why spans were lost: too many waited for the collector, or it did not take them. */
export type LossReason = "queue_full" | "export_failed";

/** Traces of calls. Nothing here throws or waits, but `close`. */
export interface Tracing {
  /** Makes a span of each call of a host, and sets `call.record.trace`. */
  readonly calls: Observer;
  /** Makes a span of each call to a server, which receives its context. Must be inside all that calls again. */
  servedBy(server: LayeredServer): Middleware;
  /** The spans that never reached the collector. */
  readonly lost: Readonly<Record<LossReason, number>>;
  /** Exports what is left; the wait ends after `withinMs`. */
  close(withinMs: number): Promise<void>;
}
