/** What do the parts of the gateway see of traces? The spans are made in `tracing/`; without a collector there is nothing of it. */
import type { Middleware, Observer } from "./call.js";

/** A server, as its spans name it. */
export interface TracedServer {
  /** Its key in the config. */
  readonly name: string;
  /** Where it is reached over HTTP; undefined for a process. */
  readonly url: string | undefined;
}

/** Why spans were lost: too many waited for the collector, or it did not take them. */
export type LossReason = "queue_full" | "export_failed";

/** Traces of calls. Nothing here throws or waits, but `close`. */
export interface Tracing {
  /** Makes a span of each call of a host, and sets `call.record.trace`. */
  readonly calls: Observer;
  /** Makes a span of each call to a server, which receives its context. Must be inside all that calls again. */
  servedBy(server: TracedServer): Middleware;
  /** The spans that never reached the collector. */
  readonly lost: Readonly<Record<LossReason, number>>;
  /** Exports what is left; the wait ends after `withinMs`. */
  close(withinMs: number): Promise<void>;
}
