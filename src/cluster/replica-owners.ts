/** Which replica serves a session, parked call or task? Its issuer while that runs, else the one that has taken it over. */
import { LRUCache } from "lru-cache";
import type { Replica, ReplicaDirectory } from "../core/cluster.js";
import { issuerOf } from "../core/issuer.js";
import type { Certificates, IssuedKind, Located, Owner, Owners } from "../core/owners.js";
import { stringAt } from "../wire/json.js";
import { askReplica } from "./ask-replica.js";
import type { PeerKey } from "./peer-key.js";

/** What the owners are found by. */
export interface ReplicaOwnersOptions {
  readonly directory: ReplicaDirectory;
  readonly key: PeerKey;
  readonly tls?: Certificates;
  /** Absent where sessions end with their replica. */
  readonly sessions?: SessionOwners;
  /** Whether the replica answers at its address. Default: asked by HTTP. */
  readonly isAlive?: (replica: Replica) => Promise<boolean>;
}

/** The owners of sessions that have outlived their replica. */
export interface SessionOwners {
  /** Whether this replica serves the session, whichever issued it. */
  isHeld(id: string): boolean;
  /** Whether this replica must look in the record before it serves a session that it has, or had. */
  mustVerify(id: string): boolean;
  /**
   * Makes this replica the owner in place of `owner`, which is gone, and resolves to who is the owner then; undefined where there is
   * no record any more. @throws GatewayError `overloaded` while the store is away
   */
  claim(id: string, owner: string): Promise<string | undefined>;
  /** The replica that the record names; undefined where there is no record. */
  ownerOf(id: string): Promise<string | undefined>;
}

/** How long (ms) an answer of a replica that is silent in the store holds, and of how many replicas something is kept. */
const ASKED_MS = 1_000;
const MAX_ASKED = 100;

/** The other replicas, by the id with which what they issue begins. */
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
    // A replica that forwards a session to one that has not issued it knows that its issuer does not serve it any more.
    const isMoved = kind === "session" && sessions !== undefined && (hops > 0 || sessions.mustVerify(id));
    const replica = issuer === directory.own || isMoved ? undefined : await this.#running(issuer, gone);
    if (replica !== undefined) return replica;
    // A handle of a task opens everywhere; the state of a parked call only where it is parked.
    if (kind !== "session") return kind === "task" ? "here" : "nowhere";
    const owner = await sessions?.ownerOf(id);
    if (owner === undefined) return issuer === directory.own ? "here" : "nowhere";
    if (owner === directory.own) return "here";
    const running = await this.#running(owner, gone);
    if (running !== undefined) return running;
    // One of the replicas that ask at once has it then, and opens it for the first request of its principal.
    const next = await sessions?.claim(id, owner);
    if (next === directory.own) return "here";
    return (next === undefined ? undefined : await this.#running(next, gone)) ?? "nowhere";
  }

  close(): void {}

  async #running(id: string, gone: Owner | undefined): Promise<Owner | undefined> {
    const { directory } = this.options;
    // An address that refuses connections is that of a process that has ended, however fresh its registration is.
    if (gone?.name === id) return undefined;
    const replica = (await directory.find(id)) ?? (await this.#cutOff(id));
    return replica === undefined ? undefined : this.#ownerAt(replica);
  }

  /** A replica that answers although its registration has run out: it does not reach the store, and still has what is its own. */
  async #cutOff(id: string): Promise<Replica | undefined> {
    const silent = this.options.directory.silent?.(id);
    if (silent === undefined) return undefined;
    const { isAlive = (replica) => this.#answers(replica) } = this.options;
    // One question for all requests that come meanwhile, and in the second after the answer.
    const asked = this.#asked.get(id) ?? isAlive(silent);
    this.#asked.set(id, asked);
    return (await asked) ? silent : undefined;
  }

  async #answers({ id, url }: Replica): Promise<boolean> {
    const { directory, key, tls } = this.options;
    const answer = await askReplica(url, { id: directory.own, key, ...(tls !== undefined && { tls }) });
    // Another process may have its address by now.
    return answer.kind === "page" && stringAt(answer.page, "id") === id;
  }

  /** The same object while nothing of the replica changes. */
  #ownerAt({ id, url, isLeaving }: Replica): Owner {
    const { directory, key, tls } = this.options;
    const known = this.#known.get(id);
    if (known?.url === url && known.owner.isLeaving === isLeaving) return known.owner;
    const owner: Owner = {
      name: id,
      address: { url: new URL(url), ...(tls !== undefined && { tls }) },
      admission: (method, path, hops) => key.header(directory.own, hops, method, path),
      isLeaving,
    };
    this.#known.set(id, { url, owner });
    return owner;
  }
}
