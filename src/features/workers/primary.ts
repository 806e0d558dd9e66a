/**
 * Runs several worker processes as one gateway: the primary process supervises them and serves their merged admin
 * pages. It accepts the connections of hosts; workers forward requests that belong to another worker's session.
 */
import cluster from "node:cluster";
import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { channelsOf } from "../../cli/feature.js";
import type { Served, ServingContext } from "../../cli/serving-mode.js";
import type { Config } from "../../config/config.js";
import { GatewayError } from "../../core/errors.js";
import { clientAddress } from "../../http/client-address.js";
import { Metrics } from "../../telemetry/metrics.js";
import { typesOf } from "../../upstream/supervision/channel-kind.js";
import { DEFAULT_LISTEN } from "../admin/feature.js";
import { createAdminListener } from "../admin/server.js";
import { workerActions } from "./act-on-workers.js";
import { ConnectionDealer } from "./connection-dealer.js";
import { workerCallFeed } from "./follow-calls.js";
import { forwardToAnyWorker } from "./forward-to-any.js";
import { WORKER_ENV } from "./identity.js";
import { MergedAdminPages } from "./merged-admin-pages.js";
import { personsOfWorkers } from "./persons-of-workers.js";
import { WorkerPool } from "./worker-pool.js";

/** What the primary may use, and how many workers it starts. */
interface PrimaryContext extends ServingContext {
  readonly count: number;
}

/** The primary, with no worker started yet. @throws Error if this process is itself a worker. */
export async function createPrimary(
  config: Config,
  { count, logger, version, ownerToken, onProcessLost, features }: PrimaryContext,
): Promise<Served> {
  if (!cluster.isPrimary) throw new Error("a worker process cannot have workers");
  const featureAdmin = await Promise.all(features.flatMap((feature) => feature.loadAdmin?.() ?? []));
  const { "listen.admin": listen = DEFAULT_LISTEN } = config.features;
  const folder = mkdtempSync(join(tmpdir(), "cardea-"));
  const identity = { count, folder, secret: randomBytes(32).toString("base64") };
  cluster.setupPrimary({ exec: process.argv[1], args: process.argv.slice(2) });
  let fail: (error: GatewayError) => void = () => {};
  const failed = new Promise<GatewayError>((resolve) => {
    fail = resolve;
  });
  const dealer = new ConnectionDealer(logger);
  const workers = new WorkerPool({
    identity,
    dealer,
    addresses: { listen: config.listen, sections: sectionsOfListen(config.features) },
    logger,
    onWorkerLost: onProcessLost,
    fork: () => cluster.fork({ [WORKER_ENV]: "1" }),
    onRequiredServerMissing: (number) => fail(requiredServerMissing(number)),
  });
  let draining = false;
  const overview = new MergedAdminPages({
    identity,
    workers: () => workers.status(),
    ownMetrics: new Metrics({ version }),
    gauges: features.flatMap(({ gauges = [] }) => gauges),
    featurePages: featureAdmin.flatMap(({ pages }) => pages),
    version,
    startedAt: Date.now(),
    draining: () => draining,
  });
  const toAnyWorker = forwardToAnyWorker(identity, () => workers.status());
  const admin = createAdminListener({
    ...listen,
    ownerToken,
    persons: personsOfWorkers(identity, () => workers.status()),
    allowedHosts: config.listen.http.allowedHosts,
    addressOf: clientAddress(config.listen.http.trustedProxies),
    logger,
    metrics: { text: () => overview.metrics() },
    readiness: () => overview.readiness(),
    version,
    added: {
      serverTypes: typesOf(channelsOf(features)),
      serverMembers: featureAdmin.flatMap(({ serverMembers = [] }) => serverMembers),
    },
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
      const url = await workers.start(await dealer.listen(config.listen.http));
      const { starting = [] } = await overview.readiness();
      return { url, adminUrl, starting };
    },
    async stop({ immediate = false } = {}) {
      draining = true;
      dealer.stopping();
      await workers.stop(immediate);
      dealer.close();
      await admin.stop();
      await rm(folder, { recursive: true, force: true });
    },
    hasCutOff: () => workers.hasFailedToStop,
    reload: () => workers.reload(),
  };
}

const requiredServerMissing = (worker: number): GatewayError =>
  new GatewayError(
    "upstream_unavailable",
    "upstream",
    `worker ${worker} could not connect to a required server`,
  );

/** Those that stand in `listen`. */
const sectionsOfListen = (features: Config["features"]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(features).filter(([path]) => path.startsWith("listen.")));
