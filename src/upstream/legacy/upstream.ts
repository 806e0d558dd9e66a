/** One open conversation with a server that was opened by `initialize`. */
import type { Call, Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { ListKind, ServerFacts, ServerList } from "../../core/upstream.js";
import { type Envelope, isNotification, isRequest, type Notification } from "../../wire/envelope.js";
import { type JsonObject, stringAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import type { Connection } from "../connection.js";
import { nextId } from "../conversation/ids.js";
import { OpenCall, OpenCalls } from "../conversation/open-calls.js";
import { LISTS, walkPages } from "../conversation/pages.js";
import type { ConversationSettings } from "../conversation/settings.js";
import type { Answer, Channel } from "../transport/channel.js";
import { readReply } from "./read-reply.js";
import { answerServer } from "./server-requests.js";
import { Session } from "./session.js";
import { ResourceSubscriptions } from "./subscriptions.js";
import { writeCall } from "./write-call.js";

export interface LegacySettings extends ConversationSettings {
  /** The revision to offer at `initialize`. */
  readonly revision: string;
  /** What is promised that the server may ask; `{}` on a connection that many clients share. */
  readonly capabilities: JsonObject;
  readonly handshakeTimeoutMs: number;
}

export class LegacyConnection implements Connection {
  readonly closed: Promise<GatewayError>;
  readonly #channel: Channel;
  readonly #settings: LegacySettings;
  readonly #calls = new OpenCalls();
  readonly #subscriptions: ResourceSubscriptions;
  #session: Session | undefined;
  #listening: { stop(): void } | undefined;
  #lose: (cause: GatewayError) => void = () => {};
  #lastHeard = performance.now();

  private constructor(channel: Channel, settings: LegacySettings) {
    this.#channel = channel;
    this.#settings = settings;
    this.closed = new Promise((resolve) => {
      this.#lose = resolve;
    });
    void channel.closed.then(this.#lose);
    this.#subscriptions = new ResourceSubscriptions({
      capabilities: () => this.facts.capabilities,
      send: (method, uri) => void this.#request(method, { uri }).catch(this.#shrug(`${method} failed`)),
    });
  }

  /**
   * Shakes hands over `channel`, which is the connection's own from then on.
   *
   * @throws HandshakeRefused, or a GatewayError of the channel; the channel stays open then.
   */
  static async open(
    channel: Channel,
    settings: LegacySettings,
    signal: AbortSignal,
  ): Promise<LegacyConnection> {
    const connection = new LegacyConnection(channel, settings);
    // On a pipe the server may speak the moment it has seen `initialized`, so somebody must be there to hear it.
    if (channel.association === "pipe") connection.#listen();
    try {
      connection.#session = await Session.open(
        channel,
        { ...settings, renewed: () => connection.#renewed(), lost: connection.#lose },
        signal,
      );
    } catch (error) {
      connection.#listening?.stop();
      throw error;
    }
    if (channel.association === "stream") connection.#listen();
    return connection;
  }

  get facts(): ServerFacts {
    return this.#opened.agreement.facts;
  }

  get quietSince(): number | undefined {
    return this.#calls.size > 0 ? undefined : this.#lastHeard;
  }

  readonly call = async (call: Call): Promise<Reply> => {
    if (call.signal.aborted) throw this.#cancelled(call.signal);
    const open = new OpenCall(nextId(), call);
    const giveUp = new AbortController();
    this.#calls.add(open);
    open.attach(call, () => this.#cancel(open.id, giveUp));
    try {
      const answer = await this.#opened.exchange(writeCall(call, open.id), {
        signal: giveUp.signal,
        hear: (message) => this.#hear(message, open),
      });
      return readReply(this.#settings.server, answer.message);
    } finally {
      open.detach();
      this.#calls.remove(open, call.client.affinity);
      this.#lastHeard = performance.now();
    }
  };

  async list(kind: ListKind, signal: AbortSignal): Promise<ServerList> {
    const { method, capability } = LISTS[kind];
    if (!Object.hasOwn(this.facts.capabilities, capability)) return EMPTY;
    const { server, log } = this.#settings;
    const fetch = async (cursor: string | undefined): Promise<JsonObject> => {
      const { message } = await this.#request(method, cursor === undefined ? undefined : { cursor }, signal);
      // Servers with resources and no templates often do not know the method at all.
      if (message.error?.code === CODE.methodNotFound) return { [LISTS[kind].key]: [] };
      if (message.error === undefined) return message.result ?? {};
      const sentence = `${server} answered ${method} with an error: ${message.error.message}`;
      throw new GatewayError("upstream_closed", "upstream", sentence, { server });
    };
    const { items } = await walkPages({ server, kind, log, fetch });
    return { items, freshness: UNKNOWN_FRESHNESS };
  }

  follow(uri: string): () => void {
    return this.#subscriptions.follow(uri);
  }

  /** Any answer to a ping is a sign of life, an error too. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#request("ping", undefined, signal);
  }

  async close(): Promise<void> {
    this.#listening?.stop();
    const session = this.#session?.agreement;
    await this.#channel.close(session?.sessionId === undefined ? undefined : { headers: session.headers });
  }

  get #opened(): Session {
    if (this.#session === undefined) throw new TypeError("the handshake is not done yet");
    return this.#session;
  }

  /** A request of the gateway's own. */
  async #request(method: string, params?: JsonObject, signal?: AbortSignal): Promise<Answer> {
    const id = nextId();
    const giveUp = new AbortController();
    const cancel = (): void => this.#cancel(id, giveUp);
    if (signal?.aborted) throw this.#cancelled(signal);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#opened.exchange(
        { jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) },
        { signal: giveUp.signal, hear: (message) => this.#hear(message) },
      );
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#lastHeard = performance.now();
    }
  }

  // Closing the response stream says nothing in these revisions (2025-11-25, transports: "Disconnection SHOULD
  // NOT be interpreted as the client cancelling its request"), so the server is told in words on every transport.
  #cancel(requestId: number, giveUp: AbortController): void {
    const params = { requestId, reason: "the client gave up" };
    const told = this.#opened.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    told.catch(this.#shrug("the server could not be told of a cancellation"));
    giveUp.abort();
  }

  #cancelled(signal: AbortSignal): GatewayError {
    return new GatewayError("cancelled", "downstream", "the call was given up before it was sent", {
      cause: signal.reason,
      server: this.#settings.server,
    });
  }

  #listen(): void {
    const session = this.#session?.agreement;
    this.#listening?.stop();
    this.#listening = this.#channel.listen((message) => this.#hear(message), {
      ...(session !== undefined && { headers: session.headers }),
      // The next request finds out whether the session is gone, and opens a new one; a ping is one.
      lost: () => void this.#request("ping").catch(this.#shrug("the event stream is gone")),
    });
  }

  /** A new session: its event stream and subscriptions start anew, and its lists may be others. */
  #renewed(): void {
    if (this.#channel.association === "stream") this.#listen();
    for (const uri of this.#subscriptions.renew()) this.#settings.observer.resourceUpdated(uri);
    for (const kind of ["tools", "prompts", "resources", "resourceTemplates"] as const) {
      this.#settings.observer.listChanged(kind);
    }
  }

  /** A message that is no response; `on` is the call on whose own stream it came. */
  #hear(message: Envelope, on?: OpenCall): void {
    this.#lastHeard = performance.now();
    if (isRequest(message)) {
      const answered = this.#channel.post(answerServer(message), {
        headers: this.#session?.agreement.headers ?? {},
      });
      answered.catch(this.#shrug("the server's question could not be answered"));
    } else if (isNotification(message)) {
      this.#hearNotification(message, on);
    }
  }

  #hearNotification(message: Notification, on: OpenCall | undefined): void {
    const { observer, log, server } = this.#settings;
    const { method, params } = message;
    if (method === "notifications/resources/updated") {
      const uri = stringAt(params, "uri");
      if (uri !== undefined) observer.resourceUpdated(uri);
    } else if (Object.hasOwn(CHANGED, method)) {
      for (const kind of CHANGED[method] ?? []) observer.listChanged(kind);
    } else if (method === "notifications/progress") {
      // The token says whose it is, whatever stream it came on.
      this.#calls.named(params)?.hear(message);
    } else {
      const whose = on ?? this.#calls.named(params) ?? this.#calls.only();
      whose?.hear(message);
      if (whose === undefined) log.debug({ server, method }, "a notification belongs to no call");
    }
  }

  #shrug(sentence: string): (error: unknown) => void {
    return (error) => this.#settings.log.debug({ server: this.#settings.server, error }, sentence);
  }
}

const CHANGED: Readonly<Record<string, readonly ListKind[]>> = {
  "notifications/tools/list_changed": ["tools"],
  "notifications/prompts/list_changed": ["prompts"],
  "notifications/resources/list_changed": ["resources", "resourceTemplates"],
};

const UNKNOWN_FRESHNESS = { ttlMs: 0, scope: "private" } as const;
const EMPTY: ServerList = { items: [], freshness: UNKNOWN_FRESHNESS };
