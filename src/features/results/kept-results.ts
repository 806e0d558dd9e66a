/** Which results are kept, for which client, and how long? */
import { randomBytes } from "node:crypto";
import type { Client } from "../../core/client.js";
import { isIdentified } from "../../core/fair-share.js";
import { withIssuer } from "../../core/owners.js";
import { idOfKey, principalKey } from "../../core/principal.js";

/** A result that was too large. */
export interface KeptResult {
  /** Unguessable; names nothing but the process that keeps it. */
  readonly id: string;
  /** The key of its principal. */
  readonly principal: string;
  /** The affinity of its session; undefined if it was called without one. */
  readonly session: string | undefined;
  readonly server: string;
  /** The name that the host has called. */
  readonly tool: string;
  /** The whole result as JSON, without its opening brace. */
  readonly members: Buffer;
  /** How large a page of it may be, in characters of JSON. */
  readonly pageCharacters: number;
  readonly keepMs: number;
  /** In ms since 1970. */
  readonly at: number;
  /** When it was read last, in ms since 1970; undefined if never. */
  readAt: number | undefined;
  /** When it goes, by `performance.now()`. */
  expiresAt: number;
}

/** What is to be kept. */
export type NewResult = Pick<KeptResult, "server" | "tool" | "members" | "pageCharacters" | "keepMs"> & {
  readonly client: Client;
  /** Of the server's results for this principal (bytes); undefined: no limit of its own. */
  readonly serverBytes: number | undefined;
};

/** The most results: of one principal, and in all. */
const MAX_OF_PRINCIPAL = 1_000;
const MAX_RESULTS = 10_000;
/** The share of all bytes that one principal may have, where the gateway knows its principals. */
const PRINCIPAL_SHARE = 1 / 4;
/** The share up to which a principal displaces results of the one with most, before its own. */
const RESERVED_SHARE = 1 / 16;
/** 128 bits, in hex: some hosts write the host part of a URI in small letters. */
const ID_BYTES = 16;

/** The results of one principal, the one that was read least lately first. */
interface Shelf {
  bytes: number;
  readonly results: Map<string, KeptResult>;
}

