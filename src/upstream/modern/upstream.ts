/** One open conversation with a 2026-07-28 server: no session, every request says all there is to know. */

import { inBackground } from "../../core/background.js";
import type { Call, Freshness, InputAnswers, Reply } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { type Malformed, malformedEntry } from "../../core/list-entries.js";
import type { StopSignal } from "../../core/stop.js";
import type { FollowedTasks, TaskListener } from "../../core/tasks.js";
import { LIST_KINDS, type ListKind, type ServerFacts, type ServerList } from "../../core/upstream.js";
import { canonicalText } from "../../wire/canonical.js";
import {
  codeOf,
  type Envelope,
  isNotification,
  type Notification,
  type RpcError,
} from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import type { MessageId } from "../../wire/message-id.js";
import { CODE, MODERN_REVISION } from "../../wire/names.js";
import { paramHeaders } from "../../wire/param-headers.js";
import { Payload } from "../../wire/payload.js";
import type { Connection } from "../connection.js";
import { whyGivenUp } from "../conversation/given-up.js";
import { isModernRefusal } from "../conversation/hop-errors.js";
import { nextId } from "../conversation/ids.js";
import { OpenCall, OpenCalls } from "../conversation/open-calls.js";
import { LISTS, walkPages } from "../conversation/pages.js";
import { askerName, presentAll } from "../conversation/questions.js";
import { isAmbiguous, readQuestions, unaskable } from "../conversation/read-questions.js";
import type { ConversationSettings } from "../conversation/settings.js";
import type { Answer, Channel } from "../transport/channel.js";
import { Listeners } from "./listeners.js";
import { Offers } from "./offers.js";
import { withoutParamHeaders } from "./param-headers.js";
import { readCapabilities, readFacts } from "./probe.js";
import { readFreshness, readReply } from "./read-reply.js";
import type { OpenStream } from "./subscriptions.js";
import { TaskStreams } from "./task-streams.js";
import { type Speaker, type WrittenRequest, writeCall, writeRequest } from "./write-call.js";

export interface ModernSettings extends ConversationSettings {
  /** What the server found by the probe says of itself. */
  readonly facts: ServerFacts;
  /** What is promised for one client: its own capabilities, of those that the gateway can relay. */
  readonly promise: (client: Client) => JsonObject;
}

type UsableTools = Pick<ServerList, "items"> & { readonly malformed: readonly Malformed[] };

/** How long (ms) a server may take to say what it offers to clients of one kind. */
const DISCOVER_MS = 5_000;

