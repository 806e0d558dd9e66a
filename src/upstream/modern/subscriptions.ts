/** The one `subscriptions/listen` stream of a connection, whose filter is the union of what anybody wants to hear. */
import { inBackground } from "../../core/background.js";
import type { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { ListKind } from "../../core/upstream.js";
import type { Envelope, RpcError } from "../../wire/envelope.js";
import { numberOf } from "../../wire/exact-number.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { CODE, META } from "../../wire/names.js";
import type { ConnectionObserver } from "../connection.js";
import type { Answer } from "../transport/channel.js";

export interface ListenSettings {
  readonly server: string;
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  readonly observer: ConnectionObserver;
  readonly log: Logger;
  /** Sends the request and tells its id at once; `close` ends the stream the way the transport wants it. */
  readonly open: (params: JsonObject, hear: (message: Envelope) => void) => OpenStream;
  /** Told when the server listens again that had ended its stream: it may have been started anew. */
  readonly reopened: () => void;
}

export interface OpenStream {
  readonly id: number;
  readonly ended: Promise<Answer>;
  close(): void;
}

/** A stream as it stands: what it was opened for, and whether the server has said that it listens. */
interface Stream extends OpenStream {
  acknowledged: boolean;
  readonly asked: ReadonlySet<string>;
  /** Of the resources it was opened for, those that the server will tell nothing of. */
  refused: ReadonlySet<string>;
}

type StreamError = { readonly code: unknown; readonly message: string };

const LISTS: Readonly<
  Record<string, { readonly key: string; readonly method: string; readonly kinds: readonly ListKind[] }>
> = {
  tools: { key: "toolsListChanged", method: "notifications/tools/list_changed", kinds: ["tools"] },
  prompts: { key: "promptsListChanged", method: "notifications/prompts/list_changed", kinds: ["prompts"] },
  resources: {
    key: "resourcesListChanged",
    method: "notifications/resources/list_changed",
    kinds: ["resources", "resourceTemplates"],
  },
};

/** Changes of the filter that come so close together (ms) make one new stream. */
const GATHER_MS = 20;
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
  readonly #waiting = new Set<() => void>();
  /** Resources for which the server refused a whole stream, which is asked for without them as long as they are followed. */
  readonly #rejected = new Map<string, RpcError>();
  /** Resources of the streams that the server acknowledged: not they are why it refuses another. */
  #proven: ReadonlySet<string> = new Set();
  #stream: Stream | undefined;
  /** The stream that still delivers while its successor is not acknowledged yet. */
  #before: Stream | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer fires, by `performance.now()`; undefined while none is set. */
  #due: number | undefined;
  #wait = FIRST_WAIT_MS;
  /** No stream is opened before this time, by `performance.now()`, whatever the filter would be. */
  #notBefore = 0;
  #missed = false;
  /** The server does not know the method at all, and is not asked again before it may be another one. */
  #unheardOf = false;
  #over = false;

  constructor(settings: ListenSettings) {
    this.#settings = settings;
  }

  start(): void {
    this.#schedule(0);
  }

  /** The server offers other things than before: it may tell of others, and may be another one. */
  refilter(): void {
    this.#tryAgain();
    this.#schedule(GATHER_MS);
  }

  /** Counts one more follower of `uri`; call the returned function once to stop. */
  follow(uri: string): () => void {
    const count = this.#followers.get(uri) ?? 0;
    this.#followers.set(uri, count + 1);
    if (count === 0) this.#schedule(GATHER_MS);
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
        this.#wake();
        this.#schedule(GATHER_MS);
      }
    };
  }

  /**
   * The error that it comes to when the server leaves `uri` out of what it will tell; waits until it has said, or
   * nobody follows `uri` any more.
   */
  async refusal(uri: string): Promise<RpcError | undefined> {
    while (!this.#over && !this.#unheardOf && this.#followers.has(uri)) {
      const rejected = this.#rejected.get(uri);
      if (rejected !== undefined) return rejected;
      const told = [this.#stream, this.#before].find((open) => open?.acknowledged && open.asked.has(uri));
      if (told !== undefined) return told.refused.has(uri) ? NOT_TOLD : undefined;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    return this.#unheardOf ? NOT_TOLD : undefined;
  }

  /** Takes a message that carries a subscription id; false when it belongs to no stream of ours. */
  hear(message: Envelope): boolean {
    const id = objectAt(message.params, "_meta")?.[META.subscriptionId] ?? message.params?.requestId;
    const stream = [this.#stream, this.#before].find((open) => open !== undefined && open.id === id);
    if (stream === undefined) return false;
    this.#hear(stream, message);
    return true;
  }

  /** Listens anew: whoever answers now may be another, who lists other things. */
  renew(): void {
    if (this.#stream?.acknowledged === false) return;
    this.#missed ||= this.#stream !== undefined;
    this.#tryAgain();
    this.#schedule(0);
  }

  stop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#before?.close();
    this.#stream = this.#before = undefined;
    this.#wake();
  }

  /** Opens a stream after `ms`, but not before the server may be asked again; one that is due sooner stays due. */
  #schedule(ms: number): void {
    if (this.#over || this.#unheardOf) return;
    const now = performance.now();
    const due = Math.max(now + ms, this.#notBefore);
    if (this.#due !== undefined && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#due = undefined;
      this.#reopen();
    }, due - now);
    this.#timer.unref();
  }

  /** Forgets what the server refused, as whoever answers now may be another. */
  #tryAgain(): void {
    this.#unheardOf = false;
    this.#notBefore = 0;
    this.#rejected.clear();
  }

  /** Opens a stream for what is wanted now; the one before goes on until the new one is acknowledged. */
  #reopen(): void {
    const filter = this.#filter();
    const previous = this.#stream;
    if (previous?.acknowledged === true) {
      this.#before?.close();
      this.#before = previous;
    } else {
      previous?.close();
    }
    this.#stream = undefined;
    if (filter === undefined) {
      this.#before?.close();
      this.#before = undefined;
      return;
    }
    const opened = this.#settings.open({ notifications: filter }, (message) => this.#hear(stream, message));
    const asked = new Set(this.#wanted());
    const stream: Stream = { ...opened, acknowledged: false, asked, refused: new Set() };
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
    for (const [capability, { key }] of Object.entries(LISTS)) {
      if (objectAt(capabilities, capability)?.listChanged === true) filter[key] = true;
    }
    const uris = this.#wanted();
    if (objectAt(capabilities, "resources")?.subscribe === true && uris.length > 0) {
      filter.resourceSubscriptions = uris;
    }
    return Object.keys(filter).length > 0 ? filter : undefined;
  }

  /** The resources that are followed, without those that the server rejected. */
  #wanted(): readonly string[] {
    return [...this.#followers.keys()].filter((uri) => !this.#rejected.has(uri));
  }

  #hear(stream: Stream, message: Envelope): void {
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
      const list = Object.values(LISTS).find((known) => known.method === method);
      for (const kind of list?.kinds ?? []) observer.listChanged(kind);
    }
  }

  #acknowledged(stream: Stream, honoured: JsonObject | undefined): void {
    stream.acknowledged = true;
    stream.refused = refusedOf(stream.asked, honoured);
    if (stream !== this.#stream) return;
    this.#proven = stream.asked;
    this.#wake();
    this.#wait = FIRST_WAIT_MS;
    this.#before?.close();
    this.#before = undefined;
    if (!this.#missed) return;
    this.#missed = false;
    this.#tellWhatMayBeMissed();
    this.#settings.reopened();
  }

  #ended(stream: Stream, error: StreamError | undefined): void {
    if (stream === this.#before) this.#before = undefined;
    if (stream !== this.#stream || this.#over) return;
    this.#stream = undefined;
    const { server, log } = this.#settings;
    if (numberOf(error?.code) === CODE.methodNotFound) {
      this.#unheardOf = true;
      clearTimeout(this.#timer);
      this.#due = undefined;
      this.#wake();
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
    this.#notBefore = performance.now() + this.#wait;
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
    this.#schedule(0);
  }

  /** Of what the stream was asked for, what is new since the last acknowledgement may be why it was refused. */
  #reject({ asked }: Stream, { message }: StreamError): void {
    for (const uri of asked) {
      if (this.#proven.has(uri) || !this.#followers.has(uri)) continue;
      this.#rejected.set(uri, { code: CODE.invalidParams, message });
    }
    this.#wake();
  }

  /** While nobody listened anything may have changed. */
  #tellWhatMayBeMissed(): void {
    const { observer } = this.#settings;
    const capabilities = this.#settings.capabilities();
    for (const [capability, { kinds }] of Object.entries(LISTS)) {
      if (objectAt(capabilities, capability)?.listChanged !== true) continue;
      for (const kind of kinds) observer.listChanged(kind);
    }
    for (const uri of this.#wanted()) observer.resourceUpdated(uri);
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

const NOT_TOLD: RpcError = {
  code: CODE.invalidParams,
  message: "the server tells of no updates of this resource",
};

/** Whoever says nothing of what it honours is taken to honour everything. */
function refusedOf(asked: ReadonlySet<string>, honoured: JsonObject | undefined): ReadonlySet<string> {
  if (honoured === undefined) return new Set();
  const { resourceSubscriptions } = honoured;
  const told: readonly unknown[] = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : [];
  return new Set([...asked].filter((uri) => !told.includes(uri)));
}
