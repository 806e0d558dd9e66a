/** `cardea doctor`: checks the store and each replica of a cluster, and whether they match. */

import type { Logger } from "../../core/logger.js";
import type { Finding, Replica } from "../../core/replicas.js";
import { untilUp } from "../../core/shared-store.js";
import { type JsonObject, stringAt } from "../../wire/json.js";
import { AuthenticatedValues } from "./authenticated-values.js";
import { checkStore, inSeconds, messageOf } from "./check-store.js";
import type { ClusterConfig } from "./config.js";
import { addressesOf, urlsOf } from "./dns-directory.js";
import { certificatesOf } from "./open-cluster.js";
import { PeerConnections } from "./peer-connections.js";
import { PeerKey } from "./peer-key.js";
import { probeReplica, type ReplicaAnswer } from "./probe-replica.js";
import { openStore } from "./store.js";
import { StoreDirectory } from "./store-directory.js";

/** Input of the checks. */
export interface CheckClusterOptions {
  readonly config: ClusterConfig;
  /** Whether the store holds the sign-ins. Default: no. */
  readonly keepsSignIns?: boolean;
  /** See `ClusterOptions`. */
  readonly secret: string;
  /** The version of this program. */
  readonly version: string;
  /** The time of day in ms. */
  readonly now?: () => number;
}

/** Where a replica is expected; its id if it is registered. */
interface Place {
  readonly url: string;
  readonly id?: string;
}

/** An id that no replica has: it starts with a digit. */
const ASKER = "0";
const CONNECT_MS = 2_000;
/** Clock skew above this (ms) is a finding; above ten minutes, replicas refuse each other. */
const SKEW_MS = 30_000;

/** Checks the store and each replica once; every problem is a finding, including a missing package or certificate. */
export async function checkCluster(options: CheckClusterOptions): Promise<readonly Finding[]> {
  try {
    return await checkAll(options);
  } catch (error) {
    return [{ about: "config", ok: false, sentence: messageOf(error) }];
  }
}

async function checkAll(options: CheckClusterOptions): Promise<readonly Finding[]> {
  const { config, secret } = options;
  const { peers } = config;
  const tls = peers.kind === "store" ? certificatesOf(peers) : undefined;
  const key = new PeerKey(peers.kind === "store" ? (peers.key ?? secret) : secret);
  const { findings, places } = await placesOf(options, key);
  const connections = new PeerConnections({ id: ASKER, key, ...(tls !== undefined && { tls }) });
  const checked = await Promise.all(
    places.map(async (place) => replicaFinding(place, await probeReplica(place.url, connections), options)),
  );
  connections.close();
  if (checked.length === 0 && findings.every(({ ok }) => ok))
    return [...findings, { about: "replicas", ok: true, sentence: "none runs at present" }];
  return [...findings, ...checked];
}

/** The registered replicas, or the addresses of their name; and the findings on the way. */
async function placesOf(
  { config, version, now = () => Date.now(), keepsSignIns = false }: CheckClusterOptions,
  key: PeerKey,
): Promise<{
  readonly findings: readonly Finding[];
  readonly places: readonly Place[];
}> {
  const { store, peers } = config;
  const findings: Finding[] = [];
  let registered: readonly Replica[] = [];
  if (store !== undefined) {
    let reason: unknown;
    const note = ({ error }: { readonly error?: unknown }): void => {
      reason = error;
    };
    const logger: Logger = { error: note, warn: note, info: () => {}, debug: () => {} };
    const opened = await openStore({ config: store, logger });
    try {
      const isUp = await untilUp(opened, CONNECT_MS);
      const { prefix, username } = store;
      const named = username === undefined ? {} : { username };
      findings.push(
        isUp ? await checkStore(opened, { prefix, now, keepsSignIns, ...named }) : unreachable(reason),
      );
      const directory = new StoreDirectory({
        ...{ id: ASKER, version, store: opened, logger },
        values: new AuthenticatedValues(key, prefix),
      });
      if (isUp) await directory.beat();
      registered = directory.others();
      findings.push(...directory.unreadable.map(unreadableFinding));
    } finally {
      await opened.close();
    }
  }
  if (peers.kind === "store") return { findings, places: registered };
  try {
    return { findings, places: urlsOf(await addressesOf(peers.name), peers.port).map((url) => ({ url })) };
  } catch (error) {
    const sentence = `the name ${peers.name} has no addresses: ${messageOf(error)}`;
    const advice = "is it the name of a headless Service, and does one of its replicas run?";
    return { findings: [...findings, { about: "replicas", ok: false, sentence, advice }], places: [] };
  }
}

