/** Finds the running replicas through the addresses of a DNS name, e.g. that of a headless Service. */
import { lookup } from "node:dns/promises";
import { isIPv6 } from "node:net";
import { inBackground, type Logger } from "../../core/logger.js";
import type { Replica, ReplicaDirectory } from "../../core/replicas.js";
import { stringAt } from "../../wire/json.js";
import type { PeerConnections } from "./peer-connections.js";
import { probeReplica, replicaFacts } from "./probe-replica.js";

/** The name to resolve, and this replica's identity. */
export interface DnsDirectoryOptions {
  readonly id: string;
  readonly name: string;
  readonly port: number;
  readonly connections: PeerConnections;
  readonly logger: Logger;
  /** Resolves a name. Default: the system resolver. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** The status page of the replica at a URL; undefined if it does not respond. Default: by HTTP. */
  readonly ask?: (url: string) => Promise<Replica | undefined>;
  /** Called with each replica that is seen for the first time. */
  readonly onJoined?: (replica: Replica) => void;
  /** Called after a stall of this process that may have made other replicas consider it gone. */
  readonly onLapsed?: () => void;
  /** A monotonic clock in ms. Default: `performance.now()`. */
  readonly now?: () => number;
}

/** Resolution interval in ms; for unknown ids the second time is between two resolutions, which lookups wait for. */
const EVERY_MS = 5_000;
const REFRESH_MS = 1_000;
/** A replica that does not respond counts as gone after this time (ms): it may only be busy. */
const TTL_MS = 10_000;
/** After a stall of this time (ms) other replicas, which poll every 5 s, may consider this process gone. */
const STALL_MS = 4_000;
const TICK_MS = 1_000;

/** The directory of this replica; a replica whose address has disappeared is gone. */
export class DnsDirectory implements ReplicaDirectory {
  readonly own: string;
  #others: ReadonlyMap<string, Replica> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #ticks: NodeJS.Timeout | undefined;
  #tickedAt: number | undefined;
  /** When each replica last responded. */
  #answeredAt = new Map<string, number>();
  #reading: Promise<void> | undefined;
  /** For the lookups that wait. */
  #next: Promise<void> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #failed = false;

  constructor(private readonly options: DnsDirectoryOptions) {
    this.own = options.id;
  }

  get count(): number {
    return this.#others.size + 1;
  }

  others(): readonly Replica[] {
    return [...this.#others.values()];
  }

  async find(issuer: string): Promise<Replica | undefined> {
    const known = this.#others.get(issuer);
    if (known !== undefined || issuer === this.own) return known;
    await this.#readAnew();
    return this.#others.get(issuer);
  }

  /** Another replica has said itself that it is about to stop. */
  markLeaving(id: string): void {
    const replica = this.#others.get(id);
    if (replica !== undefined) this.#others = new Map(this.#others).set(id, { ...replica, isLeaving: true });
  }

  /** Whether the other replicas certainly consider this one alive. */
  get isRegistered(): boolean {
    return !this.hasStalled;
  }

  /** Whether a stall of this process may have made other replicas consider it gone. */
  get hasStalled(): boolean {
    return this.#tickedAt !== undefined && this.#now() - this.#tickedAt >= STALL_MS;
  }

  start(): void {
    this.#tick();
    this.#ticks = setInterval(() => this.#tick(), TICK_MS);
    this.#ticks.unref();
    const read = () => inBackground(this.#read(), this.options.logger, "finding the replicas");
    this.#timer = setInterval(read, EVERY_MS);
    this.#timer.unref();
    read();
  }

  /** Resolves the name once before the first time. */
  async known(): Promise<void> {
    if (this.#readAt === Number.NEGATIVE_INFINITY) await this.#read();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearInterval(this.#ticks);
    await this.#reading;
  }

  #tick(): void {
    const { hasStalled } = this;
    this.#tickedAt = this.#now();
    if (hasStalled) this.options.onLapsed?.();
  }

  #now(): number {
    return this.options.now?.() ?? performance.now();
  }

  /** A resolution that starts after this call; calls until then share it. */
  #readAnew(): Promise<void> {
    this.#next ??= this.#nextRead().finally(() => {
      this.#next = undefined;
    });
    return this.#next;
  }

  async #nextRead(): Promise<void> {
    await this.#reading;
    const waitMs = this.#readAt + REFRESH_MS - this.#now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    this.#next = undefined;
    await this.#read();
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const {
      name,
      port,
      logger,
      resolve = addressesOf,
      ask = (url) => probeByHttp(url, this.options.connections),
    } = this.options;
    let addresses: readonly string[];
    try {
      addresses = await resolve(name);
    } catch (error) {
      if (!this.#failed) logger.warn({ name, error }, "the name of the replicas cannot be resolved");
      this.#failed = true;
      return;
    }
    this.#failed = false;
    const urls = urlsOf(addresses, port);
    const found = await Promise.all(urls.map(ask));
    const now = this.#now();
    const others = new Map<string, Replica>();
    const answeredAt = new Map<string, number>();
    const keep = (replica: Replica, at: number): void => {
      others.set(replica.id, replica);
      answeredAt.set(replica.id, at);
    };
    for (const replica of found) if (replica !== undefined && replica.id !== this.own) keep(replica, now);
    const silent = new Set(urls.filter((_, at) => found[at] === undefined));
    for (const replica of this.#others.values()) {
      const at = this.#answeredAt.get(replica.id) ?? now;
      if (silent.has(replica.url) && now - at < TTL_MS) keep(replica, at);
    }
    const joined = [...others.values()].filter(({ id }) => !this.#others.has(id));
    this.#others = others;
    this.#answeredAt = answeredAt;
    this.#readAt = now;
    for (const replica of joined) this.options.onJoined?.(replica);
  }
}

/** The URLs of the peer listeners at these addresses. */
export const urlsOf = (addresses: readonly string[], port: number): readonly string[] =>
  addresses.map((address) => `http://${isIPv6(address) ? `[${address}]` : address}:${port}`);

/** The addresses of a name, from the system resolver. @throws the system error */
export const addressesOf = async (name: string): Promise<readonly string[]> =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/** The status page of the replica at `url`; undefined if it does not respond in time. */
async function probeByHttp(url: string, connections: PeerConnections): Promise<Replica | undefined> {
  const answer = await probeReplica(url, connections);
  if (answer.kind !== "page") return undefined;
  const { page } = answer;
  const id = stringAt(page, "id");
  if (id === undefined) return undefined;
  return { id, url, ...replicaFacts(page) };
}
