/** One server behind the gateway as the rest of the program sees it: its calls, lists, news and state. */
import type { ServerConfig } from "../config/config.js";
import type { Call, Reply } from "../core/call.js";
import type { Client, ClientDirectory } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import { type Logger, SILENT } from "../core/logger.js";
import {
  type Audience,
  EVERYBODY,
  type ListKind,
  type RestartReason,
  type ServerFacts,
  type ServerList,
  type Upstream,
  type UpstreamObserver,
  type UpstreamState,
} from "../core/upstream.js";
import { canBeAsked, classOf, promiseFor } from "./capabilities.js";
import { connect, type Met, type OpenChannel } from "./connect.js";
import type { ConnectionObserver } from "./connection.js";
import { Following } from "./following.js";
import { audienceFor, type Lease, Leases } from "./lease.js";
import { type ChannelOpener, channelOpener } from "./open-channel.js";
import { Supervisor } from "./supervise.js";
import { HttpStatusError } from "./transport/channel.js";
import { EraVerdict } from "./verdict.js";

export interface UpstreamOptions {
  /** How the gateway calls itself where it speaks for nobody else. */
  readonly gateway: { readonly name: string; readonly version: string };
  /** Finds the clients that can be asked between their calls. */
  readonly directory: ClientDirectory;
  /** Default: a process or HTTP connections, as the config says. */
  readonly openChannel?: OpenChannel;
  /** Default: silent. */
  readonly log?: Logger;
  /** Told each time a connection is about to be opened again, and why. */
  readonly onRestart?: (reason: RestartReason) => void;
  /** How many connections may be kept for single clients. Default: 100. */
  readonly maxLeases?: number;
  /** How long (ms) such a connection is kept without use. Default: 30 min. */
  readonly leaseIdleMs?: number;
  /** Numbers from 0 up to 1, for the jitter of waits. Default: `Math.random`. */
  readonly random?: () => number;
}

export interface StartableUpstream extends Upstream {
  /** Begins to meet the server, and does not wait for it. */
  start(): void;
}

/** A server that is met when `start` is called, and kept from then on. */
export function createUpstream(server: ServerConfig, options: UpstreamOptions): StartableUpstream {
  const log = options.log ?? SILENT;
  const opener = channelOpener(server, log);
  return new SupervisedUpstream(server, opener, {
    log,
    openChannel: opener.open,
    onRestart: () => {},
    maxLeases: 100,
    leaseIdleMs: 30 * 60_000,
    random: Math.random,
    ...options,
  });
}

class SupervisedUpstream implements StartableUpstream {
  readonly name: string;
  readonly #server: ServerConfig;
  readonly #opener: ChannelOpener;
  readonly #options: Required<UpstreamOptions>;
  readonly #verdict = new EraVerdict();
  readonly #observers = new Set<UpstreamObserver>();
  readonly #shared: Supervisor;
  readonly #sharedFollowing = new Following();
  readonly #leases: Leases;
  /** The classes of clients that have listed over a connection that all share; each may see other lists. */
  readonly #classes = new Map<string, Audience>([[EVERYBODY.key, EVERYBODY]]);
  #facts: ServerFacts | undefined;
  #era: Met["era"] | undefined;

