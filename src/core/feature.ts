/** What an open feature plugs into the gateway. The gateway knows features by this page alone, and none by its name. */
import type { Call, Middleware, Observer, Reply } from "./call.js";
import type { CallRecord } from "./call-record.js";
import type { GatewayEvent } from "./gateway-events.js";
import type { KeptServer, ServerStore } from "./persisted-lists.js";

/**
 * A place in the stack of a call (`gateway/pipeline.ts` has the order and its reasons).
 *
 * - `reply`: outside the observers; gives a reply on, or keeps it back
 * - `mustRecord`: inside the error boundary, before the call has any effect
 * - `checkArguments`: sees the arguments that the server would receive, before a person is asked about the call
 */
export type CallSlot = "reply" | "mustRecord" | "checkArguments";

/**
 * A place in the stack of a server.
 *
 * - `checkResults`: outside the response cache; sees the result as the server has sent it
 * - `attempt`: innermost; sees each attempt of a call, as it goes to the server
 */
export type ServerSlot = "checkResults" | "attempt";

/** A server for which a stack is built. */
export interface LayeredServer {
  /** Its key in the config. */
  readonly name: string;
  /** What features have in its entry, keyed by the paths of their sections. */
  readonly features: Readonly<Record<string, unknown>>;
  /** Where it is reached over HTTP; undefined for a process. */
  readonly url: string | undefined;
}

/** A metric of a feature. */
export interface FeatureGauge {
  /** In the style of Prometheus: `cardea_audit_up`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** How the values of several workers become one. Default: their sum. */
  readonly merge?: "min" | "max";
}

/** A value of such a metric. */
export interface GaugeReading {
  readonly gauge: FeatureGauge;
  readonly labels?: Readonly<Record<string, string>>;
  /** Called at each scrape. */
  readonly read: () => number;
}

/** Something that operators should know, for the readiness page. */
export interface Problem {
  /** A sentence without secrets. */
  readonly text: string;
  /** Whether the gateway is not ready while it lasts. */
  readonly blocks: boolean;
}

/** How long a feature may take to end. */
export interface CloseOptions {
  /** Whether the process ends at once. */
  readonly isImmediate: boolean;
}

/** A feature that runs. Nothing here but `close` may wait; nothing may throw, except layers, as other layers do. */
export interface OpenFeature {
  readonly name: string;
  /** Layers of each call; called for each config, with its servers. */
  callLayers?(servers: readonly LayeredServer[]): Partial<Record<CallSlot, Middleware>>;
  /** Layers of the calls to one server; called for each server of each config. */
  serverLayers?(server: LayeredServer): Partial<Record<ServerSlot, Middleware>>;
  /** See each call before its record is made. */
  readonly observers?: readonly Observer[];
  /** Receives the record of each finished call. */
  onRecord?(record: CallRecord, call: Call, reply: Reply): void;
  onEvent?(event: GatewayEvent): void;
  readonly readings?: readonly GaugeReading[];
  /** Why its layers would refuse the arguments of a call, for `explain`; undefined if they would not. */
  argumentsFault?(call: Call, server: LayeredServer): Promise<string | undefined>;
  /** Opens the state of a server that was kept by an earlier run; reads synchronously. */
  storeOf?(server: KeptServer): ServerStore;
  /** What is wrong now; empty if nothing is. */
  problems?(): readonly Problem[];
  /** Ends it, after the last call. */
  close(options: CloseOptions): Promise<void>;
}
