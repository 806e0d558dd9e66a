/** What does a connection of either era need to know of its server and of the gateway? */
import type { Logger } from "../../core/logger.js";
import type { ConnectionObserver } from "../connection.js";

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
}
