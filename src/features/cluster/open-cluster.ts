/** Joins the cluster: store, directory, peer listener and shared state of this replica. */
import { randomInt } from "node:crypto";
import { isIPv6 } from "node:net";
import { MAX_PEM_BYTES, readTextFileSync } from "../../config/text-file.js";
import { inBackground, type Logger } from "../../core/logger.js";
import type { Certificates } from "../../core/owners.js";
import type { Replica, ReplicaObserver, ReplicaParts } from "../../core/replicas.js";
import { type SharedStore, untilUp } from "../../core/shared-store.js";
import { AuthenticatedValues } from "./authenticated-values.js";
import type { ClusterConfig, PeersConfig } from "./config.js";
import { DnsDirectory } from "./dns-directory.js";
import { PeerConnections } from "./peer-connections.js";
import { PeerKey } from "./peer-key.js";
import { admitPeers } from "./peer-listener.js";
import { HttpMessages } from "./peer-messages.js";
import { addressOf } from "./peer-proof.js";
import { RememberedApprovals } from "./remembered-approvals.js";
import { ReplicaOwners } from "./replica-owners.js";
import { StoredSessions } from "./session-records.js";
import type { SharedFacts } from "./shared-facts.js";
import { LeasedLimits } from "./shared-limits.js";
import { ServersOfReplicas } from "./shared-servers.js";
import { SingleUses } from "./single-uses.js";
import { openStore } from "./store.js";
import { StoreDirectory } from "./store-directory.js";

/** Dependencies of a replica. */
export interface ClusterOptions {
  readonly config: ClusterConfig;
  /** Shared by all replicas: `keys.state`, or the key of the peers. */
  readonly secret: string;
  readonly version: string;
  readonly logger: Logger;
  /** From 1 if this process is one of several workers: each is a replica with a port of its own. */
  readonly worker?: number;
  /** Replaces the store of the config; the caller closes it. */
  readonly store?: SharedStore;
  /** See `StoreDirectoryOptions`. */
  readonly now?: () => number;
}

/** The parts of a cluster for one gateway. @throws Error if a package or a certificate is missing */
export async function openCluster(options: ClusterOptions): Promise<ReplicaParts> {
  const { config, logger } = options;
  const base = baseOf(options);
  const opened =
    options.store === undefined && config.store !== undefined
      ? await openStore({ config: config.store, logger })
      : undefined;
  const replica = replicaWith(base, options.store ?? opened);
  return {
    ...replica,
    async close() {
      await replica.close();
      await opened?.close();
    },
  };
}

/** Who the replica is, and how it reaches others. */
interface ReplicaBase {
  readonly options: ClusterOptions;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly key: PeerKey;
  readonly values: AuthenticatedValues;
  readonly secure: { readonly tls?: Certificates };
  readonly connections: PeerConnections;
}

/** @throws Error if a certificate is missing */
function baseOf(options: ClusterOptions): ReplicaBase {
  const { config, secret } = options;
  const { peers } = config;
  const id = newReplicaId();
  const key = new PeerKey(peers.kind === "store" ? (peers.key ?? secret) : secret);
  const tls = peers.kind === "store" ? certificatesOf(peers) : undefined;
  const secure = tls === undefined ? {} : { tls };
  return {
    ...{ options, id, key, secure, startedAt: Date.now() },
    values: new AuthenticatedValues(key, config.store?.prefix ?? ""),
    connections: new PeerConnections({ id, key, ...secure }),
  };
}

