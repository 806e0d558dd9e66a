/**
 * Who listens for changes at a server: one stream for everybody. A gateway tells each kind of client of its own lists
 * and connections, so there one more stream for each kind that lists.
 */
import { canonicalText } from "../../wire/canonical.js";
import type { Envelope, RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { type ListenSettings, Subscriptions } from "./subscriptions.js";

export interface ListenStreamsSettings extends Omit<ListenSettings, "open"> {
  /** `advertised` is what the client that listens can do; undefined for the gateway itself. */
  readonly open: (
    params: JsonObject,
    onMessage: (message: Envelope) => void,
    advertised?: JsonObject,
  ) => ReturnType<ListenSettings["open"]>;
  readonly isGateway: () => boolean;
}

/** Capabilities come in few combinations; the stream that was needed longest ago makes room. */
const MAX_CAPABILITY_CLASSES = 8;

interface ListenSubscription {
  readonly uri: string;
  /** One for each stream that listens for it. */
  readonly stops: Map<Subscriptions, () => void>;
}

export class ListenStreams {
  readonly #settings: ListenStreamsSettings;
  readonly #shared: Subscriptions;
  readonly #byCapabilities = new Map<string, Subscriptions>();
  readonly #subscriptions = new Set<ListenSubscription>();
  #stopped = false;

  constructor(settings: ListenStreamsSettings) {
    this.#settings = settings;
    this.#shared = new Subscriptions(settings);
    this.#shared.start();
  }

  /** A client with these capabilities lists, and wants to know when that changes. */
  ensureStreamFor(advertised: JsonObject): void {
    if (this.#stopped || !this.#settings.isGateway() || Object.keys(advertised).length === 0) return;
    const kind = canonicalText(advertised);
    const known = this.#byCapabilities.get(kind);
    const stream = known ?? this.#openStreamFor(advertised);
    this.#byCapabilities.delete(kind);
    this.#byCapabilities.set(kind, stream);
    const [oldest] = this.#byCapabilities;
    if (this.#byCapabilities.size <= MAX_CAPABILITY_CLASSES || oldest === undefined) return;
    const [kindOfOldest, evicted] = oldest;
    evicted.stop();
    this.#byCapabilities.delete(kindOfOldest);
    for (const { stops } of this.#subscriptions) stops.delete(evicted);
  }

  /** Whoever follows hears what any of the streams tells of it. Call the returned function to stop. */
  subscribe(uri: string): () => void {
    const stops = new Map(this.#all().map((stream) => [stream, stream.subscribe(uri)]));
    const subscription: ListenSubscription = { uri, stops };
    this.#subscriptions.add(subscription);
    return () => {
      if (!this.#subscriptions.delete(subscription)) return;
      for (const stop of stops.values()) stop();
    };
  }

  subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#shared.subscriptionError(uri);
  }

  /** Takes a message that carries a subscription id; false when it belongs to no stream of ours. */
  receive(message: Envelope): boolean {
    return this.#all().some((stream) => stream.receive(message));
  }

  refilter(): void {
    for (const stream of this.#all()) stream.refilter();
  }

  reopen(): void {
    for (const stream of this.#all()) stream.reopen();
  }

  stop(): void {
    this.#stopped = true;
    for (const stream of this.#all()) stream.stop();
    this.#byCapabilities.clear();
  }

  #openStreamFor(advertised: JsonObject): Subscriptions {
    const { open } = this.#settings;
    const stream = new Subscriptions({
      ...this.#settings,
      open: (params, onMessage) => open(params, onMessage, advertised),
    });
    for (const { uri, stops } of this.#subscriptions) stops.set(stream, stream.subscribe(uri));
    stream.start();
    return stream;
  }

  #all(): readonly Subscriptions[] {
    return [this.#shared, ...this.#byCapabilities.values()];
  }
}
