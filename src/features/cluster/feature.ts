/** Several gateways as one, on several machines behind a load balancer (`cluster`, docs/cluster.md). */
import type { Feature, FeaturedConfig } from "../../cli/feature.js";
import type { OpenFeature } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import type { ReplicaParts } from "../../core/replicas.js";
import { type OwnStore, untilUp } from "../../core/shared-store.js";
import { sharedSecret, sharesSignIns } from "./config.js";

/** Is there with the section `cluster`. */
export const cluster: Feature = {
  name: "cluster",
  loadSections: async () => [(await import("./section.js")).section],
  async open(config, { servesHosts, logger, version, worker }): Promise<OpenFeature | undefined> {
    const settings = config.features.cluster;
    const secret = sharedSecret(config);
    if (settings === undefined || secret === undefined) return undefined;
    if (!servesHosts) {
      const store = await openOwnStore(config, logger);
      return {
        name: "cluster",
        shared: { secret, store, replica: undefined },
        close: async () => store?.close(),
      };
    }
    const { openCluster } = await import("./open-cluster.js");
    const replica = await openCluster({
      ...{ config: settings, secret, logger, version },
      ...(worker !== undefined && { worker }),
    });
    return openReplica(secret, replica);
  },
  openStore: openOwnStore,
  sharesLimits: ({ features }) => features.cluster?.store !== undefined,
  async findings(config, version) {
    const settings = config.features.cluster;
    const secret = sharedSecret(config);
    if (settings === undefined || secret === undefined) return undefined;
    const { checkCluster } = await import("./check-cluster.js");
    return checkCluster({ config: settings, secret, version, keepsSignIns: sharesSignIns(config) });
  },
};

/** Its gateway closes the replica, before it closes the listener for operators; without a gateway it is closed here. */
export function openReplica(secret: string, replica: ReplicaParts): OpenFeature {
  let hasGateway = false;
  return {
    name: "cluster",
    shared: { secret, store: replica.store, replica },
    attach() {
      hasGateway = true;
    },
    problems: () =>
      replica.store?.isUp === false ? [{ text: "the cluster's store cannot be reached", blocks: false }] : [],
    async close() {
      if (!hasGateway) await replica.close();
    },
  };
}

/** How long (ms) a command waits for the connection to the store. */
const CONNECT_MS = 2_000;

/** The store where it keeps the sign-ins: for a process that is no replica. It may be away still. */
async function openOwnStore(config: FeaturedConfig, logger: Logger): Promise<OwnStore | undefined> {
  const store = config.features.cluster?.store;
  if (store === undefined || !sharesSignIns(config)) return undefined;
  const { openStore } = await import("./store.js");
  const opened = await openStore({ config: store, logger });
  await untilUp(opened, CONNECT_MS);
  return opened;
}
