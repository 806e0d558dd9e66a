/** One server that runs, with what belongs to it for as long as it does: a config may change around it. */
import { isDeepStrictEqual } from "node:util";
import type { ServerConfig } from "../config/config.js";
import type { ClientDirectory } from "../core/client.js";
import type { Logger } from "../core/logger.js";
import type { UpstreamObserver } from "../core/upstream.js";
import { BREAKER_STATE_VALUES, CircuitBreaker } from "../policy/circuit-breaker.js";
import { DEFAULT_CONCURRENCY, DEFAULT_QUEUE_LIMIT } from "../policy/concurrency.js";
import { ResponseCache } from "../policy/response-cache.js";
import { RetryBudget } from "../policy/retry-budget.js";
import { Semaphore } from "../policy/semaphore.js";
import { directoryWithHandles, forwardTaskNotification } from "../routing/task-notifications.js";
import type { Tasks } from "../routing/tasks.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { PendingQuestions } from "../telemetry/pending-questions.js";
import type { ParkedCalls } from "../upstream/legacy/parked-calls.js";
import type { OpenChannel } from "../upstream/supervision/connect.js";
import type { SpawnLimiter } from "../upstream/supervision/spawn-limiter.js";
import type { ProcessRegistry } from "../upstream/transport/process-registry.js";
import { createUpstream, type StartableUpstream } from "../upstream/upstream.js";
import type { DrainingServers } from "./draining-servers.js";
import { type EvaluateQuestion, withQuestionPolicy } from "./session-questions.js";

export interface ServerRuntime {
  readonly config: ServerConfig;
  readonly upstream: StartableUpstream;
  readonly breaker: CircuitBreaker;
  readonly semaphore: Semaphore;
  readonly retryBudget: RetryBudget;
  readonly cache: ResponseCache;
  /** Whether it can go on under `next`: filters, prefix and time-outs are not its affair. */
  runsAs(next: ServerConfig): boolean;
  close(): Promise<void>;
}

export interface ServerRuntimeOptions {
  readonly info: { readonly name: string; readonly version: string };
  /** Which gateway this is, among all of them. */
  readonly instance: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly directory: ClientDirectory;
  /** Where processes of servers are written down. */
  readonly processRegistry: ProcessRegistry;
  /** Servers of earlier configs that have calls to finish. */
  readonly drainingServers: DrainingServers;
  /** How channels to a server are opened. Default: a process or HTTP connections, as its config says. */
  readonly openChannel?: (server: ServerConfig) => OpenChannel;
  /** Lets processes of servers start a few at a time. */
  readonly spawnLimiter: SpawnLimiter;
  /** Which calls wait for a person or a model. */
  readonly pendingQuestions: PendingQuestions;
  /** Where calls wait for the answers to their servers' questions. */
  readonly parkedCalls: ParkedCalls;
  /** Judges what a server asks of a session between its calls, by the config in effect. */
  readonly evaluateQuestion: EvaluateQuestion;
  /** Takes secrets out of what a server says of itself, before any of it is cut. */
  readonly redact: (text: string) => string;
  /** Whether hosts see several servers at this moment. */
  readonly isAggregated: () => boolean;
  /** Whose tasks are whose; it outlives every config. */
  readonly tasks: Tasks;
}

/** Starts it; it waits for nobody. */
export function startServer(config: ServerConfig, options: ServerRuntimeOptions): ServerRuntime {
  const { info, logger, metrics, parkedCalls, isAggregated, tasks } = options;
  const { name } = config;
  const upstream = createUpstream(config, {
    gateway: info,
    directory: withQuestionPolicy(
      name,
      directoryWithHandles(name, options.directory, tasks),
      options.evaluateQuestion,
      options.pendingQuestions,
    ),
    log: logger,
    aggregated: isAggregated,
    parked: parkedCalls,
    ...(config.roots !== undefined && { roots: config.roots.map((root) => ({ ...root })) }),
    onTaskStatus: (notice) => forwardTaskNotification(name, notice, options.directory, tasks),
    onRefusedQuestion: (why) => metrics.questionRefused(name, why),
    onRestart: (reason) => metrics.restarted(name, reason),
    onUnmatchedMessage: () => metrics.unmatchedMessage(name),
    instance: options.instance,
    after: options.drainingServers.whenEnded(config),
    ...(options.openChannel !== undefined && { openChannel: options.openChannel(config) }),
    processRegistry: options.processRegistry,
    spawnLimiter: options.spawnLimiter,
    redact: options.redact,
  });
  const breaker = new CircuitBreaker();
  const semaphore = new Semaphore(DEFAULT_CONCURRENCY, DEFAULT_QUEUE_LIMIT);
  const readings = [
    metrics.gauge("upstreamUp", { server: name }, () => (upstream.state === "ready" ? 1 : 0)),
    metrics.gauge("inflightRequests", { server: name }, () => semaphore.running),
    metrics.gauge("queueDepth", { server: name }, () => semaphore.queued + metrics.queued(name)),
    metrics.gauge("circuitState", { server: name }, () => BREAKER_STATE_VALUES[breaker.state]),
  ];
  const cache = new ResponseCache();
  const unwatch = [upstream.watch(resetBreakerOnRestart(breaker)), upstream.watch(clearCacheOnChange(cache))];
  upstream.start();
  return {
    config,
    upstream,
    breaker,
    semaphore,
    retryBudget: new RetryBudget(),
    cache,
    runsAs: (next) => config.name === next.name && hasSameTransport(config, next),
    async close() {
      for (const stop of [...readings, ...unwatch]) stop();
      await upstream.close();
    },
  };
}

/** A server that was lost and is back was started anew: what its forerunner failed at says nothing about it. */
function resetBreakerOnRestart(breaker: CircuitBreaker): UpstreamObserver {
  let lost = false;
  return {
    unavailable() {
      lost = true;
      // From here on its calls wait for the next attempt to open a connection, not for the breaker.
      breaker.reset();
    },
    ready() {
      if (lost) breaker.reset();
      lost = false;
    },
    listChanged() {},
    resourceUpdated() {},
  };
}

/** Whatever a server tells of itself may be about what it said before. */
function clearCacheOnChange(cache: ResponseCache): UpstreamObserver {
  const forget = (): void => cache.clear();
  return { ready() {}, unavailable: forget, listChanged: forget, resourceUpdated: forget };
}

function hasSameTransport(now: ServerConfig, next: ServerConfig): boolean {
  const essence = ({ transport, protocol, lease, connectTimeoutMs, roots }: ServerConfig) => ({
    transport,
    protocol,
    lease,
    connectTimeoutMs,
    roots,
  });
  return isDeepStrictEqual(essence(now), essence(next));
}
