/** What an era is told when it opens a conversation with a server. */
import type { Logger } from "../../core/logger.js";
import type { ConnectionObserver } from "../connection.js";

export interface ProtocolSettings {
  /** The server's key in the config, for messages. */
  readonly server: string;
  /** How the gateway calls itself where it speaks for nobody else. */
  readonly gateway: { readonly name: string; readonly version: string };
  /** Whether clients see other servers beside this one, and must be told who asks them something. */
  readonly aggregated: () => boolean;
  readonly observer: ConnectionObserver;
  readonly log: Logger;
}
