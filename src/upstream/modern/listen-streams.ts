/**
 * Which `subscriptions/listen` streams does a connection keep open? One for all clients; where the server is a gateway,
 * which notifies by the capabilities of the client that listens, one more per capability class.
 */

import type { Envelope, RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { canonicalText } from "../../wire/json-text.js";
import { type ListenSettings, Subscriptions } from "./subscriptions.js";

/** How the listen streams of one connection are opened. */
export interface ListenStreamsSettings extends Omit<ListenSettings, "open" | "uris"> {
  /** `advertised` is what the listening client can do; undefined for the gateway itself. */
  readonly open: (
    params: JsonObject,
    onMessage: (message: Envelope) => void,
    advertised?: JsonObject,
  ) => ReturnType<ListenSettings["open"]>;
  readonly isGateway: () => boolean;
}

/** Clients use few combinations of capabilities; the least recently used stream is closed for another one. */
const MAX_CAPABILITY_CLASSES = 8;

/** All listen streams of one connection. A followed resource is in the filter of each of them. */
export class ListenStreams {
  readonly #settings: ListenStreamsSettings;
  readonly #uris = new Set<string>();
  readonly #shared: Subscriptions;
  readonly #byCapabilities = new Map<string, Subscriptions>();
  #stopped = false;

  constructor(settings: ListenStreamsSettings) {
    this.#settings = settings;
    this.#shared = new Subscriptions({ ...settings, uris: this.#uris });
    this.#shared.start();
  }

  /** A client with these capabilities lists; the changes of its lists must be notified. */
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
  }

  subscribe(uri: string): void {
    this.#uris.add(uri);
    for (const stream of this.#all()) stream.subscribed();
  }

  unsubscribe(uri: string): void {
    this.#uris.delete(uri);
    for (const stream of this.#all()) stream.unsubscribed(uri);
  }

  subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#shared.subscriptionError(uri);
  }

  /** Takes a message that carries a subscription id; false when it belongs to none of these streams. */
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
      uris: this.#uris,
      open: (params, onMessage) => open(params, onMessage, advertised),
    });
    stream.start();
    return stream;
  }

  #all(): readonly Subscriptions[] {
    return [this.#shared, ...this.#byCapabilities.values()];
  }
}
