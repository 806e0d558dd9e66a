/** The one `subscriptions/listen` stream of a connection, whose filter is the union of what anybody wants to hear. */
import { inBackground } from "../../core/background.js";
import type { GatewayError } from "../../core/errors.js";
import { CHANGED_LISTS, LISTS_OF_CAPABILITY } from "../../core/lists.js";
import type { Logger } from "../../core/logger.js";
import type { Envelope, RpcError } from "../../wire/envelope.js";
import { numberOf } from "../../wire/exact-number.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { CODE, META } from "../../wire/names.js";
import type { ConnectionObserver } from "../connection.js";
import type { ChannelResponse } from "../transport/channel.js";

export interface ListenSettings {
  readonly server: string;
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  readonly observer: ConnectionObserver;
  readonly log: Logger;
  /** Sends the request and tells its id at once; `close` ends the stream the way the transport wants it. */
  readonly open: (params: JsonObject, onMessage: (message: Envelope) => void) => OpenStream;
  /** Told when the server listens again that had ended its stream: it may have been started anew. */
  readonly onReopened: () => void;
}

export interface OpenStream {
  readonly id: number;
  readonly ended: Promise<ChannelResponse>;
  close(): void;
}

/** A stream as it stands: what it was opened for, and whether the server has said that it listens. */
interface Stream extends OpenStream {
  acknowledged: boolean;
  readonly requested: ReadonlySet<string>;
  /** Of the resources it was opened for, those that the server will tell nothing of. */
  refused: ReadonlySet<string>;
}

type StreamError = { readonly code: unknown; readonly message: string };

/** Changes of the filter that come so close together (ms) make one new stream. */
const BATCH_MS = 20;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Listening is best effort: a server may offer `listChanged` and still not know the method, or end the stream
 * before it acknowledged it. Neither is a failure of the server; lists are then only as fresh as they are asked for.
 */
export class Subscriptions {
  readonly #settings: ListenSettings;
  readonly #followers = new Map<string, number>();
  /** Who waits for what the server says of the streams that are opened. */
  readonly #waiters = new Set<() => void>();
  /** Resources for which the server refused a whole stream, which is asked for without them as long as they are followed. */
  readonly #rejected = new Map<string, RpcError>();
  /** Resources of the streams that the server acknowledged: not they are why it refuses another. */
  #acknowledgedUris: ReadonlySet<string> = new Set();
  #stream: Stream | undefined;
  /** The stream that still delivers while its successor is not acknowledged yet. */
  #previous: Stream | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer fires, by `performance.now()`; undefined while none is set. */
  #dueAt: number | undefined;
  #backoffMs = FIRST_WAIT_MS;
  /** No stream is opened before this time, by `performance.now()`, whatever the filter would be. */
  #notBefore = 0;
  #missed = false;
  /** The server does not know the method at all, and is not asked again before it may be another one. */
  #unsupported = false;
  #stopped = false;

  constructor(settings: ListenSettings) {
    this.#settings = settings;
  }

  start(): void {
    this.#schedule(0);
  }

  /** The server offers other things than before: it may tell of others, and may be another one. */
  refilter(): void {
    this.#resetRefusals();
    this.#schedule(BATCH_MS);
  }

