/** The runtime of one server: the parts that outlive a config, and session questions. */
import type { ListHints } from "../catalog/server-lists-options.js";
import { needsRestart } from "../config/changes.js";
import type { ConfiguredServer, ServerConfig } from "../config/config.js";
import { identityOf } from "../config/server-identity.js";
import type { Handler } from "../core/call.js";
import type { MessageRedaction } from "../core/call-policy.js";
import type { Client, ClientChannel, ClientDirectory, ConnectedClients } from "../core/client.js";
import type { ServerStore } from "../core/persisted-lists.js";
import { idOfKey } from "../core/principal.js";
import type { SharedServer } from "../core/replicas.js";
import {
  SHARED_SCOPE,
  stateInUse,
  UPSTREAM_STATES,
  type UpstreamObserver,
  type UpstreamState,
} from "../core/upstream.js";
import { BREAKER_STATE_VALUES, CircuitBreaker } from "../resilience/circuit-breaker.js";
import { DEFAULT_CONCURRENCY, DEFAULT_QUEUE_LIMIT, Semaphore } from "../resilience/concurrency.js";
import { ResponseCache } from "../resilience/response-cache.js";
import { RetryBudget } from "../resilience/retry.js";
import { directoryWithHandles, forwardTaskNotification } from "../routing/task-notifications.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { PendingQuestions } from "../telemetry/pending-questions.js";
import { createServerUpstream } from "../upstream/folders/server-upstream.js";
import type { StartableUpstream } from "../upstream/upstream.js";
import type { JsonObject } from "../wire/json.js";
import type { GatewayParts } from "./parts.js";
import { ServerLife } from "./server-life.js";

/** One running server. */
export interface ServerRuntime {
  readonly config: ConfiguredServer;
  readonly upstream: StartableUpstream;
  readonly breaker: CircuitBreaker;
  readonly semaphore: Semaphore;
  /** The calls to it from the moment their target is known, wherever they wait. */
  readonly openCalls: { count: number };
  readonly retryBudget: RetryBudget;
  readonly cache: ResponseCache;
  /** The cached and shared state of it. */
  readonly kept: ServerStore;
  /** List changes reported by other replicas; undefined without replicas, and if each replica has its own process. */
  readonly listHints: ListHints | undefined;
  readonly life: ServerLife;
  /** Whether it can keep running under `next`: filters, prefix and timeouts may differ, the transport may not. */
  runsAs(next: ConfiguredServer): boolean;
  close(): Promise<void>;
}

/** What a server, which may outlive its config, reads from the live config. */
export interface ConfigInEffect {
  /** Evaluates a server's question to a session when no call is running. */
  readonly evaluateQuestion: EvaluateQuestion;
  /** What rules redact in messages of `server` to `client` outside of calls; undefined where none does. */
  redactionOutsideCalls(server: string, client: Client): MessageRedaction | undefined;
  /** Handles a call that has passed the middleware of an earlier config. */
  readonly route: Handler;
  /** Whether hosts see several servers. */
  readonly isAggregated: () => boolean;
}

/** Starts a server without waiting for its connection. */
export function startServer(
  config: ServerConfig,
  parts: GatewayParts,
  inEffect: ConfigInEffect,
): ServerRuntime {
  const { metrics, liveCalls } = parts.telemetry;
  const { name } = config;
  const identity = identityOf(config);
  const kept = parts.features.storeOf({ name, identity });
  const others = parts.replica?.servers?.of(identity);
  const life = new ServerLife();
  const upstream = createServerUpstream(config, settingsOf(config, parts, inEffect, { kept, others, life }));
  kept.followMemory(() => upstream.memory());
  const breaker = new CircuitBreaker();
  const semaphore = new Semaphore(DEFAULT_CONCURRENCY, DEFAULT_QUEUE_LIMIT);
  const openCalls = { count: 0 };
  liveCalls.failures.forget(name);
  const readings = [
    stateGauges(upstream, metrics, openCalls),
    metrics.gauge("inflightRequests", { server: name }, () => semaphore.running),
    metrics.gauge("queueDepth", { server: name }, () => semaphore.queued + metrics.queued(name)),
    metrics.gauge("circuitState", { server: name }, () => BREAKER_STATE_VALUES[breaker.state]),
  ];
  const cache = new ResponseCache();
  const unwatch = [
    upstream.watch(resetBreakerOnRestart(breaker)),
    upstream.watch(clearCacheOnChange(cache)),
    upstream.watch({ ready: () => kept.changed() }),
    upstream.watch(life.observer(upstream)),
    upstream.watch({
      credentialsChanged: (principal) => liveCalls.failures.signIns.ended(name, idOfKey(principal)),
    }),
  ];
  upstream.start(kept.known?.scopes.has(SHARED_SCOPE.capabilityClass));
  return {
    config,
    upstream,
    breaker,
    semaphore,
    openCalls,
    retryBudget: new RetryBudget(),
    cache,
    kept,
    listHints: config.transport.kind === "stdio" ? undefined : others,
    life,
    runsAs: (next) => config.name === next.name && !needsRestart(config, next),
    async close() {
      for (const stop of [...readings, ...unwatch]) stop();
      await Promise.all([kept.close(), upstream.close()]);
    },
  };
}

/** What is kept of a server, what other replicas know of it, and what it has been through. */
interface KnownOfServer {
  readonly kept: ServerStore;
  readonly others: SharedServer | undefined;
  readonly life: ServerLife;
}

