/** One server that runs, with what belongs to it for as long as it does: a config may change around it. */
import { isDeepStrictEqual } from "node:util";
import { type JudgeQuestion, judgedDirectory } from "./between-calls.js";
import type { ServerConfig } from "./config/config.js";
import type { ClientDirectory } from "./core/client.js";
import type { Logger } from "./core/logger.js";
import type { UpstreamObserver } from "./core/upstream.js";
import { BREAKER_NUMBERS, CircuitBreaker } from "./policy/circuit-breaker.js";
import { DEFAULT_PLACES, DEFAULT_ROOM } from "./policy/concurrency.js";
import { Line } from "./policy/line.js";
import { ResponseCache } from "./policy/response-cache.js";
import { RetryBudget } from "./policy/retry-budget.js";
import type { Retired } from "./retired.js";
import { directoryFor, tellOfTask } from "./routing/task-news.js";
import type { Tasks } from "./routing/tasks.js";
import type { InputWaits } from "./telemetry/input-wait.js";
import type { Metrics } from "./telemetry/metrics.js";
import type { OpenChannel } from "./upstream/connect.js";
import type { ParkedCalls } from "./upstream/legacy/parked-calls.js";
import type { Starts } from "./upstream/starts.js";
import type { ProcessLedger } from "./upstream/transport/process-ledger.js";
import { createUpstream, type StartableUpstream } from "./upstream/upstream.js";

export interface Running {
  readonly config: ServerConfig;
  readonly upstream: StartableUpstream;
  readonly breaker: CircuitBreaker;
  readonly line: Line;
  readonly retries: RetryBudget;
  readonly cache: ResponseCache;
  /** Whether it can go on under `next`: filters, prefix and time-outs are not its affair. */
  runsAs(next: ServerConfig): boolean;
  close(): Promise<void>;
}

export interface RunningOptions {
  readonly info: { readonly name: string; readonly version: string };
  /** Which gateway this is, among all of them. */
  readonly instance: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly directory: ClientDirectory;
  /** Where processes of servers are written down. */
  readonly ledger: ProcessLedger;
  /** Servers of earlier configs that have calls to finish. */
  readonly retired: Retired;
  /** How channels to a server are opened. Default: a process or HTTP connections, as its config says. */
  readonly openChannel?: (server: ServerConfig) => OpenChannel;
  /** Lets processes of servers start a few at a time. */
  readonly starts: Starts;
  /** Which calls wait for a person or a model. */
  readonly waits: InputWaits;
  /** Where calls wait for the answers to their servers' questions. */
  readonly parked: ParkedCalls;
  /** Judges what a server asks of a session between its calls, by the config in effect. */
  readonly judge: JudgeQuestion;
  /** Takes secrets out of what a server says of itself, before any of it is cut. */
  readonly redact: (text: string) => string;
  /** Whether hosts see several servers at this moment. */
  readonly aggregated: () => boolean;
  /** Whose tasks are whose; it outlives every config. */
  readonly tasks: Tasks;
}

/** Starts it; it waits for nobody. */
export function run(config: ServerConfig, options: RunningOptions): Running {
  const { info, logger, metrics, parked, aggregated, tasks } = options;
  const { name } = config;
  const upstream = createUpstream(config, {
    gateway: info,
    directory: judgedDirectory(
      name,
      directoryFor(name, options.directory, tasks),
      options.judge,
      options.waits,
    ),
    log: logger,
    aggregated,
    parked,
    ...(config.roots !== undefined && { roots: config.roots.map((root) => ({ ...root })) }),
    onTaskStatus: (notice) => tellOfTask(name, notice, options.directory, tasks),
    onRefusedQuestion: (why) => metrics.refusedQuestion(name, why),
    onRestart: (reason) => metrics.restarted(name, reason),
    onStray: () => metrics.strayed(name),
    instance: options.instance,
    after: options.retired.ending(config),
    ...(options.openChannel !== undefined && { openChannel: options.openChannel(config) }),
    ledger: options.ledger,
    starts: options.starts,
    redact: options.redact,
  });
  const breaker = new CircuitBreaker();
  const line = new Line(DEFAULT_PLACES, DEFAULT_ROOM);
  const readings = [
    metrics.read("upstreamUp", { server: name }, () => (upstream.state === "ready" ? 1 : 0)),
    metrics.read("inflightRequests", { server: name }, () => line.taken),
    metrics.read("queueDepth", { server: name }, () => line.waiting + metrics.inLine(name)),
    metrics.read("circuitState", { server: name }, () => BREAKER_NUMBERS[breaker.state]),
  ];
  const cache = new ResponseCache();
  const unwatch = [upstream.watch(forgivingAfterRestart(breaker)), upstream.watch(forgettingOnNews(cache))];
  upstream.start();
  return {
    config,
    upstream,
    breaker,
    line,
    retries: new RetryBudget(),
    cache,
    runsAs: (next) => config.name === next.name && runsTheSame(config, next),
    async close() {
      for (const stop of [...readings, ...unwatch]) stop();
      await upstream.close();
    },
  };
}

/** A server that was lost and is back was started anew: what its forerunner failed at says nothing about it. */
function forgivingAfterRestart(breaker: CircuitBreaker): UpstreamObserver {
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
function forgettingOnNews(cache: ResponseCache): UpstreamObserver {
  const forget = (): void => cache.clear();
  return { ready() {}, unavailable: forget, listChanged: forget, resourceUpdated: forget };
}

function runsTheSame(now: ServerConfig, next: ServerConfig): boolean {
  const essence = ({ transport, protocol, lease, connectTimeoutMs, roots }: ServerConfig) => ({
    transport,
    protocol,
    lease,
    connectTimeoutMs,
    roots,
  });
  return isDeepStrictEqual(essence(now), essence(next));
}
