/** What one config comes to: its servers, their merged catalog, and the stacks that a call goes through. */

import { type Catalog, createCatalog } from "../catalog/catalog.js";
import type { Config, ServerConfig } from "../config/config.js";
import type { Call } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { compose, type Handler, type Middleware, observerMiddleware } from "../core/handler.js";
import { LIST_KINDS } from "../core/lists.js";
import { checkedArguments } from "../policy/checks/arguments.js";
import { checkedResults } from "../policy/checks/results.js";
import { ToolSchemas } from "../policy/checks/tool-schemas.js";
import { circuitBreaker } from "../policy/circuit-breaker.js";
import { concurrency } from "../policy/concurrency.js";
import { deadline } from "../policy/deadline.js";
import { errorBoundary } from "../policy/error-boundary.js";
import { createPolicy, type Policy } from "../policy/policy.js";
import { responseCache } from "../policy/response-cache.js";
import { retry } from "../policy/retry.js";
import { configuredArguments } from "../routing/configured-arguments.js";
import { hiddenTargets } from "../routing/hidden-targets.js";
import { locate } from "../routing/locate.js";
import { MethodRoutes } from "../routing/method-routes.js";
import { renameQuestion } from "../routing/rename-results.js";
import { RenamingCache } from "../routing/renaming.js";
import { router } from "../routing/router.js";
import type { Tasks } from "../routing/tasks.js";
import { accessLog } from "../telemetry/access-log.js";
import { callMetrics, upstreamMetrics } from "../telemetry/call-metrics.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { GatewayParts } from "./parts.js";
import { type ConfigInEffect, type ServerRuntime, startServer } from "./server-runtime.js";
import type { EvaluateQuestion } from "./session-questions.js";

export interface Pipeline {
  readonly config: Config;
  readonly servers: ReadonlyMap<string, ServerRuntime>;
  readonly catalog: Catalog;
  readonly policy: Policy;
  readonly schemas: ToolSchemas;
  readonly tasks: Tasks;
  readonly handle: Handler;
  /** What a server asks of a session between its calls, as it may be asked. */
  readonly evaluateQuestion: EvaluateQuestion;
}

/** Builds the pipeline of `config`; servers of `before` with the same config keep running. */
export function createPipeline(
  config: Config,
  parts: GatewayParts,
  inEffect: ConfigInEffect,
  before?: Pipeline,
): Pipeline {
  const { logger, redact, metrics, pendingQuestions } = parts.telemetry;
  const { state: sealedState, tasks } = parts.sealed;
  const policy = createPolicy(config, { metrics, logger }, before?.policy);
  const servers = serverRuntimes(config, parts, inEffect, before);
  const catalog = createCatalog({
    upstreams: [...servers.values()].map(({ upstream }) => upstream),
    servers: config.servers,
    naming: config.naming,
    profiles: config.profiles,
    self: parts.identity.info,
    logger,
    ...(policy.visible !== undefined && { isVisible: policy.visible }),
    ...(policy.maySubscribe !== undefined && { mayFollow: policy.maySubscribe }),
    ...(before !== undefined && { before: before.catalog }),
    onListChanged: (server, list) => metrics.listChanged(server, list),
  });
  const schemas = new ToolSchemas(logger);
  const handlers = new Map(
    [...servers].map(([name, running]): [string, Handler] => [
      name,
      serverStack(running, { policy, metrics, schemas }),
    ]),
  );
  const checks = new Map(
    config.servers.flatMap(({ name, checks: wanted }) =>
      wanted === undefined ? [] : [[name, wanted] as const],
    ),
  );
  const methods = new MethodRoutes(catalog, tasks);
  const listPolicy: Middleware = (next) => compose([policy.access, policy.limits], next);
  const handle = compose(
    [
      locate(catalog, tasks, methods), // outermost: log, metrics and policy know the server and the tool of every call
      // refusals are logged like everything else; a question and the round that answers it are two calls
      observerMiddleware([accessLog(logger), callMetrics(metrics), pendingQuestions.observer]),
      errorBoundary(logger, redact), // below this line code may throw; above it there are only replies
      sealedState, // a state that was tampered with costs nothing further
      ...(config.servers.some(hasConfiguredArguments) ? [configuredArguments] : []), // rules judge what the server will get
      ...(checks.size > 0 ? [checkedArguments(checks, schemas)] : []), // nobody approves what cannot be called
      ...(policy.visible !== undefined ? [hiddenTargets(catalog, tasks, policy.recordHidden)] : []), // operators see what callers must not
      policy.access, // refuse before anything is spent
      policy.limits, // a refused call costs no token; a later round was paid by the first
    ],
    router({ catalog, handlers, tasks, methods, listPolicy }),
  );
  const renamings = new RenamingCache(catalog);
  const evaluateQuestion: EvaluateQuestion = (server, client, question) => {
    if (!catalog.isServerVisible(client, server)) throw hiddenServerError(server);
    const view = catalog.view(client);
    const targets = LIST_KINDS.flatMap((kind) => view.list(kind).entries.map(({ route }) => route));
    const own = targets.filter(({ upstream }) => upstream === server);
    // Judged is what the client will be asked, as it is in the course of a call.
    return policy.question(client, server, own, renameQuestion(question, renamings.of(client, server)));
  };
  return { config, servers, catalog, policy, schemas, tasks, handle, evaluateQuestion };
}

