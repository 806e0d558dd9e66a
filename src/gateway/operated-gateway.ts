/** The gateway, as the listener for operators sees it. */
import type { Config } from "../config/config.js";
import type { Authentication } from "../downstream/authenticate/authentication.js";
import type { Edges } from "./listeners.js";
import type { LiveConfig } from "./live-config.js";
import type { OverloadMonitor } from "./overload.js";
import type { GatewayParts } from "./parts.js";
import type { GatewayStatus } from "./status.js";

/** What its pages show, and what its actions change. */
export interface OperatedGateway {
  readonly listen: Config["listen"];
  readonly parts: GatewayParts;
  readonly liveConfig: LiveConfig;
  readonly edges: Edges;
  readonly status: GatewayStatus;
  readonly overload: OverloadMonitor;
  /** Of hosts: who has a token of their issuer. */
  readonly authentication: Authentication;
  /** Lets commands of the same user use the listener; undefined where there are none. */
  readonly ownerToken: string | undefined;
}
