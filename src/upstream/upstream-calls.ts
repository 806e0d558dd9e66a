/** Over which connection does a call go to its server, in its first round and in each that continues it? */
import type { Call, Reply, RootsAnswer } from "../core/call.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import { INTERACTIVE_METHODS, TASK_METHODS } from "../core/methods.js";
import { addOwnHop } from "./hops.js";
import type { Connections } from "./leases/connections.js";
import { askForRoots, readRoots, withRoots } from "./leases/host-roots.js";
import type { Lease } from "./leases/lease.js";
import type { ReadyConnections } from "./leases/ready-connections.js";
import { needsSignIn } from "./leases/server-credentials.js";
import { parkedIdentity } from "./legacy/parked-calls.js";
import { includesClientFeatures } from "./protocol/advertised-capabilities.js";
import type { Connected } from "./supervision/connect.js";
import type { UpstreamSettings } from "./supervision/options.js";
import type { Supervisor } from "./supervision/supervisor.js";
import { HttpStatusError } from "./transport/channel.js";

/** The calls to one server. */
export class UpstreamCalls {
  readonly #server: string;
  readonly #settings: UpstreamSettings;
  readonly #connections: Connections;
  readonly #ready: ReadyConnections;
  readonly #shared: Supervisor;
  /** The lease of a client whose calls need no exclusive connection; `call` uses it without a lookup. */
  #plainLeases = new WeakMap<Client, Lease>();

  constructor(server: string, settings: UpstreamSettings, connections: Connections, ready: ReadyConnections) {
    this.#server = server;
    this.#settings = settings;
    this.#connections = connections;
    this.#ready = ready;
    this.#shared = connections.shared;
  }

  /** From now on clients may use other connections than before. */
  forgetLeases(): void {
    this.#plainLeases = new WeakMap();
  }

  /** Sends the call to the server. @throws GatewayError where it cannot be reached, or the client may not be served. */
  readonly call = (incoming: Call): Promise<Reply> => {
    // The fast path: the connection is open, and there is no other to choose.
    const connections = this.#connections;
    const { known } = connections;
    const { current: connected } = this.#shared;
    const state = incoming.inputResponses?.state;
    const isOwnRound = state !== undefined && (state.parked !== undefined || state.roots !== undefined);
    if (connected?.era !== "modern" || known.facts?.instance !== undefined || isOwnRound)
      return this.#callSlowPath(incoming);
    const isSeparate = known.credentials.separates(incoming.client);
    if (!isSeparate && !known.usesSession(incoming.client)) {
      connections.sharedUse.add(incoming.client);
      return this.#callConnected(this.#shared, connected, incoming);
    }
    const lease = incoming.inputResponses === undefined ? this.#plainLeases.get(incoming.client) : undefined;
    const own = lease?.supervisor.current;
    return lease !== undefined && own !== undefined && connections.leases.renew(lease, incoming.client)
      ? this.#callConnected(lease.supervisor, own, incoming)
      : this.#callSlowPath(incoming);
  };

