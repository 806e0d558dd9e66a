/** What one config comes to: its servers, their merged catalog, and the stacks that a call goes through. */
import type { JudgeQuestion } from "./between-calls.js";
import { type Catalog, createCatalog } from "./catalog/catalog.js";
import type { Config, ServerConfig } from "./config/config.js";
import type { Call } from "./core/call.js";
import { GatewayError } from "./core/errors.js";
import { compose, type Handler, type Middleware, observed } from "./core/handler.js";
import { LIST_KINDS } from "./core/upstream.js";
import { checkedArguments } from "./policy/checks/arguments.js";
import { checkedResults } from "./policy/checks/results.js";
import { ToolSchemas } from "./policy/checks/tool-schemas.js";
import { circuitBreaker } from "./policy/circuit-breaker.js";
import { concurrency } from "./policy/concurrency.js";
import { deadline } from "./policy/deadline.js";
import { createPolicy, type Policy } from "./policy/policy.js";
import { rescue } from "./policy/rescue.js";
import { responseCache } from "./policy/response-cache.js";
import { retry } from "./policy/retry.js";
import { givenArguments } from "./routing/given-arguments.js";
import { hiddenTargets } from "./routing/hidden-targets.js";
import { locate } from "./routing/locate.js";
import { MethodRoutes } from "./routing/method-routes.js";
import { renameQuestion } from "./routing/rename-results.js";
import { Renamings } from "./routing/renaming.js";
import { router } from "./routing/router.js";
import type { Tasks } from "./routing/tasks.js";
import { type Running, type RunningOptions, run } from "./running.js";
import { accessLog } from "./telemetry/access-log.js";
import { callMetrics, upstreamMetrics } from "./telemetry/call-metrics.js";
import type { Metrics } from "./telemetry/metrics.js";

export interface InsideOptions extends RunningOptions {
  /** Takes secrets out of what hosts are told. */
  readonly redact: (text: string) => string;
  /** Seals the state that servers hand out with their questions. */
  readonly sealedState: Middleware;
  /** Marks what the policy writes into those states; no server gets to see it. */
  readonly stateSecret: string;
}

export interface Inside {
  readonly config: Config;
  readonly servers: ReadonlyMap<string, Running>;
  readonly catalog: Catalog;
  readonly policy: Policy;
  readonly schemas: ToolSchemas;
  readonly tasks: Tasks;
  readonly handle: Handler;
  /** What a server asks of a session between its calls, as it may be asked. */
  readonly judge: JudgeQuestion;
}

/** Builds the inside for `config`; servers of `before` that are configured as they were go on as they are. */
export function createInside(config: Config, options: InsideOptions, before?: Inside): Inside {
  const { info, logger, redact, metrics, waits, sealedState, stateSecret, tasks } = options;
  const policy = createPolicy(config, { metrics, logger, stateSecret }, before?.policy);
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
  const methods = new MethodRoutes(catalog, tasks);
  const judged: Middleware = (next) => compose([policy.access, policy.limits], next);
  const handle = compose(
    [
      locate(catalog, tasks, methods), // outermost: log, metrics and policy know the server and the tool of every call
      // refusals are logged like everything else; a question and the round that answers it are two calls
      observed([accessLog(logger), callMetrics(metrics), waits.observer]),
      rescue(logger, redact), // below this line code may throw; above it there are only replies
      sealedState, // a state that was tampered with costs nothing further
      ...(config.servers.some(givesArguments) ? [givenArguments] : []), // rules judge what the server will get
      ...(checks.size > 0 ? [checkedArguments(checks, schemas)] : []), // nobody approves what cannot be called
      ...(policy.visible !== undefined ? [hiddenTargets(catalog, tasks, policy.hid)] : []), // operators see what callers must not
      policy.access, // refuse before anything is spent
      policy.limits, // a refused call costs no token; a later round was paid by the first
    ],
    router({ catalog, handlers, tasks, methods, judged }),
  );
  const renamings = new Renamings(catalog);
  const judge: JudgeQuestion = (server, client, question) => {
    if (!catalog.shows(client, server)) throw hiddenAsks(server);
    const view = catalog.view(client);
    const targets = LIST_KINDS.flatMap((kind) => view.list(kind).entries.map(({ route }) => route));
    const own = targets.filter(({ upstream }) => upstream === server);
    // Judged is what the client will be asked, as it is in the course of a call.
    return policy.question(client, server, own, renameQuestion(question, renamings.of(client, server)));
  };
  return { config, servers, catalog, policy, schemas, tasks, handle, judge };
}

/** Whoever must not know that a server is there cannot be asked by it. */
const hiddenAsks = (server: string): GatewayError =>
  new GatewayError("denied", "gateway", "this client cannot be asked", { server, rpc: -1 });

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
