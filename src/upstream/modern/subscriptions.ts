/** How are changes listened for at a 2026-07-28 server? By one `subscriptions/listen` stream, replaced when its filter changes. */
import type { GatewayError } from "../../core/errors.js";
import { CHANGED_LISTS, LISTS_OF_CAPABILITY } from "../../core/lists.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { type Envelope, integerInText, type RpcError } from "../../wire/envelope.js";
import { type JsonObject, numberOf, objectAt, stringAt } from "../../wire/json.js";
import { CODE, META } from "../../wire/names.js";
import type { ConnectionObserver } from "../connection.js";
import type { ChannelResponse } from "../transport/channel.js";

/** How a listen stream is opened, and where its events go. */
export interface ListenSettings {
  readonly server: string;
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  readonly observer: ConnectionObserver;
  readonly log: Logger;
  /** The resources that are followed now. */
  readonly uris: ReadonlySet<string>;
  /** Sends the request and returns its id at once; `close` ends the stream in the way of the transport. */
  readonly open: (params: JsonObject, onMessage: (message: Envelope) => void) => OpenStream;
  /** Called when a stream that the server had ended is acknowledged again: the server may have been restarted. */
  readonly onReopened: () => void;
}

/** A `subscriptions/listen` request that has no response yet. */
export interface OpenStream {
  readonly id: number;
  readonly ended: Promise<ChannelResponse>;
  close(): void;
}

/** One stream: what it was opened for, and what the server acknowledged of it. */
interface Stream extends OpenStream {
  acknowledged: boolean;
  readonly requested: ReadonlySet<string>;
  /** The requested resources that the server left out of its acknowledgement. */
  refused: ReadonlySet<string>;
}

type StreamError = { readonly code: unknown; readonly message: string };

/** Changes of the filter within this time (ms) open one new stream. */
const BATCH_MS = 20;
/** The backoff (ms) after a stream has ended, doubled up to the longest. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * One stream, its successor and its retries. Listening is best effort: a server may advertise `listChanged` and still
 * not know the method, or end the stream before it acknowledges it. Neither counts as a failure of the server; lists
 * are then refreshed only when a client lists.
 */
export class Subscriptions {
  readonly #settings: ListenSettings;
  /** `subscriptionError` calls that wait for an acknowledgement. */
  readonly #waiters = new Set<() => void>();
  /** Resources for which the server refused a whole stream; later streams leave them out while they are followed. */
  readonly #rejected = new Map<string, RpcError>();
  /** Resources of the last acknowledged stream: they cannot be why the server refuses another one. */
  #acknowledgedUris: ReadonlySet<string> = new Set();
  #stream: Stream | undefined;
  /** The stream before, which stays open until its successor is acknowledged. */
  #previous: Stream | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer fires, by `performance.now()`; undefined while none is set. */
  #dueAt: number | undefined;
  #backoffMs = FIRST_WAIT_MS;
  /** The end of the backoff, by `performance.now()`; changes of the filter wait for it too. */
  #notBefore = 0;
  #missed = false;
  /** The server answered that it does not know the method; no retry until it may have been replaced. */
  #unsupported = false;
  #stopped = false;

  constructor(settings: ListenSettings) {
    this.#settings = settings;
  }

  start(): void {
    this.#schedule(0);
  }

  /** The capabilities have changed: opens a stream with a new filter, and forgets refusals. */
  refilter(): void {
    this.#resetRefusals();
    this.#schedule(BATCH_MS);
  }

  /** A resource was added to `uris`. */
  subscribed(): void {
    this.#schedule(BATCH_MS);
  }

  /** `uri` was removed from `uris`. */
  unsubscribed(uri: string): void {
    this.#rejected.delete(uri);
    this.#wakeWaiters();
    this.#schedule(BATCH_MS);
  }