  constructor(server: ServerConfig, opener: ChannelOpener, options: Required<UpstreamOptions>) {
    this.name = server.name;
    this.#server = server;
    this.#opener = opener;
    this.#options = options;
    this.#shared = this.#supervise(undefined);
    this.#leases = new Leases({
      server,
      max: options.maxLeases,
      idleMs: options.leaseIdleMs,
      supervise: (lease) => this.#supervise(lease),
    });
  }

  get state(): UpstreamState {
    return this.#shared.state;
  }

  get lastError(): string | undefined {
    return this.#shared.lastError;
  }

  get facts(): ServerFacts | undefined {
    return this.#facts;
  }

  start(): void {
    this.#shared.start();
  }

  readonly call = async (call: Call): Promise<Reply> => {
    const supervisor = await this.#supervisorFor(call.client, call.signal);
    const met = await unlessAborted(supervisor.connection(), call.signal, this.name);
    try {
      return await met.connection.call(call);
    } catch (error) {
      if (isUnreachable(error)) supervisor.suspect(met);
      throw error;
    }
  };

  audience(client: Client): Audience {
    const promised = promiseFor(client);
    if (this.#era !== "modern") return audienceFor(this.#server.lease, client, promised);
    // One connection serves all, and what is promised goes with each request.
    if (!canBeAsked(promised)) return EVERYBODY;
    const name = classOf(promised);
    return { key: name, class: name };
  }

  async list(kind: ListKind, client: Client | undefined, signal: AbortSignal): Promise<ServerList> {
    const supervisor = client === undefined ? this.#shared : await this.#supervisorFor(client, signal);
    const met = await unlessAborted(supervisor.connection(), signal, this.name);
    if (client !== undefined && met.era === "modern") this.#remember(this.audience(client));
    try {
      return await met.connection.list(kind, signal, client);
    } catch (error) {
      if (isUnreachable(error)) supervisor.suspect(met);
      throw error;
    }
  }

  follow(uri: string, client: Client | undefined): () => void {
    const lease = client === undefined ? undefined : this.#leaseFor(client);
    if (lease === undefined) return this.#sharedFollowing.follow(uri);
    const stop = lease.following.follow(uri);
    lease.supervisor.connection().catch((error: unknown) => {
      this.#options.log.debug(
        { server: this.name, error },
        "a resource is followed as soon as the server is back",
      );
    });
    return stop;
  }

  watch(observer: UpstreamObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  release(affinity: string): void {
    this.#leases.release(affinity);
  }

  async close(): Promise<void> {
    await Promise.all([this.#leases.close(), this.#shared.close()]);
    await this.#opener.close();
  }

  /** Where `client`'s calls go. The shared connection comes first: it tells the era, which decides who shares. */
  async #supervisorFor(client: Client, signal: AbortSignal): Promise<Supervisor> {
    if (this.#era === undefined) await unlessAborted(this.#shared.connection(), signal, this.name);
    return this.#leaseFor(client)?.supervisor ?? this.#shared;
  }

  #leaseFor(client: Client): Lease | undefined {
    if (this.#era === "modern") return undefined;
    const audience = this.audience(client);
    return audience === EVERYBODY ? undefined : this.#leases.get(audience, client, promiseFor(client));
  }

  /** The supervisor of a lease's connection, or of the shared one. */
  #supervise(lease: Omit<Lease, "supervisor"> | undefined): Supervisor {
    const { log, random, onRestart } = this.#options;
    const following = lease?.following ?? this.#sharedFollowing;
    return new Supervisor({
      server: this.name,
      log,
      random,
      impatient: this.#server.transport.kind === "http",
      wanted: () => lease === undefined || following.size > 0,
      open: (signal) => this.#connect(lease, signal),
      opened: (met) => this.#opened(met, lease, following),
      unavailable: (cause) => {
        if (lease === undefined) this.#tell((observer) => observer.unavailable(cause));
      },
      restarting: onRestart,
    });
  }

  #connect(lease: Omit<Lease, "supervisor"> | undefined, signal: AbortSignal): Promise<Met> {
    const { gateway, log, openChannel } = this.#options;
    const observer: ConnectionObserver = {
      listChanged: (kind) => this.#listChanged(kind, lease),
      resourceUpdated: (uri) => this.#tell((each) => each.resourceUpdated(uri, this.#listenersTo(lease))),
    };
    return connect(
      {
        server: this.#server,
        openChannel,
        verdict: this.#verdict,
        gateway,
        log,
        observer,
        capabilities: lease?.promised ?? {},
        promise: promiseFor,
      },
      signal,
    );
  }

  #opened(met: Met, lease: Omit<Lease, "supervisor"> | undefined, following: Following): void {
    if (lease === undefined) {
      this.#era = met.era;
      this.#facts = met.connection.facts;
    }
    const missed = following.moveTo(met.connection);
    this.#tell((observer) => {
      for (const audience of lease === undefined ? this.#classes.values() : [lease.audience]) {
        observer.ready(audience);
      }
      for (const uri of missed) observer.resourceUpdated(uri, this.#listenersTo(lease));
    });
  }

  /** Whose connection it is; undefined where one serves clients of every kind. */
  #listenersTo(lease: Omit<Lease, "supervisor"> | undefined): Audience | undefined {
    if (lease !== undefined) return lease.audience;
    return this.#era === "modern" ? undefined : EVERYBODY;
  }

  #listChanged(kind: ListKind, lease: Omit<Lease, "supervisor"> | undefined): void {
    const audiences = lease === undefined ? [...this.#classes.values()] : [lease.audience];
    this.#tell((observer) => {
      for (const audience of audiences) observer.listChanged(kind, audience);
    });
  }

  #remember(audience: Audience): void {
    this.#classes.delete(audience.key);
    this.#classes.set(audience.key, audience);
    if (this.#classes.size <= MAX_CLASSES) return;
    const oldest = [...this.#classes.keys()].find((key) => key !== EVERYBODY.key);
    if (oldest !== undefined) this.#classes.delete(oldest);
  }

  #tell(say: (observer: UpstreamObserver) => void): void {
    for (const observer of [...this.#observers]) say(observer);
  }
}

/** Capabilities come in few combinations; a host that makes up ever new ones is not remembered for ever. */
const MAX_CLASSES = 100;

/** Nothing came back at all, so the connection itself may be gone. An HTTP status did come back. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.code === "upstream_unavailable" &&
  !(error.cause instanceof HttpStatusError);

/** What `promise` comes to, as long as the one who waits for it has not given up. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal, server: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      const sentence = `the call was given up while ${server} was being connected`;
      reject(new GatewayError("cancelled", "downstream", sentence, { server, cause: signal.reason }));
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
