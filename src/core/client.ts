/** Who is calling, and how can a client with a session be reached between its calls? */
import type { JsonObject } from "../wire/json.js";
import { approximateJsonLength } from "../wire/json-text.js";
import type { Notice } from "./call.js";
import type { HostHeaders } from "./host-headers.js";
import type { StopSignal } from "./stop.js";

/** The authenticated identity that a call is made for; made by `principalOf`. */
export interface Principal {
  /** What rules and people call it; `anonymous` where no authentication is configured. */
  readonly id: string;
  /** Of id and source, see `principalKey`; absent where the id is the key. */
  readonly key?: string;
  readonly groups: readonly string[];
  readonly claims: JsonObject;
  /** True for a bearer token: a 403 may then name the scopes that are missing. */
  readonly byToken?: boolean;
  /** The headers of its request that servers get; absent if there are none. No part of the identity. */
  readonly headers?: HostHeaders;
}

/** The principal of every host where no authentication is configured. */
export const ANONYMOUS: Principal = { id: "anonymous", groups: [], claims: {} };

/** The scopes of a token: `scope` (RFC 8693: space-separated) or `scp` (a list, or space-separated). */
export function tokenScopes({ claims }: Principal): ReadonlySet<string> {
  const { scope, scp } = claims;
  const words = typeof scope === "string" ? scope.split(" ") : [];
  const listed = Array.isArray(scp) ? scp.filter((one) => typeof one === "string") : [];
  const single = typeof scp === "string" ? scp.split(" ") : [];
  return new Set([...words, ...listed, ...single]);
}

/** Limit (characters of JSON) of a client's capabilities, which are kept as long as its session. */
export const MAX_CAPABILITIES_LENGTH = 16_384;
/** Limit (characters of JSON) of `clientInfo`, which may contain icons. */
export const MAX_INFO_LENGTH = 65_536;

/** A host, as the gateway sees it: its identity, and what it declared. */
export interface Client {
  readonly principal: Principal;
  /**
   * The key of state that is kept for this client alone: its session where it has one, else its principal and its
   * normalized capabilities. Clients of equal affinity may share an upstream connection.
   */
  readonly affinity: string;
  /** True if `affinity` names a session, which has an end; false if it names a principal. */
  readonly session: boolean;
  /** Which part of the gateway it sees: "" for all of it, or the NAME of `/mcp/NAME`. */
  readonly endpoint: string;
  /** The capabilities the client declared; servers are advertised a subset of them. */
  readonly capabilities: JsonObject;
  /** The client's own name and version, for display only. */
  readonly info?: JsonObject;
  /** Absent if its session was opened here. */
  readonly adoption?: Adoption;
}

/** How a session came here that another process served before. */
export class Adoption {
  readonly #seen = new Set<string>();

  /** @param from the replica or process that issued it */
  constructor(readonly from: string) {}

  /** True once for each server. */
  isFirstResultOf(server: string): boolean {
    if (this.#seen.has(server)) return false;
    this.#seen.add(server);
    return true;
  }
}

/** The size (characters of JSON) of what the client declared, for memory budgets. */
export const clientInfoLength = ({ capabilities, info }: Pick<Client, "capabilities" | "info">): number =>
  approximateJsonLength(capabilities) + (info === undefined ? 0 : approximateJsonLength(info));

/** Finds clients that can be reached between their calls: those with a session. */
export interface ClientDirectory {
  find(affinity: string): ClientChannel | undefined;
}

/** Lists such clients. */
export interface ConnectedClients {
  /** Those that a request would reach now. */
  connected(): readonly ClientChannel[];
  /** Calls `listener` with each that a request would reach from now on, also with one that was away. */
  onConnected(listener: (client: ClientChannel) => void): void;
}

/** Sends requests and notifications to a client outside its calls. */
export interface ClientChannel {
  /** The client with its current capabilities. */
  readonly client: Client;
  /** Since when (`performance.now()`) its host is away; undefined while it has a stream or a call open. */
  readonly idleSince?: number | undefined;
  /** Sends the client a request (`{ method, params }`) and resolves to the bare result; rejects with a GatewayError. */
  request(request: JsonObject, signal: StopSignal): Promise<JsonObject>;
  /** Sends a notification that belongs to no request; dropped when the client has no stream open. */
  notify?(notice: Notice): void;
}
