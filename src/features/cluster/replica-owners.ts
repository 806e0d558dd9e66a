/**
 * Finds the replica that serves a session, parked call or task: its issuer while that runs, otherwise the replica that
 * took it over.
 */
import { LRUCache } from "lru-cache";
import { overloaded } from "../../core/errors.js";
import { type IssuedKind, issuerOf, type Located, type Owner, type Owners } from "../../core/owners.js";
import type { Replica, ReplicaDirectory } from "../../core/replicas.js";
import type { PeerConnections } from "./peer-connections.js";
import { probeReplica } from "./probe-replica.js";

/** Dependencies of the lookup. */
export interface ReplicaOwnersOptions {
  readonly directory: ReplicaDirectory;
  readonly connections: PeerConnections;
  /** Absent if sessions end with their replica. */
  readonly sessions?: SessionOwners;
  /** Whether the replica responds at its address. Default: checked by HTTP. */
  readonly isAlive?: (replica: Replica) => Promise<boolean>;
}

/** The owners of sessions that outlived their replica. */
export interface SessionOwners {
  /** Whether this replica serves the session, whichever replica issued it. */
  isHeld(id: string): boolean;
  /** Whether this replica must check the record before it serves a session that it has, or had. */
  mustVerify(id: string): boolean;
  /**
   * Makes this replica the owner instead of `owner`, which is gone, and resolves to the current owner; undefined if
   * there is no record any longer. @throws GatewayError `overloaded` during an outage of the store
   */
  claim(id: string, owner: string): Promise<string | undefined>;
  /** The replica in the record; undefined without an authentic record. */
  ownerOf(id: string): Promise<string | undefined>;
  /** The other replica that says itself that it serves the session. */
  holder(id: string): Promise<string | undefined>;
}

/** Cache lifetime (ms) of a check of a replica without a valid registration, and the number of cached replicas. */
const ASKED_MS = 1_000;
const MAX_ASKED = 100;
const RETRY_MS = 1_000;

/** The other replicas, keyed by the id that prefixes what they issue. */
export class ReplicaOwners implements Owners {
  onForwarded?: NonNullable<Owners["onForwarded"]>;
  readonly #asked = new LRUCache<string, Promise<boolean>>({ max: MAX_ASKED, ttl: ASKED_MS });

  readonly #known = new LRUCache<string, { readonly url: string; readonly owner: Owner }>({ max: MAX_ASKED });

  constructor(private readonly options: ReplicaOwnersOptions) {}

  isForeign(id: string): boolean {
    const issuer = issuerOf(id);
    if (issuer === undefined) return false;
    const { sessions, directory } = this.options;
    if (sessions?.mustVerify(id) === true) return true;
    return issuer !== directory.own && sessions?.isHeld(id) !== true;
  }

  async locate(id: string, kind: IssuedKind, hops: number, gone?: Owner): Promise<Located> {
    const { directory } = this.options;
    const issuer = issuerOf(id) ?? "";
    const { sessions } = this.options;
    // A replica that forwards a session to one that has not issued it knows that its issuer no longer serves it.
    const isMoved = kind === "session" && sessions !== undefined && (hops > 0 || sessions.mustVerify(id));
    const replica = issuer === directory.own || isMoved ? undefined : await this.#running(issuer, gone);
    if (replica !== undefined) return replica;
    // A task handle opens everywhere; the state of a parked call only at its replica. What a replica kept is gone with it.
    if (kind === "task" || kind === "kept") return "here";
    if (kind === "state") {
      await this.#checkCertain();
      return "nowhere";
    }
    const owner = await sessions?.ownerOf(id);
    if (owner === directory.own && sessions?.isHeld(id) === true) return "here";
    const running = await this.#running(owner, gone);
    if (running !== undefined) return running;
    // The record may be lost, or an earlier one: the replica that serves the session reports it.
    const holder = await this.#running(await sessions?.holder(id), gone);
    if (holder !== undefined) return holder;
    if (owner === undefined) {
      if (sessions?.isHeld(id) !== true) await this.#checkCertain();
      return issuer === directory.own ? "here" : "nowhere";
    }
    if (owner === directory.own) return "here";
    // Of concurrent requests one replica becomes the owner, and opens it for the first request of its principal.
    const next = await sessions?.claim(id, owner);
    if (next === directory.own) return "here";
    const last = await this.#running(next, gone);
    if (last !== undefined) return last;
    // Its record was deleted meanwhile; or it changed owners, and the next one is gone, too.
    if (next === undefined) return "nowhere";
    throw overloaded("the session is being taken over", RETRY_MS);
  }

  /** @throws GatewayError `overloaded` while a replica or a session may run that the store does not list */
  async #checkCertain(): Promise<void> {
    if ((await this.options.directory.isCertain?.()) !== false) return;
    throw overloaded(
      "the cluster's store, which knows where this is served, cannot be reached or has lost its data",
      RETRY_MS,
    );
  }

  close(): void {
    this.options.connections.close();
  }

  async #running(id: string | undefined, gone: Owner | undefined): Promise<Owner | undefined> {
    const { directory } = this.options;
    if (id === undefined || id === directory.own) return undefined;
    // If an address refuses connections, its process has ended, however fresh its registration is.
    if (gone?.name === id) return undefined;
    const replica = (await directory.find(id)) ?? (await this.#cutOff(id));
    return replica === undefined ? undefined : this.#ownerAt(replica);
  }

  /**
   * A replica that responds although its registration has expired: it cannot reach the store, and still has its
   * sessions.
   */
  async #cutOff(id: string): Promise<Replica | undefined> {
    const silent = this.options.directory.silent?.(id);
    if (silent === undefined) return undefined;
    const { isAlive = (replica) => this.#answers(replica) } = this.options;
    // One check serves all concurrent requests, and those in the second after its response.
    const asked = this.#asked.get(id) ?? isAlive(silent);
    this.#asked.set(id, asked);
    return (await asked) ? silent : undefined;
  }

  async #answers({ id, url }: Replica): Promise<boolean> {
    // Another process may use its address by now, so it proves which one it is.
    return (await probeReplica(url, this.options.connections, id)).kind === "page";
  }

  /** The same object while the replica is unchanged. */
  #ownerAt({ id, url, isLeaving }: Replica): Owner {
    const { directory, connections } = this.options;
    const known = this.#known.get(id);
    if (known?.url === url && known.owner.isLeaving === isLeaving) return known.owner;
    const owner: Owner = {
      name: id,
      address: { url: new URL(url), agent: connections.agentOf(url, id) },
      admission: (method, path, hops, principal) =>
        connections.key.requests.header({ from: directory.own, to: id, hops, principal }, method, path),
      isLeaving,
    };
    this.#known.set(id, { url, owner });
    return owner;
  }
}