export class ModernConnection implements Connection {
  readonly revision = MODERN_REVISION;
  readonly closed: Promise<GatewayError>;
  readonly #channel: Channel;
  readonly #settings: ModernSettings;
  #facts: ServerFacts;
  readonly #calls = new OpenCalls();
  readonly #listeners: Listeners;
  readonly #offers: Offers;
  readonly #taskStreams = new TaskStreams((params, hear, client) =>
    this.#openStream(params, hear, this.#speaker(client)),
  );
  readonly #listening: { stop(): void } | undefined;
  readonly #stopHearing: (() => void) | undefined;
  #lose: (cause: GatewayError) => void = () => {};
  #lastHeard = performance.now();
  #isLooking = false;

  /** `channel` is the connection's own from now on. */
  constructor(channel: Channel, settings: ModernSettings) {
    this.#channel = channel;
    this.#settings = settings;
    this.#facts = settings.facts;
    this.closed = new Promise((resolve) => {
      this.#lose = resolve;
    });
    inBackground(channel.closed.then(this.#lose), settings.log, "the end of a connection");
    // There is no stream beside the requests in this era; on a pipe everything comes mixed.
    if (channel.association === "pipe") this.#listening = channel.listen((message) => this.#hear(message));
    this.#listeners = new Listeners({
      server: settings.server,
      capabilities: () => this.#facts.capabilities,
      observer: settings.observer,
      log: settings.log,
      open: (params, hear, capabilities = {}) =>
        this.#openStream(params, hear, { info: settings.gateway, capabilities }),
      reopened: () => this.#lookAgain(),
      isGateway: () => this.#facts.instance !== undefined,
    });
    this.#stopHearing = channel.onMoved?.(() => this.#listeners.renew());
    this.#offers = new Offers(settings.facts.capabilities, (promised) => this.#discover(promised));
  }

  get facts(): ServerFacts {
    return this.#facts;
  }

  get quietSince(): number | undefined {
    return this.#calls.size > 0 ? undefined : this.#lastHeard;
  }

  readonly call = (call: Call): Promise<Reply> => this.#send(call, call.route?.item, true);

  async list(kind: ListKind, signal: StopSignal, client?: Client): Promise<ServerList> {
    const speaker = this.#speaker(client);
    this.#listeners.listed(speaker.capabilities);
    const offered = await this.#offers.to(speaker.capabilities);
    if (!Object.hasOwn(offered, LISTS[kind].capability)) return { items: [], freshness: STALE };
    const { server, log } = this.#settings;
    const ask = async (method: string, params: JsonObject = {}): Promise<Envelope> =>
      (await this.#request(writeRequest(method, params, nextId(), speaker), signal)).message;
    const { items, pages, malformed } = await walkPages({ server, kind, log, ask });
    const times = pages.map(readFreshness);
    const freshness = times.map((one) => one ?? STALE).reduce(lesser, FRESHEST);
    const isTimed = times.every((one) => one !== undefined);
    if (kind !== "tools") return { items, freshness, isTimed, malformed };
    const tools = this.#usable(items);
    return { items: tools.items, freshness, isTimed, malformed: [...malformed, ...tools.malformed] };
  }

  follow(uri: string): () => void {
    return this.#listeners.follow(uri);
  }

  refusal(uri: string): Promise<RpcError | undefined> {
    return this.#listeners.refusal(uri);
  }

  followTasks(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<FollowedTasks> {
    return this.#taskStreams.follow(ids, client, listener);
  }

  /** Any answer to `server/discover` is a sign of life, mostly an error too; and a result tells what has changed. */
  async check(signal: StopSignal): Promise<void> {
    const discover = writeRequest("server/discover", {}, nextId(), this.#speaker());
    const answer = await this.#request(discover, signal);
    const { result, error } = answer.message;
    if (Array.isArray(result?.supportedVersions)) this.#learn(readFacts(result));
    else if (error?.code === CODE.methodNotFound || isOfOlder(answer)) throw this.#outgrown();
  }

  async close(): Promise<void> {
    this.#stopHearing?.();
    this.#listeners.stop();
    this.#taskStreams.stop();
    this.#listening?.stop();
    await this.#channel.close();
  }

  #read(call: Call, message: Envelope): Reply {
    const { server, aggregated } = this.#settings;
    const reply = readReply(server, call, message);
    const asks = reply.kind === "input_required";
    if (!asks && (reply.kind !== "result" || call.method !== "tasks/get")) return reply;
    const presentation = { asker: askerName(server, this.facts.serverInfo), aggregated: aggregated() };
    if (asks) return { ...reply, requests: presentAll(reply.requests, presentation) };
    // A task asks in its own result, and is answered by `tasks/update` (SEP-2663, "Task Update Requests").
    const asked = objectAt(reply.result.object, "inputRequests");
    if (asked === undefined) return reply;
    const { value, fault } = readQuestions(asked);
    if (fault !== undefined) return { kind: "error", error: unaskable(server, fault) };
    const inputRequests = presentAll(value, presentation);
    return { ...reply, result: Payload.ofObject({ ...reply.result.object, inputRequests }) };
  }

  /** `item`: the tool's list entry. One function for all of it: each that only passes a call on costs 0.3 µs. */
  async #send(call: Call, item: JsonObject | undefined, mayBeOld: boolean): Promise<Reply> {
    const { signal, client, logLevel, answers } = call;
    if (answers?.refusals !== undefined) requireAnswers(this.#settings.server, answers);
    const open = new OpenCall(nextId(), call);
    this.#calls.add(open);
    // Over HTTP the end of the response stream is the cancellation (basic/patterns/cancellation); a pipe has none.
    const untold = this.#channel.association === "pipe" && !signal.aborted;
    if (untold) open.attach(call, () => this.#tellCancelled(open.id, signal));
    let message: Envelope;
    try {
      const { request, headers } = writeCall(call, open.id, this.#speaker(client, logLevel), item);
      const hear = (heard: Envelope): void => this.#hear(heard, open);
      const answer = await this.#channel.exchange(request, { headers, signal, hear });
      ({ message } = answer);
      if (message.error !== undefined) this.#suspect(answer);
    } finally {
      open.detach();
      this.#lastHeard = performance.now();
      this.#calls.remove(open, client.affinity, this.#lastHeard);
    }
    if (mayBeOld && message.error?.code === CODE.headerMismatch && call.method === "tools/call") {
      // The tool's schema, and with it the headers it asks for, has changed since it was listed.
      return this.#send(call, await this.#relist(call), false);
    }
    return this.#read(call, message);
  }

  async #request(
    { request, headers }: WrittenRequest,
    signal: StopSignal,
    hear: (message: Envelope) => void = (message) => this.#hear(message),
  ): Promise<Answer> {
    const tell =
      this.#channel.association === "pipe" ? () => this.#tellCancelled(request.id, signal) : undefined;
    if (tell !== undefined && !signal.aborted) signal.addEventListener("abort", tell, { once: true });
    try {
      const answer = await this.#channel.exchange(request, { headers, signal, hear });
      if (answer.message.error !== undefined) this.#suspect(answer);
      return answer;
    } finally {
      if (tell !== undefined) signal.removeEventListener("abort", tell);
      this.#lastHeard = performance.now();
    }
  }

  async #discover(capabilities: JsonObject): Promise<JsonObject> {
    const speaker = { info: this.#settings.gateway, capabilities };
    const { message } = await this.#request(
      writeRequest("server/discover", {}, nextId(), speaker),
      AbortSignal.timeout(DISCOVER_MS),
    );
    if (message.result === undefined) throw new TypeError("the server answered with an error");
    return readCapabilities(message.result);
  }

  /** @throws GatewayError when the error says that the server was replaced; where it may have been, it is asked. */
  #suspect(answer: Answer): void {
    if (answer.message.error?.code === CODE.unsupportedProtocolVersion) throw this.#outgrown();
    if (isOfOlder(answer)) this.#lookAgain();
  }

  /** Asks who it is that answers now, one time after the other. */
  #lookAgain(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { server, log } = this.#settings;
    this.check(AbortSignal.timeout(DISCOVER_MS))
      .catch((error: unknown) => log.debug({ server, error }, "the server does not say what it offers"))
      .finally(() => {
        this.#isLooking = false;
      });
  }

  /** The server may have been replaced by one that offers other things. Without a session nothing else tells. */
  #learn(facts: ServerFacts): void {
    const before = this.#facts;
    this.#facts = facts;
    if (canonicalText(facts.capabilities) === canonicalText(before.capabilities)) return;
    this.#offers.renew(facts.capabilities);
    this.#listeners.refilter();
    for (const kind of LIST_KINDS) this.#settings.observer.listChanged(kind);
  }

  #tellCancelled(requestId: MessageId, signal: StopSignal): void {
    const params = { requestId, reason: whyGivenUp(signal) };
    const told = this.#channel.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    told.catch((error: unknown) => {
      this.#settings.log.debug({ server: this.#settings.server, error }, "a cancellation could not be sent");
    });
  }

  #openStream(params: JsonObject, hear: (message: Envelope) => void, speaker: Speaker): OpenStream {
    const end = new AbortController();
    const id = nextId();
    const ended = this.#request(writeRequest("subscriptions/listen", params, id, speaker), end.signal, hear);
    return { id, ended, close: () => end.abort() };
  }

  #speaker(client?: Client, logLevel?: string): Speaker {
    return {
      info: client?.info ?? this.#settings.gateway,
      capabilities: client === undefined ? {} : this.#settings.promise(client),
      ...(logLevel !== undefined && { logLevel }),
    };
  }

  async #relist(call: Call): Promise<JsonObject | undefined> {
    const { items } = await this.list("tools", call.signal, call.client);
    this.#settings.observer.listChanged("tools");
    return items.find((item) => item.name === stringAt(call.params, "name"));
  }

  /** Over HTTP a tool with wrong annotations must go; on a pipe they mean nothing, and would mislead HTTP hosts. */
  #usable(tools: readonly JsonObject[]): UsableTools {
    if (this.#channel.association === "pipe") return { items: tools.map(withoutParamHeaders), malformed: [] };
    const malformed: Malformed[] = [];
    const items = tools.filter((tool, place) => {
      const { fault } = paramHeaders(tool.inputSchema);
      if (fault === undefined) return true;
      malformed.push(
        malformedEntry("tools", tool, place, { member: "inputSchema", reason: `cannot be used: ${fault}` }),
      );
      return false;
    });
    return { items, malformed };
  }

  /** The server was replaced by one of another revision; whoever holds this connection must meet it anew. */
  #outgrown(): GatewayError {
    const { server } = this.#settings;
    const sentence = `${server} no longer speaks the revision it was met with`;
    const error = new GatewayError("upstream_unavailable", "upstream", sentence, { server, retryable: true });
    this.#lose(error);
    return error;
  }

  /** A message that is no response; `on` is the call on whose own stream it came. */
  #hear(message: Envelope, on?: OpenCall): void {
    this.#lastHeard = performance.now();
    if (!isNotification(message) || isAmbiguous(message, this.#settings)) return;
    if (this.#listeners.hear(message) || this.#taskStreams.hear(message)) return;
    const whose = on ?? this.#whose(message);
    whose?.hear(message);
    if (whose !== undefined) return;
    const facts = { server: this.#settings.server, method: message.method };
    this.#settings.log.debug(facts, "a notification belongs to no call");
  }

  #whose(message: Notification): OpenCall | undefined {
    if (message.method === "notifications/message") {
      // A server logs only for requests that named a level, so the others cannot be meant.
      return this.#calls.only((call) => call.logLevel !== undefined);
    }
    return (
      this.#calls.named(message.params) ??
      (message.method === "notifications/progress" ? undefined : this.#calls.only())
    );
  }
}

/**
 * A round is made again with all answers or not at all: a client must construct every input that is asked for
 * (basic/patterns/mrtr, "Client Requirements"), and this era has no way to say that one was refused.
 *
 * @throws GatewayError `denied`
 */
function requireAnswers(server: string, { responses, refusals = {} }: InputAnswers): void {
  const [key] = Object.keys(refusals).filter((one) => !Object.hasOwn(responses, one));
  if (key === undefined) return;
  const why = refusals[key]?.message ?? "";
  const sentence = `${server} needs an answer that the client cannot or will not give: ${why}`;
  throw new GatewayError("denied", "downstream", sentence, { server });
}

/**
 * Whether a request was refused as servers of the other era refuse what they do not understand; those of this one have
 * codes of their own for that, and -32602 (basic/transports/streamable-http, "Server Validation").
 */
const isOfOlder = ({ status, message: { error } }: Answer): boolean =>
  status === 400 && error !== undefined && codeOf(error) !== CODE.invalidParams && !isModernRefusal(error);

const STALE: Freshness = { ttlMs: 0, scope: "private" };
const FRESHEST: Freshness = { ttlMs: Number.MAX_SAFE_INTEGER, scope: "public" };

const lesser = (a: Freshness, b: Freshness): Freshness => ({
  ttlMs: Math.min(a.ttlMs, b.ttlMs),
  scope: a.scope === "private" || b.scope === "private" ? "private" : "public",
});
