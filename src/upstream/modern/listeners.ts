/**
 * Who listens for changes at a server: one stream for everybody. A gateway tells each kind of client of its own lists
 * and connections, so there one more stream for each kind that lists.
 */
import { canonicalText } from "../../wire/canonical.js";
import type { Envelope, RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { type ListenSettings, Subscriptions } from "./subscriptions.js";

export interface ListenersSettings extends Omit<ListenSettings, "open"> {
  /** `promised` is what the client that listens can do; undefined for the gateway itself. */
  readonly open: (
    params: JsonObject,
    hear: (message: Envelope) => void,
    promised?: JsonObject,
  ) => ReturnType<ListenSettings["open"]>;
  readonly isGateway: () => boolean;
}

/** Capabilities come in few combinations; the stream that was needed longest ago makes room. */
const MAX_KINDS = 8;

interface Follow {
  readonly uri: string;
  /** One for each stream that listens for it. */
  readonly stops: Map<Subscriptions, () => void>;
}

export class Listeners {
  readonly #settings: ListenersSettings;
  readonly #common: Subscriptions;
  readonly #kinds = new Map<string, Subscriptions>();
  readonly #follows = new Set<Follow>();
  #over = false;

  constructor(settings: ListenersSettings) {
    this.#settings = settings;
    this.#common = new Subscriptions(settings);
    this.#common.start();
  }

  /** A client with these capabilities lists, and wants to know when that changes. */
  listed(promised: JsonObject): void {
    if (this.#over || !this.#settings.isGateway() || Object.keys(promised).length === 0) return;
    const kind = canonicalText(promised);
    const known = this.#kinds.get(kind);
    const listener = known ?? this.#listenFor(promised);
    this.#kinds.delete(kind);
    this.#kinds.set(kind, listener);
    const [oldest] = this.#kinds;
    if (this.#kinds.size <= MAX_KINDS || oldest === undefined) return;
    const [kindOfOldest, leaving] = oldest;
    leaving.stop();
    this.#kinds.delete(kindOfOldest);
    for (const { stops } of this.#follows) stops.delete(leaving);
  }

  /** Whoever follows hears what any of the streams tells of it. Call the returned function to stop. */
  follow(uri: string): () => void {
    const stops = new Map(this.#all().map((listener) => [listener, listener.follow(uri)]));
    const follow: Follow = { uri, stops };
    this.#follows.add(follow);
    return () => {
      if (!this.#follows.delete(follow)) return;
      for (const stop of stops.values()) stop();
    };
  }

  refusal(uri: string): Promise<RpcError | undefined> {
    return this.#common.refusal(uri);
  }

  /** Takes a message that carries a subscription id; false when it belongs to no stream of ours. */
  hear(message: Envelope): boolean {
    return this.#all().some((listener) => listener.hear(message));
  }

  refilter(): void {
    for (const listener of this.#all()) listener.refilter();
  }

  renew(): void {
    for (const listener of this.#all()) listener.renew();
  }

  stop(): void {
    this.#over = true;
    for (const listener of this.#all()) listener.stop();
    this.#kinds.clear();
  }

  #listenFor(promised: JsonObject): Subscriptions {
    const { open } = this.#settings;
    const listener = new Subscriptions({
      ...this.#settings,
      open: (params, hear) => open(params, hear, promised),
    });
    for (const { uri, stops } of this.#follows) stops.set(listener, listener.follow(uri));
    listener.start();
    return listener;
  }

  #all(): readonly Subscriptions[] {
    return [this.#common, ...this.#kinds.values()];
  }
}
