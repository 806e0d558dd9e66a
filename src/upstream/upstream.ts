/** One server behind the gateway as the rest of the program sees it: its calls, lists, news and state. */
import type { ServerConfig } from "../config/config.js";
import { inBackground } from "../core/background.js";
import type { Call, Notice, Reply } from "../core/call.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { StopSignal } from "../core/stop.js";
import { type FollowedTasks, TASK_METHODS, type TaskListener } from "../core/tasks.js";
import {
  type Audience,
  EVERYBODY,
  type ListKind,
  type ServerFacts,
  type ServerList,
  type Upstream,
  type UpstreamObserver,
  type UpstreamState,
} from "../core/upstream.js";
import type { RpcError } from "../wire/envelope.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import { CallsApart, MOST_OF_ONE, SETTLED_MS } from "./calls-apart.js";
import { canBeAsked, modernPromises, relayable } from "./capabilities.js";
import { connect, type Met } from "./connect.js";
import { MAY_ASK } from "./conversation/questions.js";
import { unlessAborted } from "./conversation/waiting.js";
import { FollowedResources } from "./followed-resources.js";
import { Following } from "./following.js";
import { listedBy, onward } from "./hops.js";
import { audienceFor, audienceOfRequests, IN_SESSIONS, type Lease, Leases, type Tenancy } from "./lease.js";
import { ownerOf } from "./legacy/parked-calls.js";
import { linksVisited } from "./legacy/url-elicitation.js";
import { News } from "./news.js";
import { completed, type UpstreamOptions, type UpstreamSettings } from "./options.js";
import { SessionChoice } from "./session-choice.js";
import { type SuperviseSettings, Supervisor } from "./supervise.js";
import { HttpStatusError } from "./transport/channel.js";
import { EraVerdict } from "./verdict.js";

export interface StartableUpstream extends Upstream {
  /** Begins to meet the server, and does not wait for it. */
  start(): void;
  /** Passes on what a client tells outside its calls; only a session's own connection gets it. */
  hear(client: Client, notice: Notice): void;
}

/** A server that is met when `start` is called, and kept from then on. */
export function createUpstream(server: ServerConfig, options: UpstreamOptions): StartableUpstream {
  return new SupervisedUpstream(server, completed(server, options));
}

class SupervisedUpstream implements StartableUpstream {
  readonly name: string;
  readonly #server: ServerConfig;
  readonly #settings: UpstreamSettings;
  readonly #verdict = new EraVerdict();
  readonly #news: News;
  readonly #sharedFollowing = new Following();
  readonly #followed: FollowedResources;
  readonly #shared: Supervisor;
  readonly #leases: Leases;
  readonly #apart: CallsApart;
  readonly #modernPromise: (client: Client) => JsonObject;
  readonly #sessions: SessionChoice;
  /** The lease of a client whose calls need no connection to themselves; `call` takes it without a new lookup. */
  readonly #plainLeases = new WeakMap<Client, Lease>();
  #facts: ServerFacts | undefined;
  /** Of the shared connection. */
  #era: Met["era"] | undefined;

