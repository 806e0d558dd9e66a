/** What do several replicas, each a whole gateway, have in common? The interfaces, which a feature implements. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonObject } from "../wire/json.js";
import type { Principal } from "./client.js";
import type { ListKind } from "./lists.js";
import type { Certificates, Owners } from "./owners.js";
import type { SharedStore } from "./shared-store.js";
import type { StopSignal } from "./stop.js";

/** What the processes of one gateway share, where it is several replicas. */
export interface Shared {
  /** All of them have it. */
  readonly secret: string;
  /** Undefined if they share none, or if nothing of this process is in it. */
  readonly store: SharedStore | undefined;
  /** This process as one of the replicas; undefined where it serves no hosts, such as a command. */
  readonly replica: ReplicaParts | undefined;
}

/** One replica, as its gateway uses it. */
export interface ReplicaParts {
  /** The id of this replica: five of `0-9a-z`, at least one of them a letter, random at each start. */
  readonly id: string;
  /** Absent if the replicas share no store. */
  readonly store?: SharedStore;
  readonly directory: ReplicaDirectory;
  /** Where requests belong whose session or call another replica issued. */
  readonly owners: Owners;
  /** Where other replicas connect. */
  readonly listener: PeerAddress;
  /** Absent if sessions end with their replica. */
  readonly sessions?: SessionRecords;
  /** Absent if each replica counts for itself. */
  readonly limits?: SharedLimits;
  readonly approvals: SharedApprovals;
  readonly servers: SharedServers;
  readonly messages: FeatureMessages;
  /** Uses a nonce once over all replicas: false where it was used within `ttlMs`. */
  useOnce(nonce: string, ttlMs: number): Promise<boolean>;
  /** Reports what happens from now on. */
  observe(observer: ReplicaObserver): void;
  /**
   * The listener for replicas is bound at this port: other replicas learn of this one from now on. Resolves when they can,
   * or a second later.
   */
  start(port: number): Promise<void>;
  /** This replica is about to stop, and takes over nothing more. Resolves when the others know, or have not answered in time. */
  leave(): Promise<void>;
  /** Other replicas forget this one. */
  close(): Promise<void>;
}

/** What a feature tells and asks the same feature at the other replicas, over connections that have proven the key of the cluster. */
export interface FeatureMessages {
  /** The id of this replica. */
  readonly own: string;
  /** Asks all others. Resolves to the answers of those that were reached, within seconds; never rejects. */
  ask(topic: string, message: JsonObject): Promise<readonly JsonObject[]>;
  /** Answers what others ask. Messages and answers have 4 MiB at most. */
  answer(topic: string, answer: (message: JsonObject) => JsonObject): void;
}

/** What the metrics of replicas count. */
export interface ReplicaObserver {
  /** A session whose replica was gone was taken over, was another principal's, or could not be taken over. */
  onAdopted?: (outcome: "adopted" | "refused" | "failed") => void;
  /** The store was asked for a part of a limit. */
  onLeaseCall?: (kind: "rate" | "concurrency") => void;
}

/** The listener for other replicas. */
interface PeerAddress {
  readonly bind: { readonly host: string; readonly port: number };
  readonly tls?: Certificates;
  /** The content of a forwarded request; undefined if it is none of a host, and has been answered. */
  readonly admit: (request: IncomingMessage, response: ServerResponse) => Admission | undefined;
}

/** A forwarded request that another process of this gateway has signed. */
export interface Admission {
  /** How often the request has been forwarded. */
  readonly hops: number;
  /** The host, as the process that it connected to has authenticated it. */
  readonly principal: Principal;
}

/** What replicas tell each other of the servers that they all use. Calls need none of it. */
export interface SharedServers {
  /** `identity`: how the server is reached, secrets included; only a digest of it leaves the process. */
  of(identity: string): SharedServer;
}

/** One server, as other replicas know it. */
export interface SharedServer {
  /** Which era it was found to be of; undefined if no replica knows or the store does not answer. Never rejects. */
  readEra(): Promise<JsonObject | undefined>;
  keepEra(era: JsonObject): void;
  /** Tells the others that a list has changed, and is this one now. */
  listChanged(kind: ListKind, items: readonly JsonObject[]): void;
  /**
   * Calls `listener` when another replica found a list changed; `isSame` says whether these entries are the list that it found.
   * Returns what ends it.
   */
  onListChanged(
    listener: (kind: ListKind, isSame: (items: readonly JsonObject[]) => boolean) => void,
  ): () => void;
}

/** Another replica. */
export interface Replica {
  readonly id: string;
  /** Of its peer listener. */
  readonly url: string;
  readonly version: string;
  /** Whether it is about to stop: it still answers for what is its own, and takes nothing new. */
  readonly isLeaving: boolean;
  /** The time of day in ms; absent if it does not say. */
  readonly startedAt?: number;
}

/** What `cardea doctor` has found out about something outside of this process, such as one of the replicas. */
export interface Finding {
  /** "store", "replicas", or a replica by its id or URL. */
  readonly about: string;
  readonly ok: boolean;
  readonly sentence: string;
  /** What to do about it, where that can be known. */
  readonly advice?: string;
}

