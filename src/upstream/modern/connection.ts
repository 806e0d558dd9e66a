/** What can be done over a connection to a 2026-07-28 server? It has no session: every request carries all it needs. */

import { type Call, mergedFreshness, NOT_CACHEABLE, type Reply } from "../../core/call.js";
import type { TraceContext } from "../../core/call-record.js";
import type { Client } from "../../core/client.js";
import type { GatewayError } from "../../core/errors.js";
import { LIST_KINDS, LISTS, type ListKind } from "../../core/lists.js";
import { inBackground } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import type { TaskListener, TaskSubscription } from "../../core/tasks.js";
import type { ServerFacts, ServerList } from "../../core/upstream.js";
import {
  type Envelope,
  isNotification,
  type MessageId,
  type Notification,
  type RpcError,
} from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { CODE, META, MODERN_REVISION } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import type { Connection, ProtocolSettings } from "../connection.js";
import { cancelReason, OpenCall, OpenCalls } from "../protocol/open-calls.js";
import { listAllPages } from "../protocol/pagination.js";
import {
  displayNameOf,
  invalidQuestionError,
  isAmbiguous,
  presentQuestions,
  readQuestions,
} from "../protocol/questions.js";
import type { Channel, ChannelResponse } from "../transport/channel.js";
import { Discovery } from "./discovery.js";
import { ListenStreams, TaskStreams } from "./listen-streams.js";
import {
  type RequestIdentity,
  RequestWriter,
  readFreshness,
  readReply,
  requireAnswers,
  type WrittenRequest,
} from "./messages.js";
import { notifyChange, type OpenStream } from "./subscriptions.js";
import { usableTools } from "./tool-headers.js";

/** The capabilities that are advertised for one client: its own, of those that the gateway can relay. */
export type AdvertisedFor = (client: Client) => JsonObject;

