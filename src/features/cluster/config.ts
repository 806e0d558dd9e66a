/** The section `cluster`, completed, and its contradictions. */
import { resolve } from "node:path";
import type { Config } from "../../config/config.js";
import type { SectionFault } from "../../config/section.js";
import type { ClusterShape } from "./schema.js";

/** How replicas share state and reach each other. */
export interface ClusterConfig {
  /** Absent without a shared store. */
  readonly store?: StoreConfig;
  readonly peers: PeersConfig;
  readonly onOutage: "share" | "closed" | "open";
  /** Whether a session outlives its replica. */
  readonly adopt: boolean;
}

/** The shared store. */
export interface StoreConfig {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  /** The prefix of all keys and channels. */
  readonly prefix: string;
  readonly tls?: CertificateFiles;
}

/** PEM files, by their absolute paths. */
export interface CertificateFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** How replicas reach each other: registered in the store, or as the addresses of a DNS name. */
export type PeersConfig =
  | {
      readonly kind: "store";
      readonly listen: HostAndPort;
      /** Without a trailing slash; absent if it is the address of `listen`. */
      readonly advertise?: string;
      /** Absent if it is derived from the secret of `keys.state`. */
      readonly key?: string;
      readonly mtls?: Required<CertificateFiles>;
    }
  | { readonly kind: "dns"; readonly name: string; readonly port: number };

/** An IPv6 address has no brackets. */
interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

const DEFAULT_PEER_PORT = 9001;
const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
const PATH = ["cluster"] as const;

/** Files are relative to `folder`. */
export function completeCluster(
  { store: written, peers, onOutage = "share", adopt }: ClusterShape,
  folder: string,
): ClusterConfig {
  const store = written === "none" ? undefined : written;
  return {
    ...(store !== undefined && {
      store: { ...store, ...(store.tls !== undefined && { tls: absolute(store.tls, folder) }) },
    }),
    peers: typeof peers === "string" ? dnsPeers(peers) : storePeers(peers, folder),
    onOutage,
    adopt: adopt ?? store !== undefined,
  };
}

/** What is incomplete, or contradicts itself. */
export function clusterFaults(
  { store: written, peers, adopt }: ClusterShape,
  { keys }: { readonly keys?: unknown },
): readonly SectionFault[] {
  const faults: SectionFault[] = [];
  const store = written === "none" ? undefined : written;
  if (store === undefined) {
    if (typeof peers !== "string") {
      const message =
        'cluster.peers with "listen" needs "store", in which replicas find each other; without one it is "dns:NAME"';
      faults.push({ path: PATH, message, key: "peers" });
    }
    if (adopt === true) {
      const message = 'cluster.adopt needs "store", in which sessions are recorded';
      faults.push({ path: PATH, message, key: "adopt" });
    }
  } else if (store.tls !== undefined && !store.url.startsWith("rediss:")) {
    const message = 'cluster.store.tls needs an address that begins with "rediss:"';
    faults.push({ path: [...PATH, "store"], message, key: "tls" });
  }
  const key = typeof peers === "string" ? undefined : peers.key;
  if (keys === undefined && key === undefined) {
    const message =
      'cluster needs a secret that all replicas share: "keys": { "state": … }, or "key" in cluster.peers';
    faults.push({ path: [], message, key: "cluster" });
  }
  return typeof peers === "string" ? faults : [...faults, ...peerFaults(peers)];
}

function peerFaults({ listen: address, advertise, mtls }: ListeningPeers): readonly SectionFault[] {
  const faults: SectionFault[] = [];
  const { host, port } = hostAndPort(address);
  const path = [...PATH, "peers"];
  if (port > 65_535)
    faults.push({ path, message: "cluster.peers.listen has a port above 65535", key: "listen" });
  if (advertise === undefined && WILDCARDS.has(host)) {
    const message = `cluster.peers needs "advertise": no other replica can connect to ${host}`;
    faults.push({ path, message, key: "listen" });
  }
  if (advertise !== undefined && advertise.startsWith("https:") !== (mtls !== undefined)) {
    const message = 'cluster.peers.advertise is an https URL with "mtls", and only then';
    faults.push({ path, message, key: "advertise" });
  }
  return faults;
}

/** Whether the store of the cluster holds the sign-ins: they are encrypted there with a key that all replicas have. */
export const sharesSignIns = ({ features }: Pick<Config, "features">): boolean =>
  features.cluster?.store !== undefined && features.credentials !== undefined;

/** What the replicas of a cluster do not share: paths and sentences, for warnings. */
export function notShared(
  config: Pick<Config, "features" | "servers" | "auth">,
): readonly Omit<SectionFault, "key">[] {
  const { auth, servers } = config;
  const { cluster } = config.features;
  if (cluster === undefined || sharesSignIns(config)) return [];
  const byPersons = servers.filter(({ auth: own }) => own !== undefined && own.as !== "service");
  const said = [
    ...(auth?.signIn === undefined
      ? []
      : ["auth.signIn: a host that signed in at one replica is refused by the others"]),
    ...(byPersons.length === 0
      ? []
      : [
          `the sign-ins to ${byPersons.map(({ name }) => name).join(", ")}: a person signs in at each replica`,
        ]),
  ];
  const remedy =
    cluster.store === undefined
      ? 'make the folders "credentials" and "sign-ins" of their state one shared volume, or set "store"'
      : 'set "credentials": { "key": … }, the same at each replica, and the store keeps them';
  return said.map((sentence) => ({ path: PATH, message: `replicas do not share ${sentence}; ${remedy}` }));
}

function dnsPeers(text: string): PeersConfig {
  const [, name = "", port] = text.split(":");
  return { kind: "dns", name, port: port === undefined ? DEFAULT_PEER_PORT : Number(port) };
}

type ListeningPeers = Exclude<ClusterShape["peers"], string>;

/** `10.0.0.7:9001`, `[::1]:9001` */
function hostAndPort(address: string): HostAndPort {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) };
}

function storePeers(
  { listen: address, advertise, mtls, ...rest }: ListeningPeers,
  folder: string,
): PeersConfig {
  const listen = hostAndPort(address);
  return {
    ...rest,
    kind: "store",
    listen,
    ...(advertise !== undefined && { advertise }),
    ...(mtls !== undefined && {
      mtls: {
        ca: resolve(folder, mtls.ca),
        cert: resolve(folder, mtls.cert),
        key: resolve(folder, mtls.key),
      },
    }),
  };
}

const absolute = (files: CertificateFiles, folder: string): CertificateFiles =>
  Object.fromEntries(Object.entries(files).map(([name, path]) => [name, resolve(folder, path)]));

/** The secrets of the section. */
export const secretsOfCluster = ({ store, peers }: ClusterConfig): readonly string[] => {
  const key = peers.kind === "store" ? peers.key : undefined;
  // The address may contain credentials.
  const url = store?.url.includes("@") ? store.url : undefined;
  return [url, store?.password, key].filter((each) => each !== undefined);
};

/** The secret that all processes of the same hosts share; undefined if the config has none. */
export function sharedSecret({ keys, features }: Pick<Config, "keys" | "features">): string | undefined {
  const { cluster } = features;
  return keys?.state ?? (cluster?.peers.kind === "store" ? cluster.peers.key : undefined);
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    readonly cluster?: ClusterConfig;
  }
}
