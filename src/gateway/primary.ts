/**
 * Runs several worker processes as one gateway: the primary process supervises them and serves their merged admin
 * pages. Node's cluster shares the port; workers forward requests that belong to another worker's session.
 */
import cluster from "node:cluster";
import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAdminListener } from "../admin/server.js";
import type { Config } from "../config/config.js";
import { GatewayError } from "../core/errors.js";
import type { FeatureAdmin, FeatureGauge } from "../core/feature.js";
import type { Logger } from "../core/logger.js";
import { Metrics } from "../telemetry/metrics.js";
import { type ChannelKinds, typesOf } from "../upstream/supervision/channel-kind.js";
import { workerActions } from "../workers/act-on-workers.js";
import { workerCallFeed } from "../workers/follow-calls.js";
import { forwardToAnyWorker } from "../workers/forward-to-any.js";
import { createMergedAdminPages } from "../workers/merged-admin-pages.js";
import { WORKER_ENV } from "../workers/worker.js";
import { WorkerPool } from "../workers/worker-pool.js";
import type { Gateway } from "./gateway.js";

/** Dependencies of the primary. */
export interface PrimaryOptions {
  readonly count: number;
  readonly logger: Logger;
  readonly version: string;
  /** Handles the orphaned server processes of a killed worker. */
  readonly onWorkerLost: () => Promise<void>;
  /** The gauges of features, which are merged. */
  readonly gauges: readonly FeatureGauge[];
  /** What features add to the admin API. */
  readonly featureAdmin: readonly FeatureAdmin[];
  /** The ways to reach servers that features add. */
  readonly channels: ChannelKinds;
}

/** A gateway as the command line sees it. Each worker watches the config file itself. */
export interface Primary extends Pick<Gateway, "start" | "stop" | "failed" | "hasCutOff"> {
  /** Makes every worker reload its config. */
  reload(): void;
}

/** The primary, with no worker started yet. @throws Error if this process is itself a worker. */
export function createPrimary(
  config: Config,
  { count, logger, version, onWorkerLost, gauges, featureAdmin, channels }: PrimaryOptions,
): Primary {
  if (!cluster.isPrimary) throw new Error("a worker process cannot have workers");
  const folder = mkdtempSync(join(tmpdir(), "cardea-"));
  const identity = { count, folder, secret: randomBytes(32).toString("base64") };
  cluster.setupPrimary({ exec: process.argv[1], args: process.argv.slice(2) });
  let fail: (error: GatewayError) => void = () => {};
  const failed = new Promise<GatewayError>((resolve) => {
    fail = resolve;
  });
  const workers = new WorkerPool({
    identity,
    listen: config.listen,
    logger,
    onWorkerLost,
    fork: () => cluster.fork({ [WORKER_ENV]: "1" }),
    onRequiredServerMissing: (number) =>
      fail(
        new GatewayError(
          "upstream_unavailable",
          "upstream",
          `worker ${number} could not connect to a required server`,
        ),
      ),
  });
  let draining = false;
  const overview = createMergedAdminPages({
    identity,
    workers: () => workers.status(),
    ownMetrics: new Metrics({ version }),
    gauges,
    featurePages: featureAdmin.flatMap(({ pages }) => pages),
    version,
    startedAt: Date.now(),
    draining: () => draining,
  });
  const toAnyWorker = forwardToAnyWorker(identity, () => workers.status());
  const admin = createAdminListener({
    ...config.listen.admin,
    allowedHosts: config.listen.http.allowedHosts,
    logger,
    metrics: { text: () => overview.metrics() },
    readiness: () => overview.readiness(),
    version,
    serverTypes: typesOf(channels),
    actions: workerActions(
      identity,
      () => workers.status(),
      featureAdmin.flatMap(({ operatorActions = [] }) => operatorActions),
    ),
    callFeed: workerCallFeed(identity, () => workers.status()),
    pages: async () => overview.pages,
    featureActions: { actions: featureAdmin.flatMap(({ actions }) => actions), passOn: toAnyWorker },
    mcp: toAnyWorker,
  });

  return {
    failed,
    async start() {
      const { url: adminUrl } = await admin.start();
      const url = await workers.start();
      const { starting = [] } = await overview.readiness();
      return { url, adminUrl, starting };
    },
    async stop({ immediate = false } = {}) {
      draining = true;
      await workers.stop(immediate);
      await admin.stop();
      await rm(folder, { recursive: true, force: true });
    },
    hasCutOff: () => workers.hasFailedToStop,
    reload: () => workers.reload(),
  };
}
