/** What one config comes to: its servers, their merged catalog, and the stacks that a call goes through. */
import { isDeepStrictEqual } from "node:util";
import { type JudgeQuestion, judgedDirectory } from "./between-calls.js";
import { type Catalog, createCatalog } from "./catalog/catalog.js";
import type { Config, ServerConfig } from "./config/config.js";
import type { Call } from "./core/call.js";
import type { ClientDirectory } from "./core/client.js";
import { compose, type Handler, type Middleware } from "./core/handler.js";
import type { Logger } from "./core/logger.js";
import { LIST_KINDS, type UpstreamObserver } from "./core/upstream.js";
import { checkedArguments } from "./policy/checks/arguments.js";
import { checkedResults } from "./policy/checks/results.js";
import { ToolSchemas } from "./policy/checks/tool-schemas.js";
import { BREAKER_NUMBERS, CircuitBreaker, circuitBreaker } from "./policy/circuit-breaker.js";
import { concurrency, DEFAULT_PLACES, DEFAULT_ROOM } from "./policy/concurrency.js";
import { deadline } from "./policy/deadline.js";
import { Line } from "./policy/line.js";
import { createPolicy, type Policy } from "./policy/policy.js";
import { rescue } from "./policy/rescue.js";
import { ResponseCache, responseCache } from "./policy/response-cache.js";
import { retry } from "./policy/retry.js";
import { RetryBudget } from "./policy/retry-budget.js";
import type { Retired } from "./retired.js";
import { givenArguments } from "./routing/given-arguments.js";
import { locate } from "./routing/locate.js";
import { renameQuestion } from "./routing/rename-results.js";
import { Renamings } from "./routing/renaming.js";
import { router } from "./routing/router.js";
import { directoryFor, tellOfTask } from "./routing/task-news.js";
import type { Tasks } from "./routing/tasks.js";
import { accessLog } from "./telemetry/access-log.js";
import { callMetrics, upstreamMetrics } from "./telemetry/call-metrics.js";
import type { InputWaits } from "./telemetry/input-wait.js";
import type { Metrics } from "./telemetry/metrics.js";
import type { OpenChannel } from "./upstream/connect.js";
import type { ParkedCalls } from "./upstream/legacy/parked-calls.js";
import type { Starts } from "./upstream/starts.js";
import type { ProcessLedger } from "./upstream/transport/process-ledger.js";
import { createUpstream, type StartableUpstream } from "./upstream/upstream.js";

export interface InsideOptions {
  readonly info: { readonly name: string; readonly version: string };
  /** Which gateway this is, among all of them. */
  readonly instance: string;
  readonly logger: Logger;
  /** Takes secrets out of what hosts are told. */
  readonly redact: (text: string) => string;
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
  /** Whether hosts see several servers at this moment. */
  readonly aggregated: () => boolean;
  /** Seals the state that servers hand out with their questions. */
  readonly sealedState: Middleware;
  /** Whose tasks are whose; it outlives every config. */
  readonly tasks: Tasks;
}

/** One server, with what belongs to it for as long as it runs. */
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

export interface Inside {
  readonly config: Config;
  readonly servers: ReadonlyMap<string, Running>;
  readonly catalog: Catalog;
  readonly policy: Policy;
  readonly schemas: ToolSchemas;
  readonly handle: Handler;
  /** What a server asks of a session between its calls, as it may be asked. */
  readonly judge: JudgeQuestion;
}

