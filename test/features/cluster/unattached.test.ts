/** Who closes a replica whose gateway is never made, as another feature cannot be opened? */
import { expect, test } from "vitest";
import { openFeatures } from "../../../src/cli/open-features.js";
import { SILENT } from "../../../src/core/logger.js";
import type { ReplicaParts } from "../../../src/core/replicas.js";
import { openReplica } from "../../../src/features/cluster/feature.js";

const replicaThat = (onClose: () => void): ReplicaParts =>
  ({ close: async () => onClose() }) as Partial<ReplicaParts> as ReplicaParts;

test("the feature closes it where the next one cannot be opened", async () => {
  let closed = 0;
  const replica = replicaThat(() => {
    closed += 1;
  });
  const features = [
    { name: "cluster", open: async () => openReplica("secret", replica) },
    { name: "broken", open: () => Promise.reject(new RangeError("cannot be used")) },
  ];
  const context = {
    ...{ env: {}, stateFolder: undefined, logger: SILENT, redact: (text: string) => text, version: "1" },
    ...{ worker: undefined, configDigest: undefined, servesHosts: true },
  };
  await expect(openFeatures(features, { features: {}, keys: { state: "" } }, context)).rejects.toThrow(
    "cannot be used",
  );
  expect(closed).toBe(1);
});

test("its gateway closes it otherwise, so that it is not closed twice", async () => {
  let closed = 0;
  const feature = openReplica(
    "secret",
    replicaThat(() => {
      closed += 1;
    }),
  );
  feature.attach?.({
    config: () => ({}) as never,
    pipeline: () => ({}) as never,
    toolCalls: () => undefined,
    url: () => undefined,
    operatorUrl: () => undefined,
    approvalWaited: () => {},
    connectedClients: () => [],
    onClientConnected: () => {},
    messages: undefined,
    store: undefined,
    credentials: undefined,
    personSessions: undefined,
    emit: undefined,
    replica: undefined,
    issuer: undefined,
    answerMs: () => 0,
    enterQueue: () => () => {},
    count: () => {},
    isApproved: () => false,
  });
  await feature.close({ isImmediate: true });
  expect(closed).toBe(0);
});
