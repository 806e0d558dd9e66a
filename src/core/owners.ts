/** Which process of the gateway issued a session, parked call or task, and where is a request for it served? */
import type { Agent } from "node:http";
import type { Principal } from "./client.js";

/** Another process, and how it is reached. */
export interface Owner {
  /** For the log: the number of a process of this machine, or the id of a replica. */
  readonly name: string;
  /**
   * A socket of this machine, or the URL of a listener for the other replicas. The connections of `agent` have proven that the
   * replica is at the other end.
   */
  readonly address: { readonly socketPath: string } | { readonly url: URL; readonly agent: Agent };
  /** Headers, names and values by turns, with which it takes a request of `principal` that is forwarded for the `hops`th time. */
  readonly admission: (method: string, path: string, hops: number, principal: Principal) => readonly string[];
  /** It is about to stop. Default: no. */
  readonly isLeaving?: boolean;
}

/** PEM texts for TLS in both directions. */
export interface Certificates {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Where a request is served: by another process, by this one, or nowhere, because its process is gone for good. */
export type Located = Owner | "here" | "nowhere";

/** What an id belongs to. `kept`: what a feature keeps in memory, and no other process has when its own is gone. */
export type IssuedKind = "session" | "state" | "task" | "kept";

/** Finds the process that an id belongs to. */
export interface Owners {
  /** Whether another process may have to serve `id`; false: it is this process, without any waiting. */
  isForeign(id: string): boolean;
  /**
   * @param hops how often the request has been forwarded
   * @param gone the owner that was located before and could not be reached
   */
  locate(id: string, kind: IssuedKind, hops: number, gone?: Owner): Located | Promise<Located>;
  /** Called with what became of each forwarded request, and the ms until its response began. */
  onForwarded?: (outcome: ForwardOutcome, ms: number) => void;
  /** Ends what it keeps open. */
  close(): void;
}

/**
 * `absent`: nothing listens where the process was; `closed`: it closed the connection before it took the request; `unreachable`: no
 * connection to it, though it may live on; `lost`: it took the request and ended without a response.
 */
export type ForwardOutcome = "answered" | "absent" | "closed" | "unreachable" | "lost";

/**
 * Session ids, handles of tasks and states of parked calls begin with the process that issued them: its number among
 * those of one machine, or the random id of a replica. The prefix is neither secret nor proof.
 */
const ISSUED = /^([0-9a-z]{1,8})-/;

/** @param issuer undefined where there is one process: `text` is returned unchanged */
export const withIssuer = (issuer: string | undefined, text: string): string =>
  issuer === undefined ? text : `${issuer}-${text}`;

/** The process that issued `text`; undefined where it has no prefix. */
export const issuerOf = (text: string): string | undefined => ISSUED.exec(text)?.[1];

/** `text` without its prefix. */
export const withoutIssuer = (text: string): string => text.replace(ISSUED, "");