/** Builds the inside for `config`; servers of `before` that are configured as they were go on as they are. */
export function createInside(config: Config, options: InsideOptions, before?: Inside): Inside {
  const { info, logger, redact, metrics, waits, sealedState, tasks } = options;
  const policy = createPolicy(config, { metrics, logger }, before?.policy);
  const servers = runningServers(config, options, before);
  const catalog = createCatalog({
    upstreams: [...servers.values()].map(({ upstream }) => upstream),
    servers: config.servers,
    naming: config.naming,
    profiles: config.profiles,
    self: info,
    logger,
    ...(policy.visible !== undefined && { visible: policy.visible }),
    ...(policy.mayFollow !== undefined && { mayFollow: policy.mayFollow }),
    ...(before !== undefined && { before: before.catalog }),
    onListChanged: (server, list) => metrics.listChanged(server, list),
  });
  const schemas = new ToolSchemas(logger);
  const parts = { policy, metrics, schemas };
  const handlers = new Map(
    [...servers].map(([name, running]): [string, Handler] => [name, stackOf(running, parts)]),
  );
  const checks = new Map(
    config.servers.flatMap(({ name, checks: wanted }) =>
      wanted === undefined ? [] : [[name, wanted] as const],
    ),
  );
  const handle = compose(
    [
      locate(catalog, tasks), // outermost: log, metrics and policy know the server and the tool of every call
      accessLog(logger), // refusals are logged like everything else
      callMetrics(metrics),
      waits.middleware, // a question and the round that answers it are two calls
      rescue(logger, redact), // below this line code may throw; above it there are only replies
      sealedState, // a state that was tampered with costs nothing further
      ...(config.servers.some(givesArguments) ? [givenArguments] : []), // rules judge what the server will get
      ...(checks.size > 0 ? [checkedArguments(checks, schemas)] : []), // nobody approves what cannot be called
      policy.access, // refuse before anything is spent
      policy.limits, // a refused call costs no token; a later round was paid by the first
    ],
    router({ catalog, handlers, tasks }),
  );
  const renamings = new Renamings(catalog);
  const judge: JudgeQuestion = (server, client, question) => {
    const view = catalog.view(client);
    const targets = LIST_KINDS.flatMap((kind) => view.list(kind).entries.map(({ route }) => route));
    const own = targets.filter(({ upstream }) => upstream === server);
    // Judged is what the client will be asked, as it is in the course of a call.
    return policy.question(client, server, own, renameQuestion(question, renamings.of(client, server)));
  };
  return { config, servers, catalog, policy, schemas, handle, judge };
}

/** Apart from `createInside`, whose functions live on and would hold on to `before`, and that to the one before it. */
function runningServers(config: Config, options: InsideOptions, before?: Inside): Map<string, Running> {
  return new Map(
    config.servers.map((server): [string, Running] => {
      const known = before?.servers.get(server.name);
      const kept = known?.runsAs(server) === true ? known : options.retired.reclaim(server);
      return [server.name, kept === undefined ? run(server, options) : { ...kept, config: server }];
    }),
  );
}

const givesArguments = ({ overrides = {} }: ServerConfig): boolean =>
  Object.values(overrides).some(({ arguments: given }) => given !== undefined);

interface StackParts {
  readonly policy: Policy;
  readonly metrics: Metrics;
  readonly schemas: ToolSchemas;
}

/** The stack of one server. */
function stackOf(running: Running, { policy, metrics, schemas }: StackParts): Handler {
  const { config, upstream, breaker, line, retries: budget, cache } = running;
  const { name: server, timeoutMs, checks } = config;
  return compose(
    [
      ...(checks === undefined ? [] : [checkedResults({ server, checks, schemas })]), // what is withheld was carried out
      responseCache(cache, () => metrics.answeredFromCache(server)), // what is fresh needs no attempt and no place
      retry({ budget, onRetry: () => metrics.retried(server) }), // each attempt is one to the breaker and the line
      circuitBreaker(breaker, server), // fail at once while it is known to be down
      concurrency({ line, server }), // wait in line instead of piling up
      deadline({ server, timeoutMs, timeoutOf: (call) => policy.timeoutMs(call) ?? patienceOf(call) }), // its clock starts when the call leaves the line
      upstreamMetrics(metrics), // right around the server: waiting in line is not its time
    ],
    upstream.call,
  );
}

/** A task takes as long as it takes, and its server says nothing to who waits for its result. */
const patienceOf = ({ method }: Call): number | undefined =>
  method === "tasks/result" ? TASK_RESULT_MS : undefined;
const TASK_RESULT_MS = 3_600_000;

function run(config: ServerConfig, options: InsideOptions): Running {
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