/** Kept in memory, for one gateway. */
export class KeptResults {
  readonly #shelves = new Map<string, Shelf>();
  readonly #all = new Map<string, KeptResult>();
  #bytes = 0;
  #maxBytes: number;
  /** Fires when the first result may have to go. */
  #timer: NodeJS.Timeout | undefined;
  /** When, by `performance.now()`. */
  #due = Number.POSITIVE_INFINITY;
  /** This process, with which ids begin; undefined where it is the only one. */
  issuer: string | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sets how much is kept in all; what is over it goes. */
  limit(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    while (this.#bytes > maxBytes) this.#dropOldestOf(this.#largestShelf());
  }

  /** Undefined if it is larger than what its principal may have. A result that is kept already stays the same one: tasks are polled. */
  keep({ client, serverBytes, ...result }: NewResult): KeptResult | undefined {
    const principal = principalKey(client.principal);
    const session = client.session ? client.affinity : undefined;
    const known = this.#equalTo(result, principal, session);
    if (known !== undefined) return this.#used(known);
    const size = result.members.length;
    const most = isIdentified(client.principal) ? this.#maxBytes * PRINCIPAL_SHARE : this.#maxBytes;
    if (size > Math.min(most, serverBytes ?? most)) return undefined;
    if (serverBytes !== undefined) this.#makeRoomForServer(principal, result.server, serverBytes - size);
    this.#makeRoom(principal, size, most);
    const kept: KeptResult = {
      ...result,
      id: withIssuer(this.issuer, randomBytes(ID_BYTES).toString("hex")),
      principal,
      session,
      at: Date.now(),
      readAt: undefined,
      expiresAt: performance.now() + result.keepMs,
    };
    let shelf = this.#shelves.get(principal);
    if (shelf === undefined) {
      shelf = { bytes: 0, results: new Map() };
      this.#shelves.set(principal, shelf);
    }
    shelf.results.set(kept.id, kept);
    shelf.bytes += size;
    this.#all.set(kept.id, kept);
    this.#bytes += size;
    this.#expireBy(kept.expiresAt);
    return kept;
  }

  /** The result of that id, if it is this client's; else undefined, as if it did not exist. Reading it keeps it longer. */
  read({ principal, affinity }: Client, id: string): KeptResult | undefined {
    const kept = this.#all.get(id);
    if (kept === undefined || kept.principal !== principalKey(principal) || hasExpired(kept))
      return undefined;
    if (kept.session !== undefined && kept.session !== affinity) return undefined;
    kept.readAt = Date.now();
    return this.#used(kept);
  }

  /** The session of that affinity has ended. */
  releaseClient(affinity: string): void {
    for (const kept of [...this.#all.values()]) if (kept.session === affinity) this.#drop(kept);
  }

  /** The principal of that id has signed out: at a server, or of the gateway. */
  signedOut(principalId: string, server: string | undefined): void {
    for (const kept of [...this.#all.values()]) {
      const isOf = server === undefined || kept.server === server;
      if (isOf && idOfKey(kept.principal) === principalId) this.#drop(kept);
    }
  }

  /** The newest first, without content. */
  all(): readonly KeptResult[] {
    return [...this.#all.values()].toReversed();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#due = Number.POSITIVE_INFINITY;
    this.#shelves.clear();
    this.#all.clear();
    this.#bytes = 0;
  }

  #equalTo(
    { server, tool, members, pageCharacters, keepMs }: Omit<NewResult, "client" | "serverBytes">,
    principal: string,
    session: string | undefined,
  ): KeptResult | undefined {
    for (const kept of this.#shelves.get(principal)?.results.values() ?? []) {
      const isOfCaller = kept.session === session && kept.server === server && kept.tool === tool;
      const isPaged = kept.pageCharacters === pageCharacters && kept.keepMs === keepMs;
      if (isOfCaller && isPaged && kept.members.equals(members) && !hasExpired(kept)) return kept;
    }
    return undefined;
  }

  /** It goes last from now on. */
  #used(kept: KeptResult): KeptResult {
    kept.expiresAt = performance.now() + kept.keepMs;
    const shelf = this.#shelves.get(kept.principal);
    shelf?.results.delete(kept.id);
    shelf?.results.set(kept.id, kept);
    return kept;
  }

  #makeRoomForServer(principal: string, server: string, most: number): void {
    const shelf = this.#shelves.get(principal);
    const own = [...(shelf?.results.values() ?? [])].filter((kept) => kept.server === server);
    let bytes = own.reduce((sum, { members }) => sum + members.length, 0);
    for (const kept of own) {
      if (bytes <= most) return;
      bytes -= kept.members.length;
      this.#drop(kept);
    }
  }

  #makeRoom(principal: string, size: number, most: number): void {
    const own = (): Shelf | undefined => this.#shelves.get(principal);
    for (let shelf = own(); shelf !== undefined; shelf = own()) {
      if (shelf.bytes + size <= most && shelf.results.size < MAX_OF_PRINCIPAL) break;
      this.#dropOldestOf(shelf);
    }
    while (this.#bytes + size > this.#maxBytes || this.#all.size >= MAX_RESULTS) {
      const shelf = own();
      const isSmall = (shelf?.bytes ?? 0) + size <= this.#maxBytes * RESERVED_SHARE;
      this.#dropOldestOf(shelf === undefined || isSmall ? this.#largestShelf() : shelf);
    }
  }

  #largestShelf(): Shelf | undefined {
    let largest: Shelf | undefined;
    for (const shelf of this.#shelves.values())
      if (largest === undefined || shelf.bytes > largest.bytes) largest = shelf;
    return largest;
  }

  #dropOldestOf(shelf: Shelf | undefined): void {
    const [oldest] = shelf?.results.values() ?? [];
    if (oldest === undefined) throw new Error("no kept result can be dropped");
    this.#drop(oldest);
  }

  #drop({ id, principal, members }: KeptResult): void {
    if (!this.#all.delete(id)) return;
    this.#bytes -= members.length;
    const shelf = this.#shelves.get(principal);
    if (shelf === undefined) return;
    shelf.bytes -= members.length;
    shelf.results.delete(id);
    if (shelf.results.size === 0) this.#shelves.delete(principal);
  }

  #expireBy(at: number): void {
    if (at >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = at;
    this.#timer = setTimeout(() => this.#expire(), Math.max(1, at - performance.now())).unref();
  }

  #expire(): void {
    this.#due = Number.POSITIVE_INFINITY;
    const now = performance.now();
    for (const kept of [...this.#all.values()]) {
      if (kept.expiresAt <= now) this.#drop(kept);
      else this.#expireBy(kept.expiresAt);
    }
  }
}

const hasExpired = ({ expiresAt }: KeptResult): boolean => expiresAt <= performance.now();
