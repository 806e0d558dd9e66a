/** What an edge that faces clients sees of the gateway behind it. */
import type { JsonObject } from "../wire/json.js";
import type { Notice } from "./call.js";
import type { ChangeFeed } from "./change.js";
import type { Client, Principal } from "./client.js";
import type { Handler } from "./handler.js";
import type { TaskListener, TaskSubscription } from "./tasks.js";

/** What the gateway says of itself to one client. */
export interface ServerDescription {
  readonly serverInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  /** Which gateway this is, among all of them; for other gateways. */
  readonly instance?: string;
}

export interface GatewayApi {
  /** Runs a call through every policy to its server. Never rejects: failures are replies. */
  readonly handle: Handler;
  readonly changes: ChangeFeed;
  /** The merged capabilities and instructions of what `client` sees. Waits briefly for servers that are starting. */
  describe(client: Client): Promise<ServerDescription>;
  /**
   * Waits for the server, where `client` sees a single one, until it was met or could not be; 5 s at most.
   * @throws GatewayError with the reason when it was never met
   */
  requireServer?(client: Client): Promise<void>;
  /** The list entry of a tool by the name `client` sees, for checking `Mcp-Param-*` headers. */
  tool(client: Client, name: string): JsonObject | undefined;
  /**
   * Tells of each change of these tasks what `tasks/get` would tell, until it is stopped. Tasks that are not the
   * client's, and those of servers that tell of none, are left out.
   */
  followTasks?(
    client: Client,
    handles: readonly string[],
    listener: TaskListener<JsonObject>,
  ): Promise<TaskSubscription>;
  /** Whether `/mcp/NAME` exists for this principal: that of a server which rules hide does not. */
  hasEndpoint(name: string, principal: Principal): boolean;
  /** A notification of the client that belongs to no call, such as `notifications/roots/list_changed`. */
  forwardNotification?(client: Client, notice: Notice): void;
  /** A client's session is over: everything kept for its affinity alone may go. */
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