/** Where the replicas are. */
export interface ReplicaDirectory {
  /** The id of this replica. */
  readonly own: string;
  /** How many replicas there are with this one, as far as is known; at least 1. */
  readonly count: number;
  /** The replica that issues ids with this prefix; undefined if none runs. One that has started before the call is found. */
  find(issuer: string): Promise<Replica | undefined>;
  /** Whether what is in neither the directory nor the store is certainly over: false in and after a loss of the store. */
  isCertain?(): Promise<boolean>;
  /** All others. */
  others(): readonly Replica[];
  /** A replica whose registration has expired without notice: it has ended, is suspended, or only cannot reach the store. */
  silent?(id: string): Replica | undefined;
}

/** What of a legacy session outlives its process. */
export interface SessionState {
  readonly principal: Principal;
  readonly endpoint: string;
  readonly revision: string;
  /** What the host declared. */
  readonly capabilities: JsonObject;
  readonly info?: JsonObject;
  readonly logLevel?: string;
  /** Exposed URIs. */
  readonly subscriptions: readonly string[];
}

/** A session whose process is gone, or has given it away. */
export interface AdoptedSession extends Omit<SessionState, "principal"> {
  /** The replica that issued it, or the earlier process of this machine. */
  readonly from: string;
}

/**
 * Keeps the records of the sessions of this process, and takes over those of others: of the replicas of a cluster, or of earlier
 * processes of this machine.
 */
export interface SessionRecords {
  /**
   * Writes the record, after the session was opened and after each change. A promise resolves when the record would outlive this
   * process, or cannot be written; where there is none, that is not worth to wait for.
   */
  write(id: string, state: SessionState): Promise<void> | undefined;
  /** Whether a session that is not open here may be another process's; false where it has certainly ended. */
  mayAdopt(id: string): boolean;
  /** The session has ended. */
  remove(id: string): void;
  /**
   * Makes this process the owner of a session whose owner is gone, or has given it to this one; undefined if there is none
   * for this principal here. @throws GatewayError `overloaded` while the store is away, and where another process is the owner
   */
  adopt(id: string, principal: Principal, endpoint: string): Promise<AdoptedSession | undefined>;
  /** The session was adopted and could not be opened: it may be adopted again, here or elsewhere. */
  release(id: string): void;
  /** Called with a session that another replica has taken over while this one was suspended. */
  onTaken?: (id: string) => void;
  /** Gives a session to another replica; false if it stays. */
  move(id: string): Promise<boolean>;
  /** Set by the edge: for how long (ms) a session has not been used, 0 while it is in use; undefined where it is not open. */
  idleMsOf?: (id: string) => number | undefined;
  /** This process is about to stop, and ends its sessions afterwards. */
  stopping?(): void;
}

/** Approvals that hold for a time at all replicas, by a key for what was approved. */
export interface SharedApprovals {
  /** The approval that holds; undefined if there is none, and while the store is away. */
  find(key: string): Promise<{ readonly id: string; readonly leftMs: number } | undefined>;
  /** Lets an approval hold for `ms`; while the store is away at this replica only. */
  keep(key: string, id: string, ms: number): Promise<void>;
  /** @throws GatewayError `overloaded` while the store is away: the approval still holds */
  revoke(key: string): Promise<void>;
  /** Calls `listener` where approvals no longer hold, or may not; `isMeant` says which. Returns what ends it. */
  onRevoked(listener: (isMeant: (key: string) => boolean) => void): () => void;
}

/** What a limit lets through: a rate with its burst, or a number in each window of time. */
export type BudgetSettings =
  | { readonly kind: "rate"; readonly capacity: number; readonly perMs: number }
  | { readonly kind: "quota"; readonly count: number; readonly windowMs: number };

/** Calls that may be spent, of a limit that all replicas count together. */
export interface SharedBudget {
  /** Ms until a call is left here; 0 when one is. Without a lease there is none, whatever the store has. */
  readonly waitMs: number;
  /** The same without asking for a lease: 0 if the store did not refuse one. */
  readonly knownWaitMs: number;
  /** Whether nothing is admitted because the store is away (`onOutage: closed`). */
  readonly isClosed: boolean;
  /** Spends one call; check `waitMs` first. The returned function refunds it. */
  spend(): () => void;
  /** Leases calls where none is left here; undefined if nothing has to be awaited. Never rejects. */
  prepare(): Promise<void> | undefined;
}

/** Places for calls that run at the same time, over all replicas. */
export interface SharedPlaces {
  /**
   * Resolves to a function that sets the place free. `limit`: how many there are. Rejects with the reason of `signal` when it
   * is aborted first, and with `StoreUnavailable` where nothing is admitted because the store is away (`onOutage: closed`).
   */
  take(limit: number, signal: StopSignal): Promise<() => void>;
}

/** Limits that replicas count together. Keys are of any length, and are kept as digests. */
export interface SharedLimits {
  budget(key: string, settings: BudgetSettings): SharedBudget;
  places(key: string): SharedPlaces;
  /** The part of a limit that is this replica's own where nothing can be asked: 1 / number of replicas. */
  readonly share: number;
}
