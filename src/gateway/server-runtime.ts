/** What belongs to one server while it runs; a config that leaves it unchanged keeps it running. */
import { isDeepStrictEqual } from "node:util";
import type { ServerConfig } from "../config/config.js";
import type { UpstreamObserver } from "../core/upstream.js";
import { BREAKER_STATE_VALUES, CircuitBreaker } from "../policy/circuit-breaker.js";
import { DEFAULT_CONCURRENCY, DEFAULT_QUEUE_LIMIT, Semaphore } from "../policy/concurrency.js";
import { ResponseCache } from "../policy/response-cache.js";
import { RetryBudget } from "../policy/retry.js";
import { directoryWithHandles, forwardTaskNotification } from "../routing/task-notifications.js";
import { createUpstream, type StartableUpstream } from "../upstream/upstream.js";
import type { GatewayParts } from "./parts.js";
import { type EvaluateQuestion, withQuestionPolicy } from "./session-questions.js";

/** One running server. */
export interface ServerRuntime {
  readonly config: ServerConfig;
  readonly upstream: StartableUpstream;
  readonly breaker: CircuitBreaker;
  readonly semaphore: Semaphore;
  readonly retryBudget: RetryBudget;
  readonly cache: ResponseCache;
  /** Whether it can keep running under `next`: filters, prefix and timeouts may differ, the transport may not. */
  runsAs(next: ServerConfig): boolean;
  close(): Promise<void>;
}

/** What a server, which may outlive the config that started it, reads from the config in effect. */
export interface ConfigInEffect {
  /** Evaluates a question that a server sends to a session while no call is running. */
  readonly evaluateQuestion: EvaluateQuestion;
  /** Whether hosts see several servers. */
  readonly isAggregated: boolean;
}

/** Starts a server without waiting for its connection. */
export function startServer(
  config: ServerConfig,
  { identity, telemetry, processes, sessions, sealed: { tasks } }: GatewayParts,
  inEffect: ConfigInEffect,
): ServerRuntime {
  const { metrics, pendingQuestions } = telemetry;
  const { directory } = sessions;
  const { name } = config;
  const upstream = createUpstream(config, {
    gateway: { info: identity.info, instance: identity.instance, isAggregated: () => inEffect.isAggregated },
    questions: {
      directory: withQuestionPolicy(
        name,
        directoryWithHandles(name, directory, tasks),
        inEffect.evaluateQuestion,
        pendingQuestions,
      ),
      parked: sessions.parkedCalls,
      roots: config.roots?.map((root) => ({ ...root })),
      onRefused: (why) => metrics.questionRefused(name, why),
    },
    lifecycle: {
      openChannel: processes.openChannel?.(config),
      processRegistry: processes.registry,
      spawnLimiter: processes.spawnLimiter,
      after: processes.draining.whenEnded(config),
    },
    observers: {
      onRestart: (reason) => metrics.restarted(name, reason),
      onTaskStatus: (notice) => forwardTaskNotification(name, notice, directory, tasks),
      onUnmatchedMessage: () => metrics.unmatchedMessage(name),
    },
    log: telemetry.logger,
    redact: telemetry.redact,
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

/** A restarted server begins with a closed breaker: the failures were those of its predecessor. */
function resetBreakerOnRestart(breaker: CircuitBreaker): UpstreamObserver {
  let lost = false;
  return {
    unavailable() {
      lost = true;
      // From here on calls wait for the next connection attempt, not for the breaker.
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

/** Any change that a server announces may concern a cached response. */
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