function replicaWith(base: ReplicaBase, store: SharedStore | undefined): ReplicaParts {
  const { options, id, secure, connections } = base;
  const { config, logger } = options;
  const observed: ReplicaObserver = {};
  const tellEverything = (replica: Replica): void => {
    const told = Promise.all(facts().map((each) => each.tellAll(replica)));
    inBackground(
      told.then(() => {}),
      logger,
      "telling a new replica what the others know",
    );
  };
  const peers = peersOf(base, store, { observed, tellEverything });
  const { directory, sessions } = peers;
  const { limits, approvals, uses, servers } = sharedStateOf(base, store, { observed, ...peers });
  const facts = (): readonly SharedFacts[] =>
    [sessions?.facts, approvals.facts, uses.facts, ...servers.facts].filter((each) => each !== undefined);
  const presence = new Presence(base, peers);
  return {
    id,
    ...(store !== undefined && { store }),
    directory,
    owners: new ReplicaOwners({ directory, connections, ...(sessions !== undefined && { sessions }) }),
    ...(sessions !== undefined && { sessions }),
    ...(limits !== undefined && { limits }),
    ...{ approvals, servers },
    messages: {
      own: id,
      ask: async (topic, message) =>
        (await peers.messages.ask(topicOf(topic), message)).answers.map(({ answer }) => answer),
      answer: (topic, answer) => peers.messages.answer(topicOf(topic), answer),
    },
    useOnce: (nonce, ttlMs) => uses.use(nonce, ttlMs),
    observe: (observer) => Object.assign(observed, observer),
    listener: {
      bind: bindingOf(config.peers, options.worker),
      ...secure,
      admit: presence.admit(),
    },
    start: (bound) => presence.start(bound),
    leave: () => presence.leave(),
    async close() {
      sessions?.close();
      for (const each of facts()) each.close();
      await limits?.close();
      await directory.close();
    },
  };
}

/** The other replicas. */
interface Peers {
  readonly messages: HttpMessages;
  readonly directory: DnsDirectory | StoreDirectory;
  /** Undefined where no replica takes over the sessions of another. */
  readonly sessions: StoredSessions | undefined;
}

/** Which replicas there are, how they are asked, and whose sessions are taken over. */
function peersOf(
  { options, id, startedAt, values, connections }: ReplicaBase,
  store: SharedStore | undefined,
  {
    observed,
    tellEverything,
  }: { readonly observed: ReplicaObserver; readonly tellEverything: (replica: Replica) => void },
): Peers {
  const { config, secret, version, logger, now } = options;
  const messages = new HttpMessages(() => directory, connections, logger, tellEverything);
  const common = {
    ...{ id, logger, onLapsed: () => sessions?.lapsed(), onJoined: tellEverything },
    ...(now !== undefined && { now }),
  };
  const directory =
    config.peers.kind === "dns" || store === undefined
      ? new DnsDirectory({ ...namesOf(config.peers), connections, ...common })
      : new StoreDirectory({
          onEmptied: () => sessions?.writeAll(),
          ...{ version, startedAt, store, values, ...common },
        });
  const sessions =
    config.adopt && store !== undefined
      ? new StoredSessions({
          ...{ store, directory, secret, values, messages, logger },
          onAdopted: (outcome) => observed.onAdopted?.(outcome),
        })
      : undefined;
  return { messages, directory, sessions };
}

/** What all replicas know together. */
function sharedStateOf(
  { options, values }: ReplicaBase,
  store: SharedStore | undefined,
  { observed, messages, directory }: Peers & { readonly observed: ReplicaObserver },
) {
  const { config, secret, logger } = options;
  const shared = store === undefined ? {} : { store };
  const limits =
    store === undefined
      ? undefined
      : new LeasedLimits({
          ...{ store, directory, secret, logger, onOutage: config.onOutage },
          onLeaseCall: (kind) => observed.onLeaseCall?.(kind),
        });
  const approvals = new RememberedApprovals({ messages, secret, logger, values, ...shared });
  const uses = new SingleUses({ messages, logger, lifeMs: USES_MS, ...shared });
  const servers = new ServersOfReplicas(messages, secret, logger, async () => {
    if (store !== undefined && !(await untilUp(store, STORE_WAIT_MS))) return;
    await directory.known();
  });
  return { limits, approvals, uses, servers };
}

/** The replica as the others see it, from its start until it leaves. */
class Presence {
  readonly #base: ReplicaBase;
  readonly #peers: Peers;
  readonly #keys: string;
  #isLeaving = false;
  #ownAddress: string | undefined;