const unreadableFinding = (id: string): Finding => ({
  about: `replica ${id}`,
  ok: false,
  sentence: "its registration in the store is not authentic: its key of the cluster is another one",
  advice: `${adviceOn("key")}; ${adviceOn("protocol")}`,
});

function unreachable(reason: unknown): Finding {
  return {
    about: "store",
    ok: false,
    sentence: `it does not answer: ${reason === undefined ? "no connection in time" : messageOf(reason)}`,
    advice: "is the address in cluster.store.url right, and are username, password and certificates?",
  };
}

/** The findings about the replica at `place`, from its response. */
export function replicaFinding(
  { url, id }: Place,
  answer: ReplicaAnswer,
  options: Pick<CheckClusterOptions, "secret" | "version" | "now">,
): Finding {
  const about = `replica ${id ?? url}`;
  const at = id === undefined ? "" : ` at ${url}`;
  const now = options.now?.() ?? Date.now();
  if (answer.kind === "failed") {
    return {
      about,
      ok: false,
      sentence: `it cannot be reached${at}: ${messageOf(answer.error)}`,
      advice: "is it the address under which this machine reaches it (cluster.peers), and is the port open?",
    };
  }
  if (answer.kind === "refused") {
    const skewMs = answer.date - now;
    return {
      about,
      ok: false,
      sentence: answer.error.message,
      advice:
        Math.abs(skewMs) > SKEW_MS
          ? `its clock differs by ${inSeconds(skewMs)}: replicas refuse each other beyond ten minutes`
          : adviceOn(answer.reason),
    };
  }
  return pageFinding({ about, url, ...(id !== undefined && { id }) }, answer.page, { ...options, now });
}

function adviceOn(reason: string | undefined): string {
  if (reason === "address")
    return "give each replica its own address in cluster.peers.advertise, at which the others reach it without a relay";
  if (reason === "replica") return "after a restart of that replica this passes in ten seconds";
  if (reason === "key")
    return "give all replicas the same cluster.peers.key, or without one the same keys.state";
  return "run the same version of Cardea at all replicas, and no other program at this address";
}

function pageFinding(
  { about, url, id }: Place & { readonly about: string },
  page: JsonObject,
  { secret, version, now }: { readonly secret: string; readonly version: string; readonly now: number },
): Finding {
  const self = stringAt(page, "id") ?? "?";
  if (id !== undefined && self !== id) {
    return {
      about,
      ok: false,
      sentence: `replica ${self} answers at its address, ${url}`,
      advice:
        "give each replica a cluster.peers.advertise of its own; after a restart this passes in ten seconds",
    };
  }
  const keys = stringAt(page, "keys");
  if (keys !== undefined && keys !== new PeerKey(secret).digest) {
    return {
      about,
      ok: false,
      sentence: "its keys.state is another one: what one replica seals, the other cannot open",
      advice: "give all replicas the same keys.state",
    };
  }
  const theirs = stringAt(page, "version") ?? "?";
  const skewMs = (typeof page.now === "number" ? page.now : now) - now;
  const remarks = [
    ...(theirs === version ? [] : [`its version is ${theirs}, that of this program ${version}`]),
    ...(Math.abs(skewMs) > SKEW_MS ? [`its clock differs by ${inSeconds(skewMs)}`] : []),
  ];
  const name = id === undefined ? ` as ${self}` : ` at ${url}`;
  return {
    about,
    ok: true,
    sentence: `all right: it answers${name}${page.isLeaving === true ? ", and is about to stop" : ""}`,
    ...(remarks.length > 0 && { advice: remarks.join("; ") }),
  };
}
