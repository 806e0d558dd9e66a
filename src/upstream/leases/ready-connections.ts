/** Which open connection does a request get? That of its client, once it is open, or another one that can serve it. */
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { type StopSignal, settle, unlessAborted } from "../../core/stop.js";
import type { Connection } from "../connection.js";
import type { Connected } from "../supervision/connect.js";
import type { Supervisor } from "../supervision/supervisor.js";
import type { Connections } from "./connections.js";

/** An open connection and the supervisor that keeps it. */
export interface SupervisedConnection {
  readonly supervisor: Supervisor;
  readonly connected: Connected;
}

/** The waits for connections to one server. */
export class ReadyConnections {
  readonly #server: string;
  readonly #isPipe: boolean;
  readonly #connections: Connections;

  /** `isPipe`: a connection is a process. */
  constructor(server: string, isPipe: boolean, connections: Connections) {
    this.#server = server;
    this.#isPipe = isPipe;
    this.#connections = connections;
  }

  /**
   * Resolves when the server's era is known, which decides about the connection of `client`.
   *
   * @throws GatewayError as `waitFor`.
   */
  async whenEraIsKnown(client: Client | undefined, signal: StopSignal): Promise<void> {
    const { known } = this.#connections;
    if (known.era !== undefined) return;
    await this.waitForShared(client, signal);
    if (known.era !== undefined || client === undefined) return;
    await this.waitFor(this.#connections.probingLease(client).supervisor, signal);
  }

  /**
   * Resolves when the shared connection is open, or lacks only the credentials that `client` has on one of its own.
   *
   * @throws GatewayError as `waitFor`.
   */
  async waitForShared(client: Client | undefined, signal: StopSignal): Promise<void> {
    const { shared, known } = this.#connections;
    try {
      await this.waitFor(shared, signal);
    } catch (error) {
      if (client === undefined || !known.credentials.mayReplaceShared(client, error)) throw error;
    }
  }

  /**
   * The open connection of `client`; the shared one where there is no client, or the server turns out to open no
   * sessions.
   *
   * @throws GatewayError as `waitFor`.
   */
  async connectionFor(client: Client | undefined, signal: StopSignal): Promise<SupervisedConnection> {
    const connections = this.#connections;
    const { shared } = connections;
    const lease = client && connections.leaseFor(client);
    // A remote session costs little, and brings the client the server's list changes. A process costs more.
    if (client !== undefined && !this.#isPipe) lease?.use.add(client);
    const supervisor = lease?.supervisor ?? shared;
    try {
      return { supervisor, connected: supervisor.current ?? (await this.waitFor(supervisor, signal)) };
    } catch (error) {
      if (supervisor === shared || client === undefined || signal.aborted) throw error;
      const now = connections.leaseFor(client);
      // The server opens no sessions, and the principal needs a connection of its own anyway.
      if (now !== undefined && lease?.opensSession === true && !now.opensSession)
        return this.connectionFor(client, signal);
      if (now !== undefined) throw error;
      return { supervisor: shared, connected: await this.waitFor(shared, signal) };
    }
  }

  /**
   * The connection of `supervisor`, once it is open.
   *
   * @throws GatewayError `cancelled` when `signal` aborts first, `upstream_unavailable` when it cannot be opened.
   */
  waitFor(supervisor: Supervisor, signal: StopSignal): Promise<Connected> {
    const server = this.#server;
    return unlessAborted(supervisor.connection(), signal, () => {
      const sentence = `the call was cancelled while the gateway was connecting to ${server}`;
      return new GatewayError("cancelled", "downstream", sentence, { server, cause: signal.reason });
    });
  }

  /** The open connection of `supervisor`; undefined where there is none: the call over it fails with the reason. */
  async openedConnection(supervisor: Supervisor, signal: StopSignal): Promise<Connection | undefined> {
    if (supervisor.current === undefined) await settle(this.waitFor(supervisor, signal));
    return supervisor.current?.connection;
  }
}