  /**
   * The error where the server refuses `uri` or leaves it out of an acknowledgement. Waits for an acknowledged stream
   * that asked for it, or until `uri` is no longer followed.
   */
  async subscriptionError(uri: string): Promise<RpcError | undefined> {
    while (!this.#stopped && !this.#unsupported && this.#settings.uris.has(uri)) {
      const rejected = this.#rejected.get(uri);
      if (rejected !== undefined) return rejected;
      const acknowledged = [this.#stream, this.#previous].find(
        (open) => open?.acknowledged && open.requested.has(uri),
      );
      if (acknowledged !== undefined) return acknowledged.refused.has(uri) ? NOT_SUBSCRIBED : undefined;
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
    return this.#unsupported ? NOT_SUBSCRIBED : undefined;
  }

  /** Takes a message that carries a subscription id; false when it belongs to neither stream. */
  receive(message: Envelope): boolean {
    const named = objectAt(message.params, "_meta")?.[META.subscriptionId] ?? message.params?.requestId;
    const id = integerInText(named) ?? named;
    const stream = [this.#stream, this.#previous].find((open) => open !== undefined && open.id === id);
    if (stream === undefined) return false;
    this.#receive(stream, message);
    return true;
  }

  /** Opens a new stream at once: the server's address has changed, and another process may answer. */
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

  /** Opens a stream after `ms` and after the backoff; one that is due sooner stays due. */
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

  /** The server may have been replaced: what it refused counts no more. */
  #resetRefusals(): void {
    this.#unsupported = false;
    this.#notBefore = 0;
    this.#rejected.clear();
  }

  /** Opens a stream with the current filter; the one before stays open until the new one is acknowledged. */
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
    inBackground(ended, this.#settings.log, "handling the end of a subscriptions/listen stream");
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
    return [...this.#settings.uris].filter((uri) => !this.#rejected.has(uri));
  }

  #receive(stream: Stream, message: Envelope): void {
    const { method, params } = message;
    if (method === "notifications/subscriptions/acknowledged") {
      this.#acknowledged(stream, objectAt(params, "notifications"));
    } else if (method === "notifications/cancelled") {
      stream.close();
      this.#ended(stream, undefined);
    } else {
      notifyChange(message, this.#settings.observer);
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
    if (stream === this.#previous) {
      this.#previous = undefined;
      this.#missed = true;
    }
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
        "the server advertises listChanged or subscribe, but not the method subscriptions/listen; no retry",
      );
      return;
    }
    if (error !== undefined && numberOf(error.code) === CODE.invalidParams && !stream.acknowledged)
      this.#reject(stream, error);
    log.debug(
      { server, error: error?.message },
      "the subscriptions/listen stream ended; it is opened again after a backoff",
    );
    this.#missed ||= stream.acknowledged;
    this.#notBefore = performance.now() + this.#backoffMs;
    this.#backoffMs = Math.min(this.#backoffMs * 2, LONGEST_WAIT_MS);
    this.#schedule(0);
  }

  /** The server refused the stream: the resources that are new since the last acknowledged one may be why. */
  #reject({ requested }: Stream, { message }: StreamError): void {
    for (const uri of requested) {
      if (this.#acknowledgedUris.has(uri) || !this.#settings.uris.has(uri)) continue;
      this.#rejected.set(uri, { code: CODE.invalidParams, message });
    }
    this.#wakeWaiters();
  }

  /** While no stream was open, anything may have changed. */
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

/** Notifies `observer` of a changed list or resource; false where `message` is about neither. */
export function notifyChange({ method, params }: Envelope, observer: ConnectionObserver): boolean {
  if (method === "notifications/resources/updated") {
    // The URI may be that of a sub-resource of a followed one.
    const uri = stringAt(params, "uri");
    if (uri !== undefined) observer.resourceUpdated(uri);
    return true;
  }
  const kinds = CHANGED_LISTS.get(method);
  for (const kind of kinds ?? []) observer.listChanged(kind);
  return kinds !== undefined;
}

const NOT_SUBSCRIBED: RpcError = {
  code: CODE.invalidParams,
  message: "the server does not send updates of this resource",
};

/** An acknowledgement without a filter honours the whole request. */
function refusedUris(requested: ReadonlySet<string>, honoured: JsonObject | undefined): ReadonlySet<string> {
  if (honoured === undefined) return new Set();
  const { resourceSubscriptions } = honoured;
  const accepted: readonly unknown[] = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : [];
  return new Set([...requested].filter((uri) => !accepted.includes(uri)));
}