/** Whoever must not know that a server is there cannot be asked by it. */
const hiddenServerError = (server: string): GatewayError =>
  new GatewayError("denied", "gateway", "this client cannot be asked", { server, rpc: -1 });

/** Apart from `createPipeline`, whose functions live on and would hold on to `before`, and that to the one before it. */
function serverRuntimes(
  config: Config,
  parts: GatewayParts,
  inEffect: ConfigInEffect,
  before?: Pipeline,
): Map<string, ServerRuntime> {
  return new Map(
    config.servers.map((server): [string, ServerRuntime] => {
      const known = before?.servers.get(server.name);
      const kept = known?.runsAs(server) === true ? known : parts.processes.draining.reclaim(server);
      return [
        server.name,
        kept === undefined ? startServer(server, parts, inEffect) : { ...kept, config: server },
      ];
    }),
  );
}

const hasConfiguredArguments = ({ overrides = {} }: ServerConfig): boolean =>
  Object.values(overrides).some(({ arguments: given }) => given !== undefined);

interface ServerStackOptions {
  readonly policy: Policy;
  readonly metrics: Metrics;
  readonly schemas: ToolSchemas;
}

/** The stack of one server. */
function serverStack(runtime: ServerRuntime, { policy, metrics, schemas }: ServerStackOptions): Handler {
  const { config, upstream, breaker, semaphore, retryBudget: budget, cache } = runtime;
  const { name: server, timeoutMs, checks } = config;
  return compose(
    [
      ...(checks === undefined ? [] : [checkedResults({ server, checks, schemas })]), // what is withheld was carried out
      responseCache(cache, () => metrics.cacheHit(server)), // what is fresh needs no attempt and no place
      retry({ budget, onRetry: () => metrics.retried(server) }), // each attempt is one to the breaker and the line
      circuitBreaker(breaker, server), // fail at once while it is known to be down
      concurrency({ semaphore, server }), // wait in line instead of piling up
      deadline({ server, timeoutMs, timeoutOf: (call) => policy.timeoutMs(call) ?? taskResultTimeout(call) }), // its clock starts when the call leaves the line
      upstreamMetrics(metrics), // right around the server: waiting in line is not its time
    ],
    upstream.call,
  );
}

/** A task takes as long as it takes, and its server says nothing to who waits for its result. */
const taskResultTimeout = ({ method }: Call): number | undefined =>
  method === "tasks/result" ? TASK_RESULT_MS : undefined;
const TASK_RESULT_MS = 3_600_000;
