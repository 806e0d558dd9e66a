/** The section `cluster`, completed, and its contradictions. */
import { resolve } from "node:path";
import type { ClusterShape } from "./cluster-schema.js";
import type { Config } from "./config.js";
import type { Findings } from "./findings.js";
import type { Path } from "./tree.js";

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

/**
 * Adds incomplete settings to `findings`. Files are relative to `folder`. `hasStateKey`: whether `keys.state` is set.
 */
export function completeCluster(
  { store: written, peers, onOutage = "share", adopt }: ClusterShape,
  folder: string,
  hasStateKey: boolean,
  findings: Findings,
): ClusterConfig {
  const store = written === "none" ? undefined : written;
  if (store === undefined) {
    if (typeof peers !== "string") {
      const sentence =
        'cluster.peers with "listen" needs "store", in which replicas find each other; without one it is "dns:NAME"';
      findings.add(PATH, sentence, "peers");
    }
    if (adopt === true)
      findings.add(PATH, 'cluster.adopt needs "store", in which sessions are recorded', "adopt");
  } else if (store.tls !== undefined && !store.url.startsWith("rediss:")) {
    findings.add([...PATH, "store"], 'cluster.store.tls needs an address that begins with "rediss:"', "tls");
  }
  const key = typeof peers === "string" ? undefined : peers.key;
  if (!hasStateKey && key === undefined) {
    const sentence =
      'cluster needs a secret that all replicas share: "keys": { "state": … }, or "key" in cluster.peers';
    findings.add([], sentence, "cluster");
  }
  return {
    ...(store !== undefined && {
      store: { ...store, ...(store.tls !== undefined && { tls: absolute(store.tls, folder) }) },
    }),
    peers: typeof peers === "string" ? dnsPeers(peers) : storePeers(peers, folder, findings),
    onOutage,
    adopt: adopt ?? store !== undefined,
  };
}

/** Whether the store of the cluster holds the sign-ins: they are encrypted there with a key that all replicas have. */
export const sharesSignIns = ({ cluster, features }: Pick<Config, "cluster" | "features">): boolean =>
  cluster?.store !== undefined && features.credentials !== undefined;

/** What the replicas of a cluster do not share: paths and sentences, for warnings. */
export function notShared(
  config: Pick<Config, "cluster" | "features" | "servers" | "auth">,
): readonly { readonly path: Path; readonly message: string }[] {
  const { cluster, auth, servers } = config;
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

function storePeers(
  { listen: address, advertise, mtls, ...rest }: Exclude<ClusterShape["peers"], string>,
  folder: string,
  findings: Findings,
): PeersConfig {
  const at = address.lastIndexOf(":");
  const listen = { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) };
  const peers = [...PATH, "peers"];
  if (listen.port > 65_535) findings.add(peers, "cluster.peers.listen has a port above 65535", "listen");
  if (advertise === undefined && WILDCARDS.has(listen.host)) {
    const sentence = `cluster.peers needs "advertise": no other replica can connect to ${listen.host}`;
    findings.add(peers, sentence, "listen");
  }
  if (advertise !== undefined && advertise.startsWith("https:") !== (mtls !== undefined)) {
    findings.add(peers, 'cluster.peers.advertise is an https URL with "mtls", and only then', "advertise");
  }
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
export const secretsOfCluster = (cluster: ClusterConfig | undefined): readonly string[] => {
  const { store, peers } = cluster ?? {};
  const key = peers?.kind === "store" ? peers.key : undefined;
  // The address may contain credentials.
  const url = store?.url.includes("@") ? store.url : undefined;
  return [url, store?.password, key].filter((each) => each !== undefined);
};

/** The secret that all processes of the same hosts share; undefined if the config has none. */
export function sharedSecret({ keys, cluster }: Pick<Config, "keys" | "cluster">): string | undefined {
  return keys?.state ?? (cluster?.peers.kind === "store" ? cluster.peers.key : undefined);
}