function settingsOf(
  config: ServerConfig,
  { identity: own, telemetry, features, processes, sessions, sealed: { tasks } }: GatewayParts,
  inEffect: ConfigInEffect,
  { kept, others, life }: KnownOfServer,
): Parameters<typeof createServerUpstream>[1] {
  const { metrics, pendingQuestions } = telemetry;
  const { directory } = sessions;
  const { name } = config;
  return {
    memory: kept.known?.memory,
    others,
    credentials: features.credentials,
    gateway: { info: own.info, instance: own.instance, isAggregated: inEffect.isAggregated },
    questions: {
      directory: withPolicy(name, directoryWithHandles(name, directory, tasks), inEffect, pendingQuestions),
      parked: sessions.parkedCalls,
      roots: config.roots?.map((root) => ({ ...root })),
      onRefused: (why) => metrics.questionRefused(name, why),
    },
    lifecycle: {
      openChannel: processes.openChannel?.(config),
      channels: features.channels,
      startLayers: features.startLayers,
      processes: processes.groups,
      spawnLimiter: processes.spawnLimiter,
      requestIds: processes.requestIds,
      after: processes.draining.whenEnded(config),
      hasOpenTask: (affinity) => tasks.hasOpen(name, affinity),
    },
    observers: {
      onRestart(reason) {
        metrics.restarted(name, reason);
        life.restarted();
      },
      onOutput: (line) => life.wrote(telemetry.redact(line)),
      onTaskStatus: (notice) =>
        forwardTaskNotification(name, notice, withPolicy(name, directory, inEffect, pendingQuestions), tasks),
      onUnmatchedMessage: () => metrics.unmatchedMessage(name),
      onAnswerMisfit(misfit) {
        metrics.answerMisfit(name);
        life.answeredUnfit(misfit);
      },
    },
    log: telemetry.logger,
    redact: telemetry.redact,
  };
}

/** The gauges of a server's state. Returns the function that removes them. */
export function stateGauges(
  upstream: StartableUpstream,
  metrics: Pick<Metrics, "gauge">,
  openCalls: ServerRuntime["openCalls"],
): () => void {
  const server = upstream.name;
  const is = (state: UpstreamState): number => (stateInUse(upstream, openCalls.count) === state ? 1 : 0);
  const readings = [
    metrics.gauge("upstreamUp", { server }, () => is("ready")),
    ...UPSTREAM_STATES.map((state) => metrics.gauge("serverState", { server, state }, () => is(state))),
  ];
  return () => {
    for (const stop of readings) stop();
  };
}

/** A restarted server starts with a closed breaker: the failures were those of its predecessor. */
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
  };
}

/** Any change notification may concern a cached response, and a new process has a new state. */
function clearCacheOnChange(cache: ResponseCache): UpstreamObserver {
  const forget = (): void => cache.clear();
  return {
    unavailable: forget,
    rested: forget,
    listChanged: forget,
    resourceUpdated: forget,
    credentialsChanged: forget,
  };
}

/**
 * Rewrites a question of `server` to the form that the policy allows `client` to see. @throws GatewayError if the
 * policy refuses the question.
 */
export type EvaluateQuestion = (server: string, client: Client, question: JsonObject) => JsonObject;

/** The sessions of all edges. Servers start before the edges, and look up sessions at runtime. */
export class SessionDirectory implements ClientDirectory, ConnectedClients {
  readonly #directories: (ClientDirectory & ConnectedClients)[] = [];
  readonly #listeners: ((client: ClientChannel) => void)[] = [];

  connected(): readonly ClientChannel[] {
    return this.#directories.flatMap((directory) => directory.connected());
  }

  onConnected(listener: (client: ClientChannel) => void): void {
    this.#listeners.push(listener);
  }

  add(directory: ClientDirectory & ConnectedClients): void {
    this.#directories.push(directory);
    directory.onConnected((client) => {
      for (const listener of this.#listeners) listener(client);
    });
  }

  find(affinity: string): ClientChannel | undefined {
    for (const directory of this.#directories) {
      const found = directory.find(affinity);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/**
 * `directory` for `server`: each question passes the policy and counts as pending until it is answered; what rules redact is
 * taken out of questions, answers and notifications.
 */
function withPolicy(
  server: string,
  directory: ClientDirectory,
  inEffect: ConfigInEffect,
  pendingQuestions: Pick<PendingQuestions, "add">,
): ClientDirectory {
  return {
    find(affinity) {
      const clientChannel = directory.find(affinity);
      if (clientChannel === undefined) return undefined;
      const { client } = clientChannel;
      return {
        ...clientChannel,
        async request(question, signal) {
          const evaluated = inEffect.evaluateQuestion(server, client, question);
          const redaction = inEffect.redactionOutsideCalls(server, client);
          const shown = redaction === undefined ? evaluated : await redaction.question(evaluated);
          const closeQuestion = pendingQuestions.add(server, client, shown);
          try {
            const answer = await clientChannel.request(shown, signal);
            return redaction === undefined ? answer : await redaction.answer(answer);
          } finally {
            closeQuestion();
          }
        },
        ...(clientChannel.notify !== undefined && {
          notify: (notice) => {
            const redaction = inEffect.redactionOutsideCalls(server, client);
            const shown = redaction === undefined ? notice : redaction.notice(notice);
            if (shown !== undefined) clientChannel.notify?.(shown);
          },
        }),
      };
    },
  };
}
