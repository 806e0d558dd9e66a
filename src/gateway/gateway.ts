/**
 * Wires every part together; the only file that knows them all. A host's message comes in through a listener and
 * the edge of its era, goes through the inside of the config in effect, and leaves through one of its servers.
 */

import type { Readable, Writable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { createAdminListener } from "../admin/server.js";
import type { Config } from "../config/config.js";
import type { Reply } from "../core/call.js";
import { ANONYMOUS, type ClientDirectory } from "../core/client.js";
import type { GatewayError } from "../core/errors.js";
import { SERVER_NAME } from "../core/gateway-api.js";
import type { ListKind } from "../core/lists.js";
import type { Logger } from "../core/logger.js";
import { MemoryBudget } from "../core/memory-budget.js";
import { type WorkerIdentity, workerSocket } from "../core/worker-identity.js";
import { principalNamed } from "../downstream/authenticate/api-keys.js";
import {
  type Authentication,
  createAuthentication,
  NO_AUTHENTICATION,
} from "../downstream/authenticate/authentication.js";
import { eraOfMessage } from "../downstream/detect-era.js";
import type { Pipe } from "../downstream/edge.js";
import { createWorkerForwarder } from "../downstream/forward-to-worker.js";
import { checkExposure, createHttpListener } from "../downstream/http-listener.js";
import { createLegacyEdge, type LegacyEdge } from "../downstream/legacy/edge.js";
import { createHttpSse } from "../downstream/legacy/http-sse.js";
import { createModernEdge, type ModernEdge } from "../downstream/modern/edge.js";
import { sealedState } from "../downstream/modern/request-state.js";
import { createStdioListener, type StdioListener } from "../downstream/stdio-listener.js";
import { cliCall, cliExplain, cliLists } from "../operator/cli-calls.js";
import type { ExplainQuery } from "../operator/explain.js";
import { readiness, requiredServers } from "../operator/readiness.js";
import { createStatusPages } from "../operator/status-pages.js";
import { Tasks } from "../routing/tasks.js";
import { OpenStreams } from "../telemetry/gauges.js";
import { Metrics } from "../telemetry/metrics.js";
import { PendingQuestions } from "../telemetry/pending-questions.js";
import { ParkedCalls } from "../upstream/legacy/parked-calls.js";
import { SpawnLimiter } from "../upstream/supervision/spawn-limiter.js";
import { NO_PROCESS_REGISTRY, type ProcessRegistry } from "../upstream/transport/process-registry.js";
import type { JsonObject } from "../wire/json.js";
import { DrainingServers } from "./draining-servers.js";
import { LiveConfig } from "./live-config.js";
import { createOverloadMonitor } from "./overload.js";
import type { PipelineOptions } from "./pipeline.js";
import { createGatewayApi } from "./port.js";
import { gatewayInstanceId, secretKeys } from "./secret-keys.js";

export interface GatewayOptions {
  readonly logger: Logger;
  /** Takes secrets out of what hosts and operators are told. Default: there are none. */
  readonly redact?: (text: string) => string;
  /** The program's own version. */
  readonly version: string;
  /** Where processes of servers are written down, to be found when this one is killed. Default: nowhere. */
  readonly processRegistry?: ProcessRegistry;
  /** Which of several workers this is; absent where there is one process. */
  readonly workerIdentity?: WorkerIdentity;
}

export interface Gateway {
  /** Opens the listeners and resolves when both answer; it waits for no server. @throws the error of the system. */
  start(): Promise<{ readonly url: string; readonly adminUrl: string }>;
  /** Resolves when a server that the config calls `required` could not be met after the start; else never. */
  readonly failed: Promise<GatewayError>;
  /**
   * Says that it is not ready, and takes no new calls: at once, or 5 s later where somebody asks for `/readyz`; and while
   * calls are under way, so long at most, whoever comes to ask is told. Lets them finish for 25 s in all, and ends
   * everything it owns.
   */
  stop(options?: { readonly immediate?: boolean }): Promise<void>;
  /** Serves the host on the pipe until the input ends; `as` is the id of its principal, by default nobody's. */
  stdio(input: Readable, output: Writable, as?: string): Promise<void>;
  /** What a host sees, and from which server, once every server was heard or failed. */
  lists(kind: ListKind): Promise<readonly { readonly server: string; readonly item: JsonObject }[]>;
  /** Calls a tool by the name a host would use. */
  call(name: string, args: JsonObject): Promise<Reply>;
  /** What would become of a call of somebody, and why; nothing is called. */
  explain(supposed: ExplainQuery): ReturnType<typeof cliExplain>;
  /** Puts a new config into effect as a whole; rejects, and keeps the old one, when that cannot be done. */
  reload(config: Config): Promise<void>;
  /** A new config was refused and the old one stays; for the metric and the readiness page. */
  reloadFailed(reasons: readonly string[]): void;
}

/** So long may stopping take until calls under way are cut off, in ms. */
const DRAIN_MS = 25_000;
/** So much of it (ms) is served on, where somebody in front asks whether anything may be sent here, or may yet ask. */
const LINGER_MS = 5_000;
/** Whoever has not asked for so long (ms) does not ask any more. */
const PROBE_WINDOW_MS = 60_000;
const KEEP_ALIVE_MS = 25_000;
/** A state can be answered for so long (ms), and for as long as a call may be parked. */
const MIN_STATE_TTL_MS = 3_600_000;
const SESSIONS = { max: 10_000, idleMs: 30 * 60_000 };

export function createGateway(config: Config, options: GatewayOptions): Gateway {
  const {
    logger,
    version,
    processRegistry = NO_PROCESS_REGISTRY,
    redact = (text) => text,
    workerIdentity,
  } = options;
  const worker = workerIdentity === undefined ? {} : { worker: workerIdentity.number };
  const info = { name: SERVER_NAME, version };
  const metrics = new Metrics({ version });
  const openStreams = new OpenStreams(metrics);
  const overload = createOverloadMonitor({ logger, metrics });
  const { pressure, onShed, streamQuota, bodyBudgetBytes } = overload;
  const keys = secretKeys(config.keys?.state ?? workerIdentity?.secret);
  const startedAt = Date.now();
  let draining = false;
  let reloadErrors: readonly string[] = [];

  // Servers may have to find a session before any session can exist, so the directory looks the edge up late.
  const directory: ClientDirectory = { find: (affinity) => legacy.directory.find(affinity) };
  const pipelineOptions: PipelineOptions = {
    info,
    instance: gatewayInstanceId(workerIdentity?.secret),
    logger,
    redact,
    metrics,
    directory,
    processRegistry,
    spawnLimiter: new SpawnLimiter(),
    drainingServers: new DrainingServers(logger),
    parkedCalls: new ParkedCalls(config.parkedCalls),
    pendingQuestions: new PendingQuestions(metrics, () => stateTtlMs()),
    evaluateQuestion: (server, client, question) =>
      liveConfig.pipeline.evaluateQuestion(server, client, question),
    isAggregated: () => liveConfig.pipeline.config.servers.length > 1,
    sealedState: sealedState({ key: keys.states, ttlMs: () => stateTtlMs(), ...worker }),
    stateSecret: keys.rounds,
    tasks: new Tasks(keys.tasks, workerIdentity?.number),
  };
  const liveConfig = new LiveConfig(config, pipelineOptions);
  // No state is void while the call that it is of still waits.
  const stateTtlMs = (): number =>
    Math.max(MIN_STATE_TTL_MS, liveConfig.pipeline.config.parkedCalls.answerMs);

  const gateway = createGatewayApi(liveConfig, pipelineOptions);
  const memoryBudget = new MemoryBudget();
  const legacy: LegacyEdge = createLegacyEdge({
    gateway,
    sessions: SESSIONS,
    keepAliveMs: KEEP_ALIVE_MS,
    memoryBudget,
    answerMs: () => (liveConfig.pipeline.config.parkedCalls.answerMs * 2) / 3, // sooner than its call is given up
    streamQuota,
    logger,
    ...worker,
    hooks: {
      streamOpened: (kind) => openStreams.opened(kind === "general" ? "session" : "response"),
      streamClosed: (kind) => openStreams.closed(kind === "general" ? "session" : "response"),
    },
  });
  const modern: ModernEdge = createModernEdge({
    gateway,
    gatewayInfo: info,
    keepAliveMs: KEEP_ALIVE_MS,
    streamQuota,
    memoryBudget,
    logger,
    onStreamCount: (kind, change) => (change === 1 ? openStreams.opened(kind) : openStreams.closed(kind)),
  });
  metrics.gauge("orphans", {}, async () => (await processRegistry.orphans()).length);
  metrics.gauge("parkedCalls", {}, () => pipelineOptions.parkedCalls.size);
  metrics.gauge("sessions", { era: "legacy" }, () => legacy.sessions().length);

  const ready = () => readiness({ draining, servers: liveConfig.pipeline.servers, reloadErrors, redact });
  let lastProbeAt = Number.NEGATIVE_INFINITY;
  const readyForProbe = () => {
    lastProbeAt = performance.now();
    return ready();
  };
  const sse = createHttpSse({
    edge: legacy,
    keepAliveMs: KEEP_ALIVE_MS,
    streamQuota,
    logger,
    ...worker,
    hooks: { opened: () => openStreams.opened("sse"), closed: () => openStreams.closed("sse") },
  });
  const authenticationFor = ({ auth }: Config): Authentication =>
    auth === undefined
      ? NO_AUTHENTICATION
      : createAuthentication(auth, {
          url: () => url ?? "",
          logger,
          onFailure: (reason) => metrics.authFailed(reason),
        });
  let authentication = authenticationFor(config);
  const http = createHttpListener({
    listen: config.listen.http,
    gateway,
    modern,
    legacy,
    ...(config.listen.http.legacySse && { sse }),
    // A later config may know others.
    authentication: {
      get isRequired() {
        return authentication.isRequired;
      },
      authenticate: (request) => authentication.authenticate(request),
      metadata: () => authentication.metadata(),
      challenge: (scopes) => authentication.challenge(scopes),
    },
    readiness: readyForProbe,
    pressure,
    onShed,
    bodyBudgetBytes,
    logger,
    ...(workerIdentity !== undefined && {
      workers: {
        forwarder: createWorkerForwarder(workerIdentity, logger),
        socket: workerSocket(workerIdentity, workerIdentity.number, "requests"),
      },
    }),
  });
  const admin = createAdminListener({
    // Of several workers each shows its pages to the first process alone, which shows them to everybody.
    ...(workerIdentity === undefined
      ? config.listen.admin
      : { host: "localhost", port: 0, socket: workerSocket(workerIdentity, workerIdentity.number, "admin") }),
    allowedHosts: config.listen.http.allowedHosts,
    logger,
    redact,
    metrics,
    readiness: readyForProbe,
    pages: createStatusPages({
      pipeline: () => liveConfig.pipeline,
      pendingQuestions: pipelineOptions.pendingQuestions,
      legacy,
      readiness: ready,
      version,
      startedAt,
      url: () => url,
    }),
  });
  let url: string | undefined;
  let listening = false;
  const stdioListeners = new Set<StdioListener>();
  let stopping: Promise<void> | undefined;

  async function stop(graceMs: number): Promise<void> {
    draining = true;
    const listeners = [...stdioListeners].map((pipe) => pipe.stop(graceMs));
    // A load balancer that asks would otherwise send calls to a closed door until it asks again.
    const isProbed = performance.now() - lastProbeAt < PROBE_WINDOW_MS;
    const lingerMs = graceMs > 0 && (isProbed || !hasNoCalls()) ? LINGER_MS : 0;
    const closing = () => http.stop(graceMs - lingerMs, lingerMs, isProbed ? undefined : hasNoCalls);
    await Promise.all([...listeners, listening ? closing() : closeEdges()]);
    await liveConfig.close();
    await admin.stop();
    overload.stop();
  }
  const hasNoCalls = () =>
    [...liveConfig.pipeline.servers.values()].every(
      ({ semaphore }) => semaphore.running + semaphore.queued === 0,
    );
  const closeEdges = () => Promise.all([legacy.close(), modern.close()]);

  /** What changes with a config and belongs to no server. */
  function onConfigReplaced(next: Config, before: Config): void {
    pipelineOptions.parkedCalls.limit(next.parkedCalls);
    // Whoever is known stays the same object as long as nothing about them changes.
    if (!isDeepStrictEqual(next.auth, before.auth)) authentication = authenticationFor(next);
    reloadErrors = [];
    metrics.configReloaded(true);
  }

  return {
    failed: requiredServers(liveConfig.pipeline.servers),
    async start() {
      overload.start();
      const { url: adminUrl } = await admin.start();
      ({ url } = await http.start());
      listening = true;
      return { url, adminUrl };
    },
    stop({ immediate = false } = {}) {
      if (stopping === undefined || immediate) stopping = stop(immediate ? 0 : DRAIN_MS);
      return stopping;
    },
    async stdio(input, output, as) {
      const openEdge = { legacy: (of: Pipe) => legacy.pipe(of), modern: (of: Pipe) => modern.pipe(of) };
      const principal = as === undefined ? ANONYMOUS : principalNamed(as, liveConfig.pipeline.config.auth);
      const pipe = createStdioListener({ input, output, openEdge, detect: eraOfMessage, principal, logger });
      stdioListeners.add(pipe);
      await pipe.done.finally(() => stdioListeners.delete(pipe));
    },
    lists: (kind) => cliLists(liveConfig.pipeline, kind),
    call: (name, args) => cliCall(liveConfig.pipeline, name, args),
    explain: (supposed) => cliExplain(liveConfig.pipeline, supposed),
    async reload(next) {
      if (listening) checkExposure(config.listen.http, next.auth !== undefined);
      await liveConfig.replace(next, onConfigReplaced);
    },
    reloadFailed(reasons) {
      reloadErrors = reasons;
      metrics.configReloaded(false);
    },
  };
}
