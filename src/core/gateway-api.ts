/** What may an edge that faces hosts call on the gateway behind it? */
import type { JsonObject } from "../wire/json.js";
import type { Handler, Notice } from "./call.js";
import type { ChangeFeed } from "./change.js";
import type { Client, Principal } from "./client.js";
import type { TaskListener, TaskSubscription } from "./methods.js";

/** What `initialize` and `server/discover` answer to one client. */
export interface ServerDescription {
  readonly serverInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  /** A random id of this gateway, by which gateways detect loops. */
  readonly instance?: string;
}

/** The gateway, as its edges call it. */
export interface GatewayApi {
  /** Runs a call through the pipeline to its server. Never rejects: failures are replies. */
  readonly handle: Handler;
  nextCallId(): number;
  readonly changes: ChangeFeed;
  /** The merged capabilities and instructions of the servers that `client` sees. Waits briefly for starting servers. */
  describe(client: Client): Promise<ServerDescription>;
  /**
   * At the path of a single server: waits up to 5 s until it is connected.
   * @throws GatewayError with the reason when it was never connected
   */
  requireServer?(client: Client): Promise<void>;
  /** The list entry of a tool by the name `client` sees, for checking `Mcp-Param-*` headers. */
  tool(client: Client, name: string): JsonObject | undefined;
  /**
   * Reports each change of these tasks as `tasks/get` would answer it, until it is stopped. Tasks of other clients, and
   * of servers that send no task notifications, are left out.
   */
  followTasks?(
    client: Client,
    handles: readonly string[],
    listener: TaskListener<JsonObject>,
  ): Promise<TaskSubscription>;
  /** Whether `/mcp/NAME` exists for this principal; false for a server that rules hide. */
  hasEndpoint(name: string, principal: Principal): boolean;
  /** A notification of the client that belongs to no call, such as `notifications/roots/list_changed`. */
  forwardNotification?(client: Client, notice: Notice): void;
  /** A client's session has ended: drops all state of its affinity. */
  releaseClient(affinity: string): void;
}

/** Whether the gateway can serve calls (`/readyz`). */
export interface Readiness {
  readonly ready: boolean;
  /** Why it is not ready, and what is degraded although it is. */
  readonly reasons: readonly string[];
}

/** The reason of a gateway that drains. */
export const DRAINING_REASON = "the gateway is stopping";

/** The gateway's own name, as hosts see it. */
export const SERVER_NAME = "cardea";