  constructor(server: ServerConfig, settings: UpstreamSettings) {
    this.name = server.name;
    this.#server = server;
    this.#settings = settings;
    this.#sessions = new SessionChoice({
      server,
      verdict: this.#verdict,
      log: settings.log,
      refused: () => {
        // To end them now keeps them from being opened again.
        this.#endLeases();
        this.#followed.placeAgain();
      },
    });
    this.#news = new News(settings.log);
    this.#followed = new FollowedResources({
      server: server.name,
      log: settings.log,
      place: (uri, client) => this.#placeFollow(uri, client),
    });
    this.#shared = this.#supervise(undefined, settings.after);
    this.#leases = new Leases({
      server,
      log: settings.log,
      max: settings.maxLeases,
      perPrincipal: MOST_OF_ONE[server.transport.kind],
      settledMs: SETTLED_MS[server.transport.kind],
      idleMs: settings.leaseIdleMs,
      supervise: (tenancy, after) => this.#supervise(tenancy, after),
    });
    this.#apart = new CallsApart(this.#leases, server.transport.kind);
    this.#modernPromise = modernPromises(() => settings.aggregated());
  }

  get state(): UpstreamState {
    return this.#shared.state;
  }

  get lastError(): string | undefined {
    return this.#shared.lastError;
  }

  get facts(): ServerFacts | undefined {
    // A server that has forgotten its session says anew what it is, on the same connection.
    return this.#shared.met?.connection.facts ?? this.#facts;
  }

  factsFor(client: Client): ServerFacts | undefined {
    return (this.#isInSession(client) ? this.#sessions.facts : undefined) ?? this.facts;
  }

  get spoken(): readonly string[] {
    const open = [this.#shared, ...this.#leases.all().map(({ supervisor }) => supervisor)];
    return [...new Set(open.flatMap(({ met }) => met?.connection.revision ?? []))];
  }

  start(): void {
    this.#shared.start();
  }

  readonly call = (asked: Call): Promise<Reply> => {
    // Nearly always there is nothing to wait for, and nothing to choose.
    const { met } = this.#shared;
    if (met?.era !== "modern" || this.#facts?.instance !== undefined) return this.#callSomehow(asked);
    if (!this.#isInSession(asked.client)) return this.#callMet(this.#shared, met, asked);
    const lease = asked.answers === undefined ? this.#plainLeases.get(asked.client) : undefined;
    const own = lease?.supervisor.met;
    return lease !== undefined && own !== undefined && this.#leases.useAgain(lease)
      ? this.#callMet(lease.supervisor, own, asked)
      : this.#callSomehow(asked);
  };

  async #callSomehow(asked: Call): Promise<Reply> {
    // One that is not there, or was never met, may be of the other era when it comes.
    if (this.#era !== "legacy" && this.#shared.met === undefined && !this.#isInSession(asked.client))
      await this.#meet(this.#shared, asked.signal);
    const call = this.#facts?.instance === undefined ? asked : onward(asked, this.#settings.instance);
    const lease = this.#leaseFor(call.client);
    if (lease === undefined && this.#era === "modern") return await this.#callOver(this.#shared, call);
    if (call.answers?.state !== undefined && linksVisited(call.answers) === undefined) {
      return this.#resume(call, call.answers.state);
    }
    if (lease === undefined) return await this.#callOver(this.#shared, call);
    if (this.#era === "modern" && lease.supervisor.met === undefined) {
      const { supervisor } = await this.#placeFor(call.client, call.signal);
      if (supervisor === this.#shared) return await this.#callOver(supervisor, call);
    }
    const together = lease.session !== undefined || !canBeAsked(lease.promised) || !MAY_ASK.has(call.method);
    if (lease.session !== undefined || !canBeAsked(lease.promised)) this.#plainLeases.set(call.client, lease);
    if (together || isOfTask(call)) return this.#callOver(lease.supervisor, call);
    return this.#apart.run(lease, call.signal, ({ supervisor }) => this.#callOver(supervisor, call));
  }

  audience(client: Client): Audience {
    if (this.#era !== "modern") return audienceFor(this.#server.lease, client, this.#promise(client));
    if (this.#sessions.has(client)) return this.#sessions.audience(client, this.#promise(client));
    // One connection serves all, and what is promised goes with each request.
    const promised = this.#modernPromise(client);
    return Object.keys(promised).length === 0 ? EVERYBODY : audienceOfRequests(promised);
  }

  async list(kind: ListKind, client: Client | undefined, signal: StopSignal): Promise<ServerList> {
    if (this.#era === undefined) await this.#meet(this.#shared, signal);
    const { supervisor, met } = await this.#placeFor(client, signal);
    if (client !== undefined && met.era === "modern") this.#news.remember(this.audience(client));
    try {
      const list = await met.connection.list(kind, signal, client);
      const { instance } = met.connection.facts;
      if (instance === undefined) return list;
      return { ...list, items: listedBy(instance, this.#settings.instance, list.items) };
    } catch (error) {
      throw suspected(error, supervisor, met);
    }
  }

  follow(uri: string, client: Client | undefined): () => void {
    return this.#followed.follow(uri, client);
  }

  async followTasks(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<FollowedTasks> {
    // Who is not there has agreed to tell of nothing; its client goes on asking.
    const met = this.#shared.met;
    return met?.connection.followTasks?.(ids, client, listener) ?? { ids: [], stop: () => {} };
  }

  async refusal(uri: string, client: Client): Promise<RpcError | undefined> {
    const lease = this.#leaseFor(client);
    await lease?.supervisor.connection().catch(() => {});
    // One that opens no sessions was found out just now.
    const isStillLeased = lease !== undefined && this.#leaseFor(client) === lease;
    return (isStillLeased ? lease.following : this.#sharedFollowing).refusal(uri);
  }

  seek(): Promise<void> {
    return this.#shared.connection().then(
      () => {},
      // Why it failed is told by its state and by the log.
      () => {},
    );
  }

  watch(observer: UpstreamObserver): () => void {
    return this.#news.watch(observer);
  }

  hear(client: Client, notice: Notice): void {
    const lease = this.#leases.get(this.audience(client).key);
    if (notice.method !== "notifications/roots/list_changed" || lease === undefined) return;
    if (objectAt(lease.promised, "roots")?.listChanged !== true) return;
    lease.supervisor.met?.connection.tell?.(notice);
  }

  release(affinity: string): void {
    this.#leases.release(affinity);
  }

  async close(): Promise<void> {
    await Promise.all([this.#leases.close(), this.#shared.close()]);
    await this.#settings.closeChannels();
  }

  #placeFollow(uri: string, client: Client | undefined): () => void {
    const lease = client === undefined ? undefined : this.#leaseFor(client);
    if (lease === undefined) return this.#sharedFollowing.follow(uri);
    const stop = lease.following.follow(uri);
    lease.supervisor.connection().catch((error: unknown) => {
      this.#settings.log.debug(
        { server: this.name, error },
        "a resource is followed when the server is back",
      );
    });
    return stop;
  }

  /** Whether `client` is served in a session although the shared connection keeps none. */
  #isInSession(client: Client): boolean {
    return this.#era === "modern" && this.#sessions.has(client);
  }

  /** The connection of `client`, opened; the shared one where the server turns out to open no sessions. */
  async #placeFor(
    client: Client | undefined,
    signal: StopSignal,
  ): Promise<{ readonly supervisor: Supervisor; readonly met: Met }> {
    const supervisor = (client && this.#leaseFor(client)?.supervisor) ?? this.#shared;
    try {
      return { supervisor, met: supervisor.met ?? (await this.#meet(supervisor, signal)) };
    } catch (error) {
      const isOver =
        supervisor === this.#shared || client === undefined || this.#leaseFor(client) !== undefined;
      if (isOver || signal.aborted) throw error;
      return { supervisor: this.#shared, met: await this.#meet(this.#shared, signal) };
    }
  }

  /** Goes on with a call that waits here, on the connection on which it waits. */
  async #resume(call: Call, state: string): Promise<Reply> {
    const owner = await ownerOf(call, this.name);
    const parked = this.#settings.parked.take(state, owner, this.name);
    try {
      return await parked.resume(call, call.answers ?? { responses: {} });
    } finally {
      this.#apart.wake();
    }
  }

  async #callOver(supervisor: Supervisor, call: Call): Promise<Reply> {
    return this.#callMet(supervisor, supervisor.met ?? (await this.#meet(supervisor, call.signal)), call);
  }

  #callMet(supervisor: Supervisor, met: Met, call: Call): Promise<Reply> {
    return met.connection.call(call).catch((error: unknown) => {
      throw suspected(error, supervisor, met);
    });
  }

  #meet(supervisor: Supervisor, signal: StopSignal): Promise<Met> {
    return unlessAborted(supervisor.connection(), signal, () => {
      const sentence = `the call was given up while ${this.name} was being connected`;
      return new GatewayError("cancelled", "downstream", sentence, {
        server: this.name,
        cause: signal.reason,
      });
    });
  }

  /** The connection that is kept for `client` alone, or for few like it; undefined when it uses the shared one. */
  #leaseFor(client: Client): Lease | undefined {
    if (this.#era === "modern" && !this.#isInSession(client)) return undefined;
    const audience = this.audience(client);
    if (audience === EVERYBODY) return undefined;
    const session = client.session && audience.key === client.affinity ? client : undefined;
    const tenancy = {
      audience,
      // What serves clients of all principals is in nobody's share.
      principal: audience.key === IN_SESSIONS.key ? "" : client.principal.id,
      promised: this.#promise(client),
      session,
      spare: false,
    };
    try {
      return this.#leases.use(audience.key, tenancy);
    } catch (error) {
      // Where there is another way, a client for whom there is no room goes that.
      const isFull = error instanceof GatewayError && error.code === "overloaded";
      if (this.#era === "modern" && isFull) return undefined;
      throw error;
    }
  }

  #promise(client: Client): JsonObject {
    return relayable(client, this.#settings.aggregated());
  }

  /** The supervisor of a lease's connection, or of the shared one. */
  #supervise(tenancy: Tenancy | undefined, after?: Promise<void>): Supervisor {
    const { log, random, onRestart } = this.#settings;
    const following = tenancy?.following ?? this.#sharedFollowing;
    const settings: SuperviseSettings = {
      server: this.name,
      log,
      random,
      impatient: this.#server.transport.kind === "http",
      wanted: () => tenancy === undefined || following.size > 0,
      open: (signal) => this.#connect(tenancy, signal),
      opened: (met) => {
        const before = this.#era;
        if (tenancy === undefined) {
          this.#era = met.era;
          this.#facts = met.connection.facts;
          this.#verdict.metAnew();
          // A server may be replaced by a modern one; whether that opens sessions has yet to be seen.
          if (met.era === "modern" && before !== "modern") this.#endLeases();
        }
        this.#news.opened(tenancy, met, following.moveTo(met.connection));
        if (before !== undefined && before !== this.#era) this.#followed.placeAgain();
      },
      unavailable: (cause) => this.#news.unavailable(tenancy, cause),
      restarting: onRestart,
    };
    return new Supervisor(settings, after);
  }

  #connect(tenancy: Tenancy | undefined, signal: StopSignal): Promise<Met> {
    const meet = (): Promise<Met> => this.#meetFor(tenancy, signal);
    return this.#server.transport.kind === "stdio" ? this.#settings.starts.run(meet, signal) : meet();
  }

  #meetFor(tenancy: Tenancy | undefined, signal: StopSignal): Promise<Met> {
    const isSession = tenancy !== undefined && this.#era === "modern";
    const meet = (): Promise<Met> => this.#meetAs(tenancy, isSession, signal);
    return isSession ? this.#sessions.open(meet, signal) : meet();
  }

  #endLeases(): void {
    inBackground(this.#leases.endAll(), this.#settings.log, "ending connections of single clients");
  }

  #meetAs(tenancy: Tenancy | undefined, session: boolean, signal: StopSignal): Promise<Met> {
    const { roots, onRefusedQuestion, ...settings } = this.#settings;
    return connect(
      {
        session,
        ...settings,
        server: this.#server,
        verdict: this.#verdict,
        observer: this.#news.hearerFor(tenancy, () => this.#era),
        promised: tenancy?.promised ?? {},
        promise: this.#modernPromise,
        owner: tenancy?.session,
        roots,
        refusedQuestion: onRefusedQuestion,
      },
      signal,
    );
  }
}

/** `error` itself, after the server was asked for a sign of life if the error is that there was none. */
function suspected(error: unknown, supervisor: Supervisor, met: Met): unknown {
  if (isUnreachable(error)) supervisor.suspect(met);
  return error;
}

/** A task may be known on the connection only on which it was begun; what it asks says by itself whose it is. */
const isOfTask = ({ method, params }: Call): boolean =>
  TASK_METHODS.has(method) || Object.hasOwn(params, "task");

/** Nothing came back at all, so the connection itself may be gone. An HTTP status did come back. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.code === "upstream_unavailable" &&
  !(error.cause instanceof HttpStatusError);