/** A connection without a session, with its listen streams. */
export class ModernConnection implements Connection {
  readonly revision = MODERN_REVISION;
  readonly closed: Promise<GatewayError>;
  readonly #channel: Channel;
  readonly #settings: ProtocolSettings;
  readonly #advertisedFor: AdvertisedFor;
  readonly #calls = new OpenCalls();
  readonly #writer = new RequestWriter();
  readonly #listenStreams: ListenStreams;
  readonly #discovery: Discovery;
  readonly #taskStreams = new TaskStreams((params, onMessage, client) =>
    this.#openStream(params, onMessage, this.#identityOf(client)),
  );
  readonly #pipeListener: { stop(): void } | undefined;
  readonly #unwatchAddress: (() => void) | undefined;
  #resolveClosed: (cause: GatewayError) => void = () => {};
  #lastReceivedAt = performance.now();

  /** Owns and closes `channel` from now on. `facts` are those of the probe. */
  constructor(
    channel: Channel,
    settings: ProtocolSettings,
    facts: ServerFacts,
    advertisedFor: AdvertisedFor,
  ) {
    this.#channel = channel;
    this.#settings = settings;
    this.#advertisedFor = advertisedFor;
    const { server, log, observer } = settings;
    this.#discovery = new Discovery(facts, {
      ...{ server, log },
      send: (capabilities, signal) => this.#discover(capabilities, signal),
      onReplaced: (reason) => this.#resolveClosed(reason),
      onChanged: () => {
        this.#listenStreams.refilter();
        for (const kind of LIST_KINDS) observer.listChanged(kind);
      },
    });
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    inBackground(channel.closed.then(this.#resolveClosed), log, "the end of a connection");
    // In this era there is no stream beside the requests; on a pipe all messages share one.
    if (channel.association === "pipe")
      this.#pipeListener = channel.listen((message) => this.#receive(message));
    this.#listenStreams = new ListenStreams({
      ...{ server, observer, log },
      capabilities: () => this.facts.capabilities,
      open: (params, onMessage, capabilities = {}) =>
        this.#openStream(params, onMessage, { info: settings.gateway, capabilities }),
      onReopened: () => this.#discovery.refresh(),
      isGateway: () => this.facts.instance !== undefined,
    });
    this.#unwatchAddress = channel.onAddressChange?.(() => this.#listenStreams.reopen());
  }

  get facts(): ServerFacts {
    return this.#discovery.facts;
  }

  get idleSince(): number | undefined {
    return this.#calls.size > 0 ? undefined : this.#lastReceivedAt;
  }

  get lastCallEndedAt(): number {
    return this.#calls.lastEndedAt;
  }

  readonly call = (call: Call): Promise<Reply> => this.#send(call, call.route?.item, true);

  async list(
    kind: ListKind,
    signal: StopSignal,
    client?: Client,
    before?: readonly JsonObject[],
  ): Promise<ServerList> {
    const identity = this.#identityOf(client);
    this.#listenStreams.ensureStreamFor(identity.capabilities);
    const offered = await this.#discovery.capabilitiesFor(identity.capabilities);
    if (!Object.hasOwn(offered, LISTS[kind].capability)) return { items: [], freshness: NOT_CACHEABLE };
    const { server, log } = this.#settings;
    const request = async (method: string, params: JsonObject = {}): Promise<Envelope> =>
      (await this.#request(this.#writer.request(method, params, this.#nextId(), identity), signal)).message;
    const { items, pages, malformed } = await listAllPages({ server, kind, log, before, request });
    const times = pages.map(readFreshness);
    const freshness = mergedFreshness(times.map((one) => one ?? NOT_CACHEABLE));
    const hasTtl = times.every((one) => one !== undefined);
    if (kind !== "tools") return { items, freshness, hasTtl, malformed };
    const tools = usableTools(items, this.#channel);
    return { items: tools.items, freshness, hasTtl, malformed: [...malformed, ...tools.malformed] };
  }

  subscribe(uri: string): void {
    this.#listenStreams.subscribe(uri);
  }

  unsubscribe(uri: string): void {
    this.#listenStreams.unsubscribe(uri);
  }

  subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#listenStreams.subscriptionError(uri);
  }

  followTasks(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription> {
    return this.#taskStreams.follow(ids, client, listener);
  }

  checkHealth(signal: StopSignal): Promise<void> {
    return this.#discovery.check(signal);
  }

  async close(): Promise<void> {
    this.#unwatchAddress?.();
    this.#listenStreams.stop();
    this.#taskStreams.stop();
    this.#pipeListener?.stop();
    await this.#channel.close();
  }

  #read(call: Call, message: Envelope): Reply {
    const { server, isAggregated } = this.#settings;
    const reply = readReply(server, call, message);
    const asks = reply.kind === "input_required";
    if (!asks && (reply.kind !== "result" || call.method !== "tasks/get")) return reply;
    const presentation = {
      displayName: displayNameOf(server, this.facts.serverInfo),
      aggregated: isAggregated(),
    };
    if (asks) return { ...reply, requests: presentQuestions(reply.requests, presentation) };
    // The result of a task has its questions, which `tasks/update` answers (SEP-2663, "Task Update Requests").
    const asked = objectAt(reply.result.object, "inputRequests");
    if (asked === undefined) return reply;
    const { value, fault } = readQuestions(asked);
    if (fault !== undefined) return { kind: "error", error: invalidQuestionError(server, fault) };
    const inputRequests = presentQuestions(value, presentation);
    return { ...reply, result: Payload.ofObject({ ...reply.result.object, inputRequests }) };
  }

  /** `item` is the tool's list entry. One function: each further one on the path costs 0.3 µs a call. */
  async #send(call: Call, item: JsonObject | undefined, mayBeOld: boolean): Promise<Reply> {
    const { signal, client, logLevel, inputResponses } = call;
    if (inputResponses?.refusals !== undefined) requireAnswers(this.#settings.server, inputResponses);
    const open = new OpenCall(this.#settings.ids.next(), call);
    this.#calls.add(open);
    if (call.record !== undefined) {
      call.record.sentId = open.id;
      call.record.sentTo = this;
    }
    // Over HTTP the end of the response stream is the cancellation (basic/patterns/cancellation); a pipe has none.
    const mustNotify = this.#channel.association === "pipe" && !signal.aborted;
    if (mustNotify) open.attach(call, () => this.#sendCancelled(open.id, signal));
    let message: Envelope;
    try {
      const { request, headers } = this.#writer.call(
        call,
        open.id,
        this.#identityOf(client, logLevel, call.record?.sentTrace),
        item,
      );
      const onMessage = (received: Envelope): void => this.#receive(received, open);
      const answer = await this.#channel.exchange(request, { headers, signal, onMessage });
      ({ message } = answer);
      if (message.error !== undefined) this.#discovery.read(answer);
    } finally {
      open.detach();
      this.#lastReceivedAt = performance.now();
      this.#calls.remove(open, client.affinity, this.#lastReceivedAt);
    }
    if (mayBeOld && message.error?.code === CODE.headerMismatch && call.method === "tools/call") {
      // The tool's schema, and with it its headers, has changed since it was listed.
      return this.#send(call, await this.#relist(call), false);
    }
    return this.#read(call, message);
  }

  async #request(
    { request, headers }: WrittenRequest,
    signal: StopSignal,
    onMessage: (message: Envelope) => void = (message) => this.#receive(message),
  ): Promise<ChannelResponse> {
    const onAbort =
      this.#channel.association === "pipe" ? () => this.#sendCancelled(request.id, signal) : undefined;
    if (onAbort !== undefined && !signal.aborted) signal.addEventListener("abort", onAbort, { once: true });
    try {
      const answer = await this.#channel.exchange(request, { headers, signal, onMessage });
      if (answer.message.error !== undefined) this.#discovery.read(answer);
      return answer;
    } finally {
      if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
      this.#lastReceivedAt = performance.now();
    }
  }

  #nextId(): number {
    return this.#settings.ids.next();
  }

  #discover(capabilities: JsonObject, signal: StopSignal): Promise<ChannelResponse> {
    const identity = { info: this.#settings.gateway, capabilities };
    return this.#request(this.#writer.request("server/discover", {}, this.#nextId(), identity), signal);
  }

  #sendCancelled(requestId: MessageId, signal: StopSignal): void {
    const params = { requestId, reason: cancelReason(signal) };
    const sent = this.#channel.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    sent.catch((error: unknown) => {
      this.#settings.log.debug(
        { server: this.#settings.server, error },
        "notifications/cancelled could not be sent",
      );
    });
  }

  #openStream(
    params: JsonObject,
    onMessage: (message: Envelope) => void,
    identity: RequestIdentity,
  ): OpenStream {
    const end = new AbortController();
    const id = this.#nextId();
    const ended = this.#request(
      this.#writer.request("subscriptions/listen", params, id, identity),
      end.signal,
      onMessage,
    );
    return { id, ended, close: () => end.abort() };
  }

  #identityOf(client?: Client, logLevel?: string, trace?: TraceContext): RequestIdentity {
    return {
      info: client?.info ?? this.#settings.gateway,
      capabilities: client === undefined ? {} : this.#advertisedFor(client),
      ...(logLevel !== undefined && { logLevel }),
      trace,
    };
  }

  async #relist(call: Call): Promise<JsonObject | undefined> {
    const { items } = await this.list("tools", call.signal, call.client);
    this.#settings.observer.listChanged("tools");
    return items.find((item) => item.name === stringAt(call.params, "name"));
  }

  /** Takes a notification; `on` is the call on whose own stream it came. */
  #receive(message: Envelope, on?: OpenCall): void {
    this.#lastReceivedAt = performance.now();
    if (!isNotification(message) || isAmbiguous(message, this.#settings)) return;
    if (this.#listenStreams.receive(message) || this.#taskStreams.receive(message)) return;
    const { server, observer, log } = this.#settings;
    const { method } = message;
    const isOfStream = objectAt(message.params, "_meta")?.[META.subscriptionId] !== undefined;
    if (isOfStream || STREAM_ONLY.has(method)) {
      log.debug({ server, method }, "a notification belongs to a stream that is closed");
      return;
    }
    if (notifyChange(message, observer)) return;
    const recipient = on ?? this.#callOf(message);
    recipient?.forwardNotification(message);
    if (recipient === undefined) log.debug({ server, method }, "a notification belongs to no call");
  }

  #callOf(message: Notification): OpenCall | undefined {
    if (message.method === "notifications/message") {
      // A server logs only for requests with a log level.
      return this.#calls.soleCall((call) => call.logLevel !== undefined);
    }
    return (
      this.#calls.byProgressToken(message.params) ??
      (message.method === "notifications/progress" ? undefined : this.#calls.soleCall())
    );
  }
}

/** About a stream or a task, whose ids are the gateway's or the server's own: a host could take them for its own. */
const STREAM_ONLY: ReadonlySet<string> = new Set(["notifications/cancelled", "notifications/tasks"]);