  /** Counts one more follower of `uri`; call the returned function once to stop. */
  subscribe(uri: string): () => void {
    const count = this.#followers.get(uri) ?? 0;
    this.#followers.set(uri, count + 1);
    if (count === 0) this.#schedule(BATCH_MS);
    let stopped = false;
    return () => {
      if (stopped) return;
      stopped = true;
      const left = (this.#followers.get(uri) ?? 1) - 1;
      if (left > 0) {
        this.#followers.set(uri, left);
      } else {
        this.#followers.delete(uri);
        this.#rejected.delete(uri);
        this.#wakeWaiters();
        this.#schedule(BATCH_MS);
      }
    };
  }

  /**
   * The error that it comes to when the server leaves `uri` out of what it will tell; waits until it has said, or
   * nobody follows `uri` any more.
   */
  async subscriptionError(uri: string): Promise<RpcError | undefined> {
    while (!this.#stopped && !this.#unsupported && this.#followers.has(uri)) {
      const rejected = this.#rejected.get(uri);
      if (rejected !== undefined) return rejected;
      const told = [this.#stream, this.#previous].find(
        (open) => open?.acknowledged && open.requested.has(uri),
      );
      if (told !== undefined) return told.refused.has(uri) ? NOT_SUBSCRIBED : undefined;
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
    return this.#unsupported ? NOT_SUBSCRIBED : undefined;
  }

  /** Takes a message that carries a subscription id; false when it belongs to no stream of ours. */
  receive(message: Envelope): boolean {
    const id = objectAt(message.params, "_meta")?.[META.subscriptionId] ?? message.params?.requestId;
    const stream = [this.#stream, this.#previous].find((open) => open !== undefined && open.id === id);
    if (stream === undefined) return false;
    this.#receive(stream, message);
    return true;
  }

  /** Listens anew: whoever answers now may be another, who lists other things. */
  reopen(): void {
    if (this.#stream?.acknowledged === false) return;
    this.#missed ||= this.#stream !== undefined;
    this.#resetRefusals();
    this.#schedule(0);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#previous?.close();
    this.#stream = this.#previous = undefined;
    this.#wakeWaiters();
  }

  /** Opens a stream after `ms`, but not before the server may be asked again; one that is due sooner stays due. */
  #schedule(ms: number): void {
    if (this.#stopped || this.#unsupported) return;
    const now = performance.now();
    const due = Math.max(now + ms, this.#notBefore);
    if (this.#dueAt !== undefined && this.#dueAt <= due) return;
    clearTimeout(this.#timer);
    this.#dueAt = due;
    this.#timer = setTimeout(() => {
      this.#dueAt = undefined;
      this.#openStream();
    }, due - now);
    this.#timer.unref();
  }

  /** Forgets what the server refused, as whoever answers now may be another. */
  #resetRefusals(): void {
    this.#unsupported = false;
    this.#notBefore = 0;
    this.#rejected.clear();
  }

  /** Opens a stream for what is wanted now; the one before goes on until the new one is acknowledged. */
  #openStream(): void {
    const filter = this.#filter();
    const previous = this.#stream;
    if (previous?.acknowledged === true) {
      this.#previous?.close();
      this.#previous = previous;
    } else {
      previous?.close();
    }
    this.#stream = undefined;
    if (filter === undefined) {
      this.#previous?.close();
      this.#previous = undefined;
      return;
    }
    const opened = this.#settings.open({ notifications: filter }, (message) =>
      this.#receive(stream, message),
    );
    const requested = new Set(this.#requestedUris());
    const stream: Stream = { ...opened, acknowledged: false, requested, refused: new Set() };
    this.#stream = stream;
    const ended = opened.ended.then(
      (answer) => this.#ended(stream, answer.message.error),
      (error: GatewayError) => this.#ended(stream, error),
    );
    inBackground(ended, this.#settings.log, "taking in the end of a stream of changes");
  }

  #filter(): JsonObject | undefined {
    const capabilities = this.#settings.capabilities();
    const filter: Record<string, unknown> = {};
    for (const capability of LISTS_OF_CAPABILITY.keys()) {
      if (objectAt(capabilities, capability)?.listChanged === true) filter[`${capability}ListChanged`] = true;
    }
    const uris = this.#requestedUris();
    if (objectAt(capabilities, "resources")?.subscribe === true && uris.length > 0) {
      filter.resourceSubscriptions = uris;
    }
    return Object.keys(filter).length > 0 ? filter : undefined;
  }

  /** The resources that are followed, without those that the server rejected. */
  #requestedUris(): readonly string[] {
    return [...this.#followers.keys()].filter((uri) => !this.#rejected.has(uri));
  }

  #receive(stream: Stream, message: Envelope): void {
    const { observer } = this.#settings;
    const { method, params } = message;
    if (method === "notifications/subscriptions/acknowledged") {
      this.#acknowledged(stream, objectAt(params, "notifications"));
    } else if (method === "notifications/cancelled") {
      stream.close();
      this.#ended(stream, undefined);
    } else if (method === "notifications/resources/updated") {
      // It may be a part of the resource that is followed, not the resource itself.
      const uri = stringAt(params, "uri");
      if (uri !== undefined) observer.resourceUpdated(uri);
    } else {
      for (const kind of CHANGED_LISTS.get(method) ?? []) observer.listChanged(kind);
    }
  }

  #acknowledged(stream: Stream, honoured: JsonObject | undefined): void {
    stream.acknowledged = true;
    stream.refused = refusedUris(stream.requested, honoured);
    if (stream !== this.#stream) return;
    this.#acknowledgedUris = stream.requested;
    this.#wakeWaiters();
    this.#backoffMs = FIRST_WAIT_MS;
    this.#previous?.close();
    this.#previous = undefined;
    if (!this.#missed) return;
    this.#missed = false;
    this.#notifyMissedChanges();
    this.#settings.onReopened();
  }

  #ended(stream: Stream, error: StreamError | undefined): void {
    if (stream === this.#previous) this.#previous = undefined;
    if (stream !== this.#stream || this.#stopped) return;
    this.#stream = undefined;
    const { server, log } = this.#settings;
    if (numberOf(error?.code) === CODE.methodNotFound) {
      this.#unsupported = true;
      clearTimeout(this.#timer);
      this.#dueAt = undefined;
      this.#wakeWaiters();
      log.info(
        { server },
        "the server offers changes and knows no subscriptions/listen; it is not asked again",
      );
      return;
    }
    if (error !== undefined && numberOf(error.code) === CODE.invalidParams && !stream.acknowledged)
      this.#reject(stream, error);
    log.debug({ server, error: error?.message }, "the stream of changes ended; it is opened again");
    this.#missed ||= stream.acknowledged;
    this.#notBefore = performance.now() + this.#backoffMs;
    this.#backoffMs = Math.min(this.#backoffMs * 2, LONGEST_WAIT_MS);
    this.#schedule(0);
  }

  /** Of what the stream was asked for, what is new since the last acknowledgement may be why it was refused. */
  #reject({ requested }: Stream, { message }: StreamError): void {
    for (const uri of requested) {
      if (this.#acknowledgedUris.has(uri) || !this.#followers.has(uri)) continue;
      this.#rejected.set(uri, { code: CODE.invalidParams, message });
    }
    this.#wakeWaiters();
  }

  /** While nobody listened anything may have changed. */
  #notifyMissedChanges(): void {
    const { observer } = this.#settings;
    const capabilities = this.#settings.capabilities();
    for (const [capability, kinds] of LISTS_OF_CAPABILITY) {
      if (objectAt(capabilities, capability)?.listChanged !== true) continue;
      for (const kind of kinds) observer.listChanged(kind);
    }
    for (const uri of this.#requestedUris()) observer.resourceUpdated(uri);
  }

  #wakeWaiters(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }
}

const NOT_SUBSCRIBED: RpcError = {
  code: CODE.invalidParams,
  message: "the server tells of no updates of this resource",
};

/** Whoever says nothing of what it honours is taken to honour everything. */
function refusedUris(requested: ReadonlySet<string>, honoured: JsonObject | undefined): ReadonlySet<string> {
  if (honoured === undefined) return new Set();
  const { resourceSubscriptions } = honoured;
  const told: readonly unknown[] = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : [];
  return new Set([...requested].filter((uri) => !told.includes(uri)));
}
