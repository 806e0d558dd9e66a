/** What can be done over one open connection to a server, and what is it given? Both eras implement it. */

import type { Handler, Notice } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { GatewayError } from "../core/errors.js";
import type { ListKind } from "../core/lists.js";
import type { Logger } from "../core/logger.js";
import type { StopSignal } from "../core/stop.js";
import type { TaskListener, TaskSubscription } from "../core/tasks.js";
import type { ServerFacts, ServerList } from "../core/upstream.js";
import type { RpcError } from "../wire/envelope.js";
import type { JsonObject } from "../wire/json.js";

/** An open connection, whose era is known. */
export interface Connection {
  /** The protocol revision, for display. */
  readonly revision: string;
  /** False where the server keeps no state between two requests. */
  readonly keepsSession?: boolean;
  readonly facts: ServerFacts;
  readonly call: Handler;
  /**
   * Resolves when the server has asked for the roots that the connection is kept for and had time to take them over, or
   * `afterOpenMs` after the handshake; then to false. Absent where each request carries what a server may know of its host.
   */
  whenRootsTold?(afterOpenMs: number, signal: StopSignal): Promise<boolean>;
  /**
   * Lists all pages; cursor loops are cut. A list that the server does not advertise is empty. In the era in which
   * each request carries client capabilities, those of `client` are sent. `before`: see `Upstream`.
   */
  list(
    kind: ListKind,
    signal: StopSignal,
    client?: Client,
    before?: readonly JsonObject[],
  ): Promise<ServerList>;
  /** Subscribes to one resource, which must not be subscribed to already: the caller counts references. */
  subscribe(uri: string): void;
  /** Ends the subscription to one resource. */
  unsubscribe(uri: string): void;
  /** The error with which the server refused a subscription; waits for its answer. */
  subscriptionError(uri: string): Promise<RpcError | undefined>;
  /** See `Upstream`; absent where the revision has no such request. */
  followTasks?(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription>;
  /** Forwards a notification of a client; absent where the revision has none. */
  notify?(notice: Notice): void;
  /** Sends a health check. @throws GatewayError when no answer comes before `signal` aborts. */
  checkHealth(signal: StopSignal): Promise<void>;
  /** The time (`performance.now()`) of the last message; undefined while a call is running. */
  readonly idleSince: number | undefined;
  /** The time (`performance.now()`) at which the last call of a client ended; -Infinity before the first. */
  readonly lastCallEndedAt: number;
  /** Resolves with the reason when the connection can carry no more calls; never rejects. */
  readonly closed: Promise<GatewayError>;
  close(): Promise<void>;
}

/** What a connection reports of its server. */
export interface ConnectionObserver {
  listChanged(kind: ListKind): void;
  resourceUpdated(uri: string): void;
}

/** The part of a connection's settings that both eras use. */
export interface ProtocolSettings {
  /** The server's key in the config, for messages. */
  readonly server: string;
  /** The `clientInfo` of requests that the gateway sends for no client. */
  readonly gateway: { readonly name: string; readonly version: string };
  /** Whether clients see other servers beside this one, so that questions must name their server. */
  readonly isAggregated: () => boolean;
  readonly observer: ConnectionObserver;
  readonly log: Logger;
  /** Numbers the requests to the server. */
  readonly ids: { next(): number };
}

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
const JITTER = 0.2;

/** The wait (ms) after `failures` failed attempts in a row; `random` gives numbers from 0 up to 1. */
export function backoff(failures: number, random: () => number): number {
  const wait = Math.min(FIRST_MS * 2 ** Math.max(0, failures - 1), LONGEST_MS);
  return wait * (1 + JITTER * (2 * random() - 1));
}
