/** One open conversation with a server that was opened by `initialize`. */

import { inBackground } from "../../core/background.js";
import type { Call, InputAnswers, LogLevel, Notice, Reply } from "../../core/call.js";
import type { Client, ClientDirectory } from "../../core/client.js";
import type { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import { LIST_KINDS, type ListKind, type ServerFacts, type ServerList } from "../../core/upstream.js";
import { type Envelope, isNotification, isRequest, type RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import type { Connection } from "../connection.js";
import { nextId } from "../conversation/ids.js";
import { LISTS, walkPages } from "../conversation/pages.js";
import { askerName, type Presentation } from "../conversation/questions.js";
import { isAmbiguous } from "../conversation/read-questions.js";
import type { ConversationSettings } from "../conversation/settings.js";
import { unlessAborted } from "../conversation/waiting.js";
import type { Answer, Channel } from "../transport/channel.js";
import { cancelled, LegacyCalls, tellCancelled } from "./calls.js";
import { ConnectionLogLevel } from "./log-level.js";
import { Notifications } from "./notifications.js";
import type { ParkedCalls } from "./parked-calls.js";
import type { RunningCall } from "./running-call.js";
import { type RefusedQuestion, ServerRequests } from "./server-requests.js";
import { Session } from "./session.js";
import { ResourceSubscriptions } from "./subscriptions.js";
import { TaskProgress } from "./task-progress.js";
import { linksVisited, requireConsent, VisitedLinks } from "./url-elicitation.js";

export interface LegacySettings extends ConversationSettings {
  /** The revision to offer at `initialize`. */
  readonly revision: string;
  readonly handshakeTimeoutMs: number;
  /** Numbers from 0 up to 1, for the jitter of waits. */
  readonly random: () => number;
  /** What of its clients is promised that the server may ask; nothing on a connection that many share. */
  readonly promised: JsonObject;
  /** The session that the connection is kept for, if it is kept for one. */
  readonly owner: Client | undefined;
  readonly directory: ClientDirectory;
  readonly parked: ParkedCalls;
  /** Roots for servers that ask for them where no client can be asked. */
  readonly roots: readonly JsonObject[] | undefined;
  readonly refusedQuestion: (why: RefusedQuestion) => void;
  /** Told when a task is not as it was; the notice names it by the server's own id. */
  readonly onTaskStatus: (notice: Notice) => void;
}

/** How long (ms) the answer to a ping, a subscription or a log level may take. */
const OWN_REQUEST_MS = 30_000;

export class LegacyConnection implements Connection {
  readonly closed: Promise<GatewayError>;
  readonly #channel: Channel;
  readonly #settings: LegacySettings;
  readonly #calls: LegacyCalls;
  readonly #questions: ServerRequests;
  readonly #notifications: Notifications;
  readonly #subscriptions: ResourceSubscriptions;
  readonly #logLevel = new ConnectionLogLevel();
  readonly #links = new VisitedLinks();
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
    this.#inBackground(channel.closed.then(this.#lose), "the end of a connection");
    const post = (message: Envelope): void => this.#post(message);
    const presentation = (): Presentation => this.#presentation;
    const taskProgress = new TaskProgress(settings.directory);
    this.#calls = new LegacyCalls({
      ...settings,
      taskProgress,
      presentation,
      post,
      capabilities: () => this.facts.capabilities,
      exchange: (request, running, signal) => {
        running.sends(request);
        const hear = (message: Envelope): void => this.#hear(message, running);
        return this.#opened.exchange(request, { signal, hear, waiter: running });
      },
    });
    this.#questions = new ServerRequests({
      ...settings,
      presentation,
      calls: () => this.#calls.open.all,
      respond: post,
      refused: settings.refusedQuestion,
    });
    this.#notifications = new Notifications({
      ...settings,
      calls: this.#calls.open,
      taskProgress,
      withdrawn: (id) => this.#questions.withdraw(id),
      visited: (id) => this.#links.complete(id),
    });
    this.#subscriptions = new ResourceSubscriptions({
      capabilities: () => this.facts.capabilities,
      send: (method, uri) => this.#subscribe(method, uri),
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
    signal: StopSignal,
  ): Promise<LegacyConnection> {
    const connection = new LegacyConnection(channel, settings);
    // On a pipe the server may speak the moment it has seen `initialized`, so somebody must be there to hear it.
    if (channel.association === "pipe") connection.#listen();
    try {
      connection.#session = await Session.open(
        channel,
        {
          ...settings,
          capabilities: { ...(settings.roots !== undefined && { roots: {} }), ...settings.promised },
          renewed: () => connection.#renewed(),
          lost: connection.#lose,
        },
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

  get revision(): string {
    return this.#opened.agreement.revision;
  }

  get keepsSession(): boolean {
    return this.#channel.association === "pipe" || this.#opened.agreement.sessionId !== undefined;
  }

  get quietSince(): number | undefined {
    const { size, lastEndedAt } = this.#calls.open;
    return size > 0 ? undefined : Math.max(this.#lastHeard, lastEndedAt);
  }

  readonly call = (call: Call): Promise<Reply> => {
    if (call.answers !== undefined) return this.#callWith(call.answers, call);
    const raised = this.#raiseLogLevel(call);
    return raised === undefined ? this.#calls.run(call) : raised.then(() => this.#calls.run(call));
  };

  async #callWith(answers: InputAnswers, call: Call): Promise<Reply> {
    const visited = linksVisited(answers);
    if (visited !== undefined) {
      requireConsent(this.#settings.server, answers);
      await this.#links.whenDone(visited, call.signal);
    }
    await this.#raiseLogLevel(call);
    return this.#calls.run(call);
  }

  /** Undefined where the server logs loud enough for `call`. */
  #raiseLogLevel(call: Call): Promise<void> | undefined {
    const level = this.#logLevel.raise(call.logLevel, call.client.session);
    if (level === undefined) return undefined;
    // The level is the connection's: it is set for the calls that follow, also when this one is given up.
    const gaveUp = (): GatewayError => cancelled(this.#settings.server, call.signal);
    return unlessAborted(this.#setLogLevel(level), call.signal, gaveUp);
  }

  async list(kind: ListKind, signal: StopSignal): Promise<ServerList> {
    if (!Object.hasOwn(this.facts.capabilities, LISTS[kind].capability)) return EMPTY;
    const { server, log } = this.#settings;
    const ask = async (method: string, params?: JsonObject): Promise<Envelope> =>
      (await this.#request(method, params, signal)).message;
    const { items, malformed } = await walkPages({ server, kind, log, ask });
    return { items, freshness: UNKNOWN_FRESHNESS, malformed };
  }

  follow(uri: string): () => void {
    return this.#subscriptions.follow(uri);
  }

  refusal(uri: string): Promise<RpcError | undefined> {
    return this.#subscriptions.refusal(uri);
  }

  tell({ method, params }: Notice): void {
    this.#post({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  }

  /** Any answer to a ping is a sign of life, an error too. */
  async check(signal: StopSignal): Promise<void> {
    await this.#request("ping", undefined, signal);
  }

  async close(): Promise<void> {
    this.#questions.close();
    this.#listening?.stop();
    const session = this.#session?.agreement;
    await this.#channel.close(session?.sessionId === undefined ? undefined : { headers: session.headers });
  }

  get #opened(): Session {
    if (this.#session === undefined) throw new TypeError("the handshake is not done yet");
    return this.#session;
  }

  get #presentation(): Presentation {
    const { server, aggregated } = this.#settings;
    return {
      asker: askerName(server, this.#session?.agreement.facts.serverInfo ?? {}),
      aggregated: aggregated(),
    };
  }

  /** A request of the gateway's own; without a `signal` it is given up after a while. */
  async #request(method: string, params?: JsonObject, signal?: StopSignal): Promise<Answer> {
    const { server } = this.#settings;
    if (signal?.aborted) throw cancelled(server, signal);
    const id = nextId();
    const giveUp = new AbortController();
    const cancel = (): void => {
      tellCancelled(id, (message) => this.#post(message));
      giveUp.abort();
    };
    const late = signal === undefined ? setTimeout(cancel, OWN_REQUEST_MS) : undefined;
    signal?.addEventListener("abort", cancel, { once: true });
    const request = { jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) } as const;
    const hear = (message: Envelope): void => this.#hear(message);
    try {
      return await this.#opened.exchange(request, { signal: giveUp.signal, hear });
    } finally {
      this.#lastHeard = performance.now();
      clearTimeout(late);
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** The server keeps it for all calls that follow; a server that cannot log is not told. */
  async #setLogLevel(level: LogLevel): Promise<void> {
    if (!Object.hasOwn(this.facts.capabilities, "logging")) return;
    await this.#request("logging/setLevel", { level }).catch(this.#shrug("the log level could not be set"));
  }

  #post(message: Envelope): void {
    const sent = this.#channel.post(message, { headers: this.#session?.agreement.headers ?? {} });
    sent.catch(this.#shrug("a message could not be sent to the server"));
  }

  #listen(): void {
    const session = this.#session?.agreement;
    this.#listening?.stop();
    this.#listening = this.#channel.listen((message) => this.#hear(message), {
      ...(session !== undefined && { headers: session.headers }),
      // The next request finds out whether the session is gone, and opens a new one; a ping is one.
      lost: () => void this.#request("ping").catch(this.#shrug("the event stream is gone")),
      missed: () => this.#tellWhatMayBeMissed(),
    });
  }

  /** A new session: its event stream, log level and subscriptions start anew, and its lists may be others. */
  #renewed(): void {
    if (this.#channel.association === "stream") this.#listen();
    const level = this.#logLevel.current;
    if (level !== undefined) this.#inBackground(this.#setLogLevel(level), "setting the log level again");
    this.#subscriptions.renew();
    this.#tellWhatMayBeMissed();
  }

  /** While nobody listened anything may have changed; of resources it is told when the server listens again. */
  #tellWhatMayBeMissed(): void {
    const { observer } = this.#settings;
    for (const uri of this.#subscriptions.uris) {
      const told = this.#subscriptions.refusal(uri).then(() => observer.resourceUpdated(uri));
      this.#inBackground(told, "telling what may have been missed");
    }
    for (const kind of LIST_KINDS) observer.listChanged(kind);
  }

  /** The error that the server answers with, if it does; what it cannot be asked is not refused. */
  async #subscribe(
    method: "resources/subscribe" | "resources/unsubscribe",
    uri: string,
  ): Promise<RpcError | undefined> {
    try {
      return (await this.#request(method, { uri })).message.error;
    } catch (error) {
      this.#shrug(`${method} failed`)(error);
      return undefined;
    }
  }

  /** A message that is no response; `on` is the call on whose own stream it came. */
  #hear(message: Envelope, on?: RunningCall): void {
    this.#lastHeard = performance.now();
    if (isRequest(message)) this.#questions.hear(message, on);
    else if (isNotification(message) && !isAmbiguous(message, this.#settings)) {
      this.#notifications.hear(message, on);
    }
  }

  #inBackground(work: Promise<unknown>, what: string): void {
    inBackground(work, this.#settings.log, what);
  }

  #shrug(sentence: string): (error: unknown) => void {
    return (error) => this.#settings.log.debug({ server: this.#settings.server, error }, sentence);
  }
}

const UNKNOWN_FRESHNESS = { ttlMs: 0, scope: "private" } as const;
const EMPTY: ServerList = { items: [], freshness: UNKNOWN_FRESHNESS };