  async #callSlowPath(incoming: Call): Promise<Reply> {
    const connections = this.#connections;
    const { known, roots } = connections;
    // A server that is away, or was never connected, may come back in the other era.
    if (known.credentials.separates(incoming.client) || known.era === undefined)
      await this.#ready.whenEraIsKnown(incoming.client, incoming.signal);
    else if (
      known.era !== "legacy" &&
      this.#shared.current === undefined &&
      !known.usesSession(incoming.client)
    )
      await this.#ready.waitForShared(incoming.client, incoming.signal);
    const isGateway = known.facts?.instance !== undefined;
    const told = incoming.inputResponses?.state?.roots === undefined ? undefined : readRoots(incoming);
    const own = told?.call ?? incoming;
    const call = isGateway ? addOwnHop(own, this.#settings.gateway.instance) : own;
    const lease = connections.leaseFor(call.client);
    const needsRoots = lease !== undefined && roots.separate(lease, call);
    // The call comes on another connection, by the roots of its host.
    if (!needsRoots) (lease?.use ?? connections.sharedUse).add(call.client);
    const state = call.inputResponses?.state;
    if (state?.parked !== undefined) return this.#resume(call, state.parked);
    if (lease === undefined && known.era === "modern") return await this.#callOver(this.#shared, call);
    if (state?.server !== undefined) return await this.#continue(call);
    if (lease === undefined) return await this.#callOver(this.#shared, call);
    if (known.era === "modern" && lease.supervisor.current === undefined) {
      const { supervisor } = await this.#ready.connectionFor(call.client, call.signal);
      if (supervisor === this.#shared) connections.sharedUse.add(call.client);
      if (supervisor !== lease.supervisor) return await this.#callOver(supervisor, call);
    }
    const isPlain =
      lease.session !== undefined || !lease.opensSession || !includesClientFeatures(lease.advertised);
    if (isPlain) this.#plainLeases.set(call.client, lease);
    if (isPlain && lease.opensSession && Object.hasOwn(lease.advertised, "roots")) {
      const connection = await this.#ready.openedConnection(lease.supervisor, call.signal);
      if (connection !== undefined) await roots.areAskedOfSession(connection, call.signal);
    }
    if (isPlain || !INTERACTIVE_METHODS.has(call.method) || isOfTask(call))
      return this.#callOver(lease.supervisor, call);
    return this.#callExclusively(lease, call, told?.roots);
  }

  /**
   * Runs a call in which its host may be asked. A server that asks for roots may keep them, so a call in which it does so goes
   * to a connection that is kept for hosts with the same roots, and the host is asked for them first.
   */
  async #callExclusively(lease: Lease, call: Call, told: RootsAnswer | undefined): Promise<Reply> {
    const connections = this.#connections;
    const { client, signal } = call;
    const { links } = call.inputResponses?.state ?? {};
    const needsRoots = (): boolean => links === undefined && connections.roots.separate(lease, call);
    // Roots that the server does not ask for are no reason for a connection of their own.
    const roots = links !== undefined || needsRoots() ? told : undefined;
    const isAskedFirst = (): boolean => roots === undefined && needsRoots();
    if (isAskedFirst()) return askForRoots();
    let isAsked = false;
    const reply = await connections.exclusive.run(lease, { client, signal, roots }, async (own) => {
      const connection = await this.#ready.openedConnection(own.supervisor, signal);
      if (connection === undefined) return this.#callOver(own.supervisor, call);
      await connections.roots.areAskedFor(own, connection, signal);
      if (!isAskedFirst()) return this.#callOver(own.supervisor, call);
      // No call comes on it any longer.
      if (connections.roots.requests.isSetUpWithRoots) own.use.reset();
      isAsked = true;
      return askForRoots();
    });
    if (isAsked && told !== undefined) return this.#callExclusively(lease, call, told);
    return roots === undefined ? reply : withRoots(reply, roots);
  }

  /** Continues a call for which a modern server gave a state. That is part of the request, and valid on any connection. */
  async #continue(call: Call): Promise<Reply> {
    const { known } = this.#connections;
    if (known.era === "modern" && !known.credentials.separates(call.client))
      return this.#callOver(this.#shared, call);
    const { supervisor, connected } = await this.#ready.connectionFor(call.client, call.signal);
    // A legacy server has no such states: it has replaced the other one, and the call is not made a second time.
    return connected.era === "modern" ? this.#callOver(supervisor, call) : this.#resume(call, "");
  }

  /** Continues a parked call, on the connection on which it waits. */
  async #resume(call: Call, token: string): Promise<Reply> {
    const owner = await parkedIdentity(call, this.#server);
    const parked = this.#settings.questions.parked.take(token, owner, this.#server);
    try {
      return await parked.resume(call, call.inputResponses ?? { responses: {} });
    } finally {
      this.#connections.exclusive.wake();
    }
  }

  async #callOver(supervisor: Supervisor, call: Call): Promise<Reply> {
    let connected: Connected;
    try {
      connected = supervisor.current ?? (await this.#ready.waitFor(supervisor, call.signal));
    } catch (error) {
      if (needsSignIn(error) && this.#hasOtherCredentials(supervisor, call.client))
        return this.#callSlowPath(call);
      throw error;
    }
    return this.#callConnected(supervisor, connected, call);
  }

  #callConnected(supervisor: Supervisor, connected: Connected, call: Call): Promise<Reply> {
    return connected.connection.call(call).catch((error: unknown) => {
      if (needsSignIn(error) && this.#hasOtherCredentials(supervisor, call.client))
        return this.#callSlowPath(call);
      throw checkedAfterFailure(error, supervisor, connected);
    });
  }

  /** The server has just asked for credentials on a connection of several principals: it has not run the call. */
  #hasOtherCredentials(supervisor: Supervisor, client: Client): boolean {
    const { credentials } = this.#connections.known;
    return credentials.separates(client) && supervisor.credentials !== credentials.idOf(client);
  }
}

/** Returns `error`; where the server could not be reached, a health check begins. */
export function checkedAfterFailure(error: unknown, supervisor: Supervisor, connected: Connected): unknown {
  if (isUnreachable(error)) supervisor.checkNow(connected);
  return error;
}

/** A server may know a task only on the connection that created it; its questions name their task. */
const isOfTask = ({ method, params }: Call): boolean =>
  TASK_METHODS.has(method) || Object.hasOwn(params, "task");

/** There was no response, so the connection may be lost. An HTTP status is a response. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.code === "upstream_unavailable" &&
  !(error.cause instanceof HttpStatusError);