  constructor(base: ReplicaBase, peers: Peers) {
    this.#base = base;
    this.#peers = peers;
    this.#keys = new PeerKey(base.options.secret).digest;
    peers.messages.answer(LEAVING, (_, from) => {
      peers.directory.markLeaving(from);
      return {};
    });
  }

  /** Admits requests of other replicas. */
  admit(): ReturnType<typeof admitPeers> {
    const { id, key, startedAt, options } = this.#base;
    const { version, logger, config } = options;
    const keys = this.#keys;
    return admitPeers({
      ...{ id, key, logger, answers: this.#peers.messages },
      page: () => ({ id, version, isLeaving: this.#isLeaving, startedAt, keys, now: Date.now() }),
      // The addresses of a name are those at which connections are taken.
      isOwnAddress: (address, local) => address === (config.peers.kind === "dns" ? local : this.#ownAddress),
    });
  }

  async start(bound: number): Promise<void> {
    const { id, options } = this.#base;
    const { peers } = options.config;
    options.logger.info(
      { replica: id, port: bound },
      `replica ${id} of the cluster, for the others at port ${bound}`,
    );
    const url = peers.kind === "store" ? advertised(peers, bound) : "";
    if (url !== "") this.#ownAddress = addressOf(url);
    await this.#peers.directory.start(url);
    inBackground(this.#peers.messages.announce(url), options.logger, "announcing this replica");
  }

  async leave(): Promise<void> {
    this.#isLeaving = true;
    const { directory, messages } = this.#peers;
    if (directory instanceof StoreDirectory) await directory.leave();
    await messages.ask(LEAVING, {});
  }
}

/** Where the listener for peers is bound. Each worker has its own port. */
function bindingOf(peers: PeersConfig, worker = 1): { readonly host: string; readonly port: number } {
  const { host, port } = peers.kind === "store" ? peers.listen : { host: "::", port: peers.port };
  return { host, port: port === 0 ? 0 : port + worker - 1 };
}

function namesOf(peers: PeersConfig): { readonly name: string; readonly port: number } {
  if (peers.kind !== "dns") throw new TypeError("replicas that register need a store");
  return peers;
}

/** The URL at which other replicas reach this one; each worker has its own port. */
function advertised(
  { listen, advertise, mtls }: Extract<PeersConfig, { kind: "store" }>,
  bound: number,
): string {
  if (advertise === undefined) {
    const host = isIPv6(listen.host) ? `[${listen.host}]` : listen.host;
    return `${mtls === undefined ? "http" : "https"}://${host}:${bound}`;
  }
  const url = new URL(advertise);
  const offset = listen.port === 0 ? 0 : bound - listen.port;
  if (url.port !== "" && offset !== 0) url.port = String(Number(url.port) + offset);
  return url.href.replace(/\/$/, "");
}

/** The certificates of the config. @throws Error if one cannot be read */
export function certificatesOf({ mtls }: Extract<PeersConfig, { kind: "store" }>): Certificates | undefined {
  if (mtls === undefined) return undefined;
  const read = (file: string): Buffer => Buffer.from(readTextFileSync(file, MAX_PEM_BYTES));
  return { ca: read(mtls.ca), cert: read(mtls.cert), key: read(mtls.key) };
}

/** Of the messages of a feature. */
const topicOf = (topic: string): string => `feature:${topic}`;

/** The topic of a replica that is about to stop. */
const LEAVING = "leaving";
/** How long (ms) a use is remembered, at most as long as the state of a question can be answered. */
const USES_MS = 24 * 3_600_000;
/** How long (ms) a first connection to a server waits for the store to connect. */
const STORE_WAIT_MS = 250;

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const LENGTH = 5;

/** Five of `0-9a-z`, of which the first is a letter: it cannot be a worker number. About 46 million are possible. */
export function newReplicaId(): string {
  const all = LETTERS + DIGITS;
  const rest = Array.from({ length: LENGTH - 1 }, () => all[randomInt(all.length)]);
  return [LETTERS[randomInt(LETTERS.length)], ...rest].join("");
}
