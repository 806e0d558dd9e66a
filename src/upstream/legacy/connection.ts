/** What can be done over a connection that was opened by `initialize` (revisions up to 2025-11-25)? */
import {
  type Call,
  type InputResponses,
  type LogLevel,
  NOT_CACHEABLE,
  type Notice,
  type Reply,
} from "../../core/call.js";
import type { GatewayError } from "../../core/errors.js";
import { LIST_KINDS, LISTS } from "../../core/lists.js";
import { inBackground } from "../../core/logger.js";
import { type StopSignal, unlessAborted } from "../../core/stop.js";
import type { ServerFacts, ServerList } from "../../core/upstream.js";
import { type Envelope, isNotification, isRequest, type RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import type { Connection, ProtocolSettings } from "../connection.js";
import { listAllPages } from "../protocol/pagination.js";
import { displayNameOf, isAmbiguous, type Presentation } from "../protocol/questions.js";
import type { Channel, ChannelResponse } from "../transport/channel.js";
import { cancelled, LegacyCalls } from "./calls.js";
import { requireConsent, VisitedLinks } from "./messages.js";
import { type OwnRequestSettings, sendOwnRequest } from "./own-requests.js";
import type { RunningCall } from "./running-call.js";
import { NotificationRouter } from "./server-notifications.js";
import { ServerRequests } from "./server-questions.js";
import { Session } from "./session.js";
import { ConnectionLogLevel, ResourceSubscriptions } from "./session-state.js";
import type { HandshakeOffer, LegacySettings } from "./settings.js";
import { TaskProgress } from "./tasks.js";

/** A connection to a server that opens sessions; over HTTP a lost session is opened again. */
export class LegacyConnection implements Connection {
  readonly closed: Promise<GatewayError>;
  readonly #channel: Channel;
  readonly #settings: ProtocolSettings;
  readonly #calls: LegacyCalls;
  readonly #serverRequests: ServerRequests;
  readonly #notifications: NotificationRouter;
  readonly #ownRequests: OwnRequestSettings;
  readonly #subscriptions: ResourceSubscriptions;
  readonly #logLevel = new ConnectionLogLevel((level) => this.#setLogLevel(level));
  readonly #visitedLinks = new VisitedLinks();
  #session: Session | undefined;
  #eventStream: { stop(): void } | undefined;
  #resolveClosed: (cause: GatewayError) => void = () => {};
  #lastReceivedAt = performance.now();

  private constructor(
    channel: Channel,
    settings: ProtocolSettings,
    { questions, owner, onTaskStatus, onRootsAsked, remembered }: LegacySettings,
    { advertised }: HandshakeOffer,
  ) {
    this.#channel = channel;
    this.#settings = settings;
    const { server, log, observer } = settings;
    const { directory, parked, pace, roots, onRefused } = questions;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#inBackground(channel.closed.then(this.#resolveClosed), "the end of a connection");
    const post = (message: Envelope): void => this.#post(message);
    this.#ownRequests = {
      ...{ server, post, ids: settings.ids },
      exchange: (request, signal) =>
        this.#openSession.exchange(request, { signal, onMessage: (message) => this.#receive(message) }),
    };
    const presentation = (): Presentation => this.#presentation;
    const taskProgress = new TaskProgress(directory);
    this.#calls = new LegacyCalls({
      server,
      ids: settings.ids,
      parked,
      pace,
      remembered,
      taskProgress,
      presentation,
      post,
      capabilities: () => this.facts.capabilities,
      peer: () => this.#openSession.negotiated,
      exchange: (request, running, signal) => {
        running.recordSent(request);
        const onMessage = (message: Envelope): void => this.#receive(message, running);
        return this.#openSession.exchange(request, { signal, onMessage, responseObserver: running });
      },
    });
    this.#serverRequests = new ServerRequests({
      server,
      log,
      advertised,
      owner,
      remembered,
      onRootsAsked,
      directory,
      roots,
      presentation,
      calls: () => this.#calls.open.all,
      mayBeLate: (call) => this.#calls.mayBeLate(call),
      isAlone: this.#calls.isAlone,
      isOrdered: channel.association === "pipe",
      respond: post,
      ping: () => this.#request("ping"),
      onRefused,
    });
    this.#notifications = new NotificationRouter({
      server,
      log,
      observer,
      owner,
      directory,
      onTaskStatus,
      calls: this.#calls.open,
      taskProgress,
      onQuestionCancelled: (id) => this.#serverRequests.cancelQuestion(id),
      onElicitationComplete: (id) => this.#visitedLinks.complete(id),
    });
    this.#subscriptions = new ResourceSubscriptions({
      capabilities: () => this.facts.capabilities,
      send: (method, uri) => this.#subscribe(method, uri),
    });
  }

  /**
   * Performs the handshake over `channel`, which the connection owns and closes from then on.
   *
   * @throws HandshakeRefused, or a GatewayError of the channel; the channel stays open then.
   */
  static async open(
    channel: Channel,
    settings: ProtocolSettings,
    legacy: LegacySettings,
    offer: HandshakeOffer,
    signal: StopSignal,
  ): Promise<LegacyConnection> {
    const connection = new LegacyConnection(channel, settings, legacy, offer);
    const { roots } = legacy.questions;
    // On a pipe the server may send messages the moment it has read `initialized`.
    if (channel.association === "pipe") connection.#listen();
    try {
      connection.#session = await Session.open(
        channel,
        {
          server: settings.server,
          log: settings.log,
          gateway: settings.gateway,
          ids: settings.ids,
          random: legacy.random,
          revision: offer.revision,
          capabilities: { ...(roots !== undefined && { roots: {} }), ...offer.advertised },
          handshakeTimeoutMs: offer.timeoutMs,
          onInitialized: () => connection.#serverRequests.sessionOpened(),
          onRenewed: () => connection.#onSessionRenewed(),
          onLost: connection.#resolveClosed,
        },
        signal,
      );
    } catch (error) {
      connection.#eventStream?.stop();
      throw error;
    }
    if (channel.association === "stream") connection.#listen();
    return connection;
  }

  get facts(): ServerFacts {
    return this.#openSession.negotiated.facts;
  }

  get revision(): string {
    return this.#openSession.negotiated.revision;
  }

  get keepsSession(): boolean {
    return this.#channel.association === "pipe" || this.#openSession.negotiated.sessionId !== undefined;
  }

  get idleSince(): number | undefined {
    const { size, lastEndedAt } = this.#calls.open;
    return size > 0 ? undefined : Math.max(this.#lastReceivedAt, lastEndedAt);
  }

  get lastCallEndedAt(): number {
    return this.#calls.open.lastEndedAt;
  }

  whenRootsTold(afterOpenMs: number, signal: StopSignal): Promise<boolean> {
    return this.#serverRequests.whenRootsTold(afterOpenMs, signal);
  }

  readonly call = (call: Call): Promise<Reply> => {
    if (call.inputResponses !== undefined) return this.#callWith(call.inputResponses, call);
    const raised = this.#raiseLogLevel(call);
    return raised === undefined ? this.#calls.run(call) : raised.then(() => this.#calls.run(call));
  };

  async #callWith(answers: InputResponses, call: Call): Promise<Reply> {
    const links = answers.state?.links;
    if (links !== undefined) {
      requireConsent(this.#settings.server, answers);
      await this.#visitedLinks.whenDone(links, call.signal);
    }
    await this.#raiseLogLevel(call);
    return this.#calls.run(call);
  }

  /** Undefined where the log level of the server is verbose enough for `call`. */
  #raiseLogLevel(call: Call): Promise<void> | undefined {
    const raised = this.#logLevel.raise(call.logLevel, call.client.session);
    // The level belongs to the connection: it is set for later calls too, also when this one is cancelled.
    return raised && unlessAborted(raised, call.signal, () => cancelled(this.#settings.server, call.signal));
  }

  async list(...[kind, signal, , before]: Parameters<Connection["list"]>): Promise<ServerList> {
    if (!Object.hasOwn(this.facts.capabilities, LISTS[kind].capability)) return EMPTY;
    const { server, log } = this.#settings;
    const request = async (method: string, params?: JsonObject): Promise<Envelope> =>
      (await this.#request(method, params, signal)).message;
    const { items, malformed } = await listAllPages({ server, kind, log, before, request });
    return { items, freshness: NOT_CACHEABLE, malformed };
  }

  subscribe(uri: string): void {
    this.#subscriptions.subscribe(uri);
  }

  unsubscribe(uri: string): void {
    this.#subscriptions.unsubscribe(uri);
  }

  subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#subscriptions.subscriptionError(uri);
  }

  notify({ method, params }: Notice): void {
    this.#post({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  }

  /** Any response to a ping shows that the server is alive, an error too. */
  async checkHealth(signal: StopSignal): Promise<void> {
    await this.#request("ping", undefined, signal);
  }

  async close(): Promise<void> {
    this.#serverRequests.close();
    this.#eventStream?.stop();
    const session = this.#session?.negotiated;
    await this.#channel.close(session?.sessionId === undefined ? undefined : { headers: session.headers });
  }

  get #openSession(): Session {
    if (this.#session === undefined) throw new TypeError("the handshake is not finished");
    return this.#session;
  }

  get #presentation(): Presentation {
    const { server, isAggregated } = this.#settings;
    return {
      displayName: displayNameOf(server, this.#session?.negotiated.facts.serverInfo ?? {}),
      aggregated: isAggregated(),
    };
  }

  /** A request of the gateway's own; without a `signal` it has a timeout. */
  async #request(method: string, params?: JsonObject, signal?: StopSignal): Promise<ChannelResponse> {
    try {
      const answer = await sendOwnRequest(this.#ownRequests, method, params, signal);
      this.#serverRequests.serverAnswered();
      return answer;
    } finally {
      this.#lastReceivedAt = performance.now();
    }
  }

  /** The server keeps the level for all later calls; it is sent only where `logging` is advertised. */
  async #setLogLevel(level: LogLevel): Promise<void> {
    if (!Object.hasOwn(this.facts.capabilities, "logging")) return;
    await this.#request("logging/setLevel", { level }).catch(
      this.#logFailure("the log level could not be set"),
    );
  }

  #post(message: Envelope): void {
    const sent = this.#channel.post(message, { headers: this.#session?.negotiated.headers ?? {} });
    sent.catch(this.#logFailure("a message could not be sent to the server"));
  }

  #listen(): void {
    const session = this.#session?.negotiated;
    this.#eventStream?.stop();
    this.#eventStream = this.#channel.listen((message) => this.#receive(message), {
      ...(session !== undefined && { headers: session.headers }),
      // The next request detects a lost session and opens a new one; a ping does so at once.
      onLost: () => void this.#request("ping").catch(this.#logFailure("the event stream is gone")),
      onMissed: () => this.#notifyMissedChanges(),
    });
  }

  /** A new session: event stream, log level and subscriptions are set up again, and lists may have changed. */
  #onSessionRenewed(): void {
    // Answers to questions of the lost session would be taken for those of the new one, whose ids may be the same.
    this.#serverRequests.close();
    for (const call of this.#calls.open.all) call.dropQuestions();
    if (this.#channel.association === "stream") this.#listen();
    const renewed = this.#logLevel.renew();
    if (renewed !== undefined) this.#inBackground(renewed, "setting the log level in a new session");
    this.#subscriptions.resubscribe();
    this.#notifyMissedChanges();
  }

  /** While no stream was open anything may have changed; resources are notified once they are subscribed to again. */
  #notifyMissedChanges(): void {
    const { observer } = this.#settings;
    for (const uri of this.#subscriptions.uris) {
      const notified = this.#subscriptions.subscriptionError(uri).then(() => observer.resourceUpdated(uri));
      this.#inBackground(notified, "notifying missed resource updates");
    }
    for (const kind of LIST_KINDS) observer.listChanged(kind);
  }

  /** The error of the response, if it is one; a request that could not be sent is no refusal. */
  async #subscribe(
    method: "resources/subscribe" | "resources/unsubscribe",
    uri: string,
  ): Promise<RpcError | undefined> {
    try {
      return (await this.#request(method, { uri })).message.error;
    } catch (error) {
      this.#logFailure(`${method} failed`)(error);
      return undefined;
    }
  }

  /** Takes a request or notification; `on` is the call on whose own stream it came. */
  #receive(message: Envelope, on?: RunningCall): void {
    this.#lastReceivedAt = performance.now();
    if (isRequest(message)) this.#serverRequests.handle(message, on);
    else if (isNotification(message) && !isAmbiguous(message, this.#settings)) {
      this.#notifications.route(message, on);
    }
  }

  #inBackground(work: Promise<unknown>, what: string): void {
    inBackground(work, this.#settings.log, what);
  }

  #logFailure(sentence: string): (error: unknown) => void {
    return (error) => this.#settings.log.debug({ server: this.#settings.server, error }, sentence);
  }
}

const EMPTY: ServerList = { items: [], freshness: NOT_CACHEABLE };
