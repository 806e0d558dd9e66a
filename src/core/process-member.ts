/** This process as one of several that serve the same address of one machine. The interface, which a feature implements. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Owners } from "./owners.js";
import type { Admission, FeatureMessages } from "./replicas.js";

/** One of the processes, as its gateway uses it. */
export interface ProcessMember {
  /** From 1. The ids that it issues begin with it. */
  readonly number: number;
  /** Keys are derived from it where the config has no secret; the same in all of the processes, and new at each start. */
  readonly secret: string;
  /**
   * Where requests belong whose session or call another one of the processes issued.
   *
   * @param keepsSessions whether the sessions of a process outlive it: the one that is started in its place has them
   */
  owners(keepsSessions: boolean): Owners;
  /** Where the others connect with such requests. */
  readonly listener: MemberAddress;
  /** The connections of hosts. */
  readonly connections: AcceptedConnections;
  /** To the same feature in the other processes. */
  readonly messages: FeatureMessages;
  /** The socket of its listener for operators. Only the process that has started it connects there, with `secret` as its token. */
  readonly adminSocket: string;
}

/** Connections that another process accepts for this one. */
export interface AcceptedConnections {
  /** The port at which it accepts them. */
  readonly port: number;
  /** Calls `take` with each from now on, until the returned function is called. */
  onConnection(take: (connection: Socket) => void): () => void;
  /** A socket of this machine without clients: Node's HTTP server counts connections only while it listens. */
  readonly bind: { readonly path: string };
}

/** A socket of this machine. */
interface MemberAddress {
  readonly bind: { readonly path: string };
  /** The content of a forwarded request; undefined if it is none of a host, and has been answered. */
  readonly admit: (request: IncomingMessage, response: ServerResponse) => Admission | undefined;
}
