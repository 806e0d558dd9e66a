/** Joins the cluster: store, directory, peer listener and shared state of this replica. */
import { randomInt } from "node:crypto";
import { isIPv6 } from "node:net";
import type { ClusterConfig, PeersConfig } from "../config/cluster-config.js";
import { MAX_PEM_BYTES, readTextFileSync } from "../config/text-file.js";
import type { ClusterObserver, ClusterParts, SharedStore } from "../core/cluster.js";
import type { Logger } from "../core/logger.js";
import type { Certificates } from "../core/owners.js";
import { DnsDirectory } from "./dns-directory.js";
import { PeerKey } from "./peer-key.js";
import { admitPeers } from "./peer-listener.js";
import { RememberedApprovals } from "./remembered-approvals.js";
import { ReplicaOwners } from "./replica-owners.js";
import { StoredSessions } from "./session-records.js";
import { LeasedLimits } from "./shared-limits.js";
import { ServersInStore } from "./shared-servers.js";
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
export async function openCluster(options: ClusterOptions): Promise<ClusterParts> {
  const { config, secret, version, logger, worker = 1 } = options;
  const { peers } = config;
  const id = newReplicaId();
  const startedAt = Date.now();
  const observed: ClusterObserver = {};
  const key = new PeerKey(peers.kind === "store" ? (peers.key ?? secret) : secret);
  const opened =
    options.store === undefined && config.store !== undefined
      ? await openStore({ config: config.store, logger })
      : undefined;
  const store = options.store ?? opened;
  const clock = options.now === undefined ? {} : { now: options.now };
  const common = { id, logger, onLapsed: () => sessions?.lapsed(), ...clock };
  const directory =
    peers.kind === "dns" || store === undefined
      ? new DnsDirectory({ ...namesOf(peers), key, ...common })
      : new StoreDirectory({ onEmptied: () => sessions?.writeAll(), version, startedAt, store, ...common });
  const sessions =
    config.adopt && store !== undefined
      ? new StoredSessions({
          store,
          directory,
          secret,
          logger,
          onAdopted: (outcome) => observed.onAdopted?.(outcome),
        })
      : undefined;
  const limits =
    store === undefined
      ? undefined
      : new LeasedLimits({
          ...{ store, directory, secret, logger, onOutage: config.onOutage },
          onLeaseCall: (kind) => observed.onLeaseCall?.(kind),
        });
  const tls = peers.kind === "store" ? certificatesOf(peers) : undefined;
  const { host, port } = peers.kind === "store" ? peers.listen : { host: "::", port: peers.port };
  const secure = tls === undefined ? {} : { tls };
  const keys = new PeerKey(secret).digest;
  let isLeaving = false;
  return {
    id,
    ...(store !== undefined && { store }),
    directory,
    owners: new ReplicaOwners({ directory, key, ...secure, ...(sessions !== undefined && { sessions }) }),
    ...(sessions !== undefined && { sessions }),
    ...(limits !== undefined && { limits }),
    ...(store !== undefined && {
      approvals: new RememberedApprovals(store, secret),
      servers: new ServersInStore(store, secret, id),
    }),
    observe: (observer) => Object.assign(observed, observer),
    listener: {
      bind: { host, port: port === 0 ? 0 : port + worker - 1 },
      ...secure,
      admit: admitPeers(key, () => ({ id, version, isLeaving, startedAt, keys, now: Date.now() }), logger),
    },
    async start(bound) {
      logger.info(
        { replica: id, port: bound },
        `replica ${id} of the cluster, for the others at port ${bound}`,
      );
      return directory.start(peers.kind === "store" ? advertised(peers, bound) : "");
    },
    leave() {
      isLeaving = true;
      if (directory instanceof StoreDirectory) directory.leave();
    },
    async close() {
      sessions?.close();
      await limits?.close();
      await directory.close();
      await opened?.close();
    },
  };
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

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const LENGTH = 5;

/** Five of `0-9a-z`, of which the first is a letter: it cannot be a worker number. About 46 million are possible. */
export function newReplicaId(): string {
  const all = LETTERS + DIGITS;
  const rest = Array.from({ length: LENGTH - 1 }, () => all[randomInt(all.length)]);
  return [LETTERS[randomInt(LETTERS.length)], ...rest].join("");
}
