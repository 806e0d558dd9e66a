/** The open features of a gateway, by what they plug in. */
import type { Call, Middleware, Observer } from "../core/call.js";
import type {
  CallSlot,
  CloseOptions,
  LayeredServer,
  OpenFeature,
  Problem,
  ServerSlot,
} from "../core/feature.js";
import type { EmitEvent } from "../core/gateway-events.js";
import { type KeptServer, NOT_KEPT, type ServerStore } from "../core/persisted-lists.js";
import type { RecordSink } from "../telemetry/call-records.js";
import type { Metrics } from "../telemetry/metrics.js";

/** All in the order of the list of features. */
export class Slots {
  readonly #features: readonly OpenFeature[];
  readonly observers: readonly Observer[];
  readonly recordSinks: readonly RecordSink[];
  /** Undefined if no feature listens. */
  readonly emit: EmitEvent | undefined;

  constructor(features: readonly OpenFeature[], metrics: Pick<Metrics, "featureGauge">) {
    this.#features = features;
    this.observers = features.flatMap(({ observers = [] }) => observers);
    this.recordSinks = features.flatMap((feature) => feature.onRecord?.bind(feature) ?? []);
    const listeners = features.flatMap((feature) => feature.onEvent?.bind(feature) ?? []);
    this.emit =
      listeners.length === 0
        ? undefined
        : (event) => {
            for (const listener of listeners) listener(event);
          };
    for (const reading of features.flatMap(({ readings = [] }) => readings)) metrics.featureGauge(reading);
  }

  /** The layers of a config with these servers, by slot. */
  call(servers: readonly LayeredServer[]): (slot: CallSlot) => readonly Middleware[] {
    const layers = this.#features.flatMap((feature) => feature.callLayers?.(servers) ?? []);
    return (slot) => layers.flatMap((each) => each[slot] ?? []);
  }

  server(server: LayeredServer): (slot: ServerSlot) => readonly Middleware[] {
    const layers = this.#features.flatMap((feature) => feature.serverLayers?.(server) ?? []);
    return (slot) => layers.flatMap((each) => each[slot] ?? []);
  }

  /** The first that a feature finds. */
  async argumentsFault(call: Call, server: LayeredServer): Promise<string | undefined> {
    for (const feature of this.#features) {
      const fault = await feature.argumentsFault?.(call, server);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Of the first feature that keeps servers. */
  storeOf(server: KeptServer): ServerStore {
    for (const feature of this.#features) {
      const store = feature.storeOf?.(server);
      if (store !== undefined) return store;
    }
    return NOT_KEPT;
  }

  problems(): readonly Problem[] {
    return this.#features.flatMap((feature) => feature.problems?.() ?? []);
  }

  async close(options: CloseOptions): Promise<void> {
    await Promise.all(this.#features.map((feature) => feature.close(options)));
  }
}
