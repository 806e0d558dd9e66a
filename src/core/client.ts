/** Who is calling, and how clients that keep a session can be reached between their calls. */

import { approximateJsonLength, type JsonObject } from "../wire/json.js";
import type { Notice } from "./call.js";
import type { StopSignal } from "./stop.js";

/** On whose behalf a call is made. */
export interface Principal {
  /** `anonymous` where no authentication is configured. */
  readonly id: string;
  readonly groups: readonly string[];
  readonly claims: JsonObject;
  /** True where it came with a token, and can come again with one that grants more. */
  readonly byToken?: boolean;
}

export const ANONYMOUS: Principal = { id: "anonymous", groups: [], claims: {} };

/** What a token grants: `scope` (RFC 8693: words in one text) or `scp` (a list, as others write it). */
export function tokenScopes({ claims }: Principal): ReadonlySet<string> {
  const { scope, scp } = claims;
  const words = typeof scope === "string" ? scope.split(" ") : [];
  const listed = Array.isArray(scp) ? scp.filter((one) => typeof one === "string") : [];
  const single = typeof scp === "string" ? scp.split(" ") : [];
  return new Set([...words, ...listed, ...single]);
}

/** So many characters of JSON may what a client declares have: it is kept for as long as the client may come again. */
export const MAX_CAPABILITIES_LENGTH = 16_384;
/** The same for what it calls itself, which may hold pictures. */
export const MAX_INFO_LENGTH = 65_536;

export interface Client {
  readonly principal: Principal;
  /**
   * Names what may be kept for this client alone: its session where it has one, else its principal and its
   * normalized capabilities. Two clients with equal affinity may share an upstream connection.
   */
  readonly affinity: string;
  /** True where `affinity` names a session, which has an end; false where it names a principal. */
  readonly session: boolean;
  /** Which part of the gateway it sees: "" for all of it, or the NAME of `/mcp/NAME`. */
  readonly endpoint: string;
  /** What the client declared that a server may ask of it; never more than that is promised upstream. */
  readonly capabilities: JsonObject;
  /** The client's own name and version, for display only. */
  readonly info?: JsonObject;
}

/** How much a client says of itself, in characters: what whoever keeps the client keeps with it. */
export const clientInfoLength = ({ capabilities, info }: Pick<Client, "capabilities" | "info">): number =>
  approximateJsonLength(capabilities) + (info === undefined ? 0 : approximateJsonLength(info));

/** Finds clients that can be reached between their calls. Only sessions can. */
export interface ClientDirectory {
  find(affinity: string): ClientChannel | undefined;
}

export interface ClientChannel {
  /** Who it is, as it is known at this moment. */
  readonly client: Client;
  /** Sends the client a request (`{ method, params }`) and resolves to the bare result; rejects with a GatewayError. */
  request(request: JsonObject, signal: StopSignal): Promise<JsonObject>;
  /** Tells the client something that belongs to none of its requests; dropped when it does not listen. */
  notify?(notice: Notice): void;
}
