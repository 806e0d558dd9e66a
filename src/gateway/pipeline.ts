/** Everything built from one config: its servers, their merged catalog, and the middleware stacks of a call. */
import { type Catalog, createCatalog } from "../catalog/catalog.js";
import { type Config, type ConfiguredServer, isMisconfigured } from "../config/config.js";
import {
  type Call,
  compose,
  type Handler,
  type Middleware,
  type Observer,
  observerMiddleware,
} from "../core/call.js";
import { type CallPolicy, inSequence } from "../core/call-policy.js";
import { GatewayError } from "../core/errors.js";
import type { ListAdmission } from "../core/list-admission.js";
import type { ListTransform } from "../core/list-transform.js";
import { LIST_KINDS } from "../core/lists.js";
import type { Logger } from "../core/logger.js";
import { dropBaggage } from "../core/trace-context.js";
import { circuitBreaker } from "../resilience/circuit-breaker.js";
import { concurrency } from "../resilience/concurrency.js";
import { deadline } from "../resilience/deadline.js";
import { errorBoundary } from "../resilience/error-boundary.js";
import { responseCache } from "../resilience/response-cache.js";
import { retry } from "../resilience/retry.js";
import { markAdopted } from "../routing/adopted-sessions.js";
import { configuredArguments } from "../routing/configured-arguments.js";
import { refuseHeld } from "../routing/held-targets.js";
import { hiddenTargets, locate } from "../routing/locate.js";
import { MethodRoutes } from "../routing/method-routes.js";
import { normalizedArguments } from "../routing/normalized-arguments.js";
import { RenamingCache, renameQuestion } from "../routing/rename-results.js";
import { router } from "../routing/router.js";
import type { Tasks } from "../routing/tasks.js";
import { callRecords, policyTimed } from "../telemetry/call-records.js";
import { accessLog, callMetrics, upstreamMetrics } from "../telemetry/finished-calls.js";
import type { Metrics } from "../telemetry/metrics.js";
import { argumentForms } from "./argument-forms.js";
import type { KnownPrincipals } from "./known-principals.js";
import { refuseAtOwnUrl, showMisconfigured } from "./misconfigured-server.js";
import type { GatewayParts } from "./parts.js";
import {
  type ConfigInEffect,
  type EvaluateQuestion,
  type ServerRuntime,
  startServer,
} from "./server-runtime.js";
import type { Slots, SlotsOfServers } from "./slots.js";

/** Everything that belongs to one config. */
export interface Pipeline {
  readonly config: Config;
  readonly servers: ReadonlyMap<string, ServerRuntime>;
  readonly catalog: Catalog;
  readonly policy: CallPolicy;
  readonly features: Slots;
  readonly tasks: Tasks;
  readonly principals: KnownPrincipals;
  readonly handle: Handler;
  /** The innermost part of `handle`, for a call that has passed the middleware of an earlier config. */
  readonly route: Handler;
  /** Evaluates a server's question to a session when no call is running. */
  readonly evaluateQuestion: EvaluateQuestion;
  /** What is taken out of messages of a server to a client that belong to no running call. */
  readonly redactionOutsideCalls: ConfigInEffect["redactionOutsideCalls"];
}

/** Builds the pipeline of `config`; servers of `before` with the same config keep running. */
export function createPipeline(
  config: Config,
  parts: GatewayParts,
  inEffect: ConfigInEffect,
  before?: Pipeline,
): Pipeline {
  const { logger, redact, metrics, pendingQuestions, liveCalls, recordSinks } = parts.telemetry;
  const { features } = parts;
  const { state: sealedState, tasks } = parts.sealed;
  const policy = features.decides(config, before?.policy);
  const servers = serverRuntimes(config, parts, inEffect, before);
  const lists = features.lists(config);
  const admissions = features.admissions(config);
  const catalog = catalogOf(config, parts, { servers, policy, lists, admissions, before: before?.catalog });
  const slot = features.call(config);
  const slots = features.servers(config);
  const handlers = handlersOf(parts, servers, policy, { config, slots });
  const forms = argumentForms(config.servers, features.channels);
  const methods = new MethodRoutes(catalog, tasks);
  const listPolicy: Middleware = (next) => compose([policy.access, policy.limits], next);
  const { credentials } = features;
  const route = router({
    ...{ catalog, handlers, tasks, methods, listPolicy },
    inEffect: inEffect.route,
    ...(credentials !== undefined && {
      signInError: (server, call) => credentials.refusal(server, call),
    }),
  });
  // refusals are logged like every other outcome; a question and the round that answers it are two calls
  const observers = observerMiddleware([
    accessLog(logger),
    callMetrics(metrics.calls),
    pendingQuestions.observer,
    ...features.observers, // before the records, which carry what they find
    callRecords(lists?.onRecord === undefined ? recordSinks : [...recordSinks, lists.onRecord]), // last: it reads the members that the others have set
    liveCalls.running.observer,
    openCallsOf(servers),
  ]);
  // outside the observers: what they write about a call is written before the host receives the reply
  const observed: Middleware = (next) => compose([...slot("reply"), observers], next);
  const boundary = errorBoundary(logger, redact); // below this line code may throw; above it there are only replies
  const mustRecord = slot("mustRecord");
  const own: Middleware = (next) => compose([observed, boundary, ...mustRecord], next);
  const handle = compose(
    [
      // outermost: the rest of the stack sees the call of the real tool
      ...(lists === undefined ? [] : [lists.layer({ catalog, own, limited: policy.ownLimits })]),
      locate(catalog, tasks, methods), // log, metrics and policy know the server and the tool of every call
      observed,
      boundary,
      ...mustRecord, // before the call has any effect
      ...(config.servers.some(isMisconfigured) ? [refuseAtOwnUrl(servers)] : []),
      sealedState, // rejects a forged state before the call has any effect
      ...(forms.size > 0 ? [normalizedArguments(forms)] : []), // by the names that configured arguments and rules use
      ...(config.servers.some(hasConfiguredArguments) ? [configuredArguments] : []), // rules evaluate the arguments that the server will receive
      ...(hasHeld(admissions) ? [refuseHeld(admissions)] : []), // a person is not asked about it, and its arguments are not checked
      ...slot("checkArguments"), // before approval: a person is not asked about a call that cannot be made
      ...(policy.visible !== undefined ? [hiddenTargets(catalog, tasks, policy.recordHidden)] : []), // a call to a hidden target is recorded for the operator
      policy.access, // refuse before any budget is spent
      policy.limits, // after access: a refused call takes no token; a later round was paid by the first
      policyTimed,
    ],
    route,
  );
  const evaluateQuestion = evaluationOf(catalog, policy);
  const redactionOutsideCalls: Pipeline["redactionOutsideCalls"] = (server, client) =>
    inSequence([policy.redactionOutsideCalls(client, server), slots.outsideCalls.get(server)]);
  const { principals } = parts.sessions;
  return {
    ...{ config, servers, catalog, policy, features, tasks, principals },
    ...{ handle, route, evaluateQuestion, redactionOutsideCalls },
  };
}

interface CatalogParts {
  readonly servers: ReadonlyMap<string, ServerRuntime>;
  readonly policy: CallPolicy;
  readonly lists: ListTransform | undefined;
  readonly admissions: ReadonlyMap<string, ListAdmission>;
  /** That of the config before. */
  readonly before: Catalog | undefined;
}

function catalogOf(
  config: Config,
  { identity, telemetry, features }: GatewayParts,
  { servers, policy, lists, admissions, before }: CatalogParts,
): Catalog {
  const { logger, metrics, redact } = telemetry;
  return createCatalog({
    upstreams: [...servers.values()].map(({ upstream }) => upstream),
    servers: config.servers,
    naming: config.naming,
    startupWaitMs: config.startupWaitMs,
    profiles: config.profiles,
    lists,
    forms: features.forms(config),
    self: identity.info,
    logger,
    redact,
    ...(policy.visible !== undefined && { isVisible: policy.visible }),
    ...(policy.mayShow !== undefined && { mayShow: policy.mayShow }),
    ...(policy.maySubscribe !== undefined && { mayFollow: policy.maySubscribe }),
    ...(before !== undefined && { before }),
    onListChanged: (server, list) => metrics.listChanged(server, list),
    kept: (server) => servers.get(server)?.kept,
    admission: (server) => admissions.get(server),
    listHints: (server) => servers.get(server)?.listHints,
  });
}

/** The stack of each server, by its name. */
const handlersOf = (
  { telemetry: { logger, metrics }, sessions }: GatewayParts,
  servers: ReadonlyMap<string, ServerRuntime>,
  policy: CallPolicy,
  { config, slots }: { readonly config: Config; readonly slots: SlotsOfServers },
): ReadonlyMap<string, Handler> =>
  new Map(
    [...servers].map(([name, running]): [string, Handler] => [
      name,
      isMisconfigured(running.config)
        ? running.upstream.call // refuses
        : serverStack(running, {
            ...{ policy, metrics, logger, slot: slots.layers(name) },
            marksAdopted: sessions.records !== undefined,
            forwardsBaggage: config.telemetry?.forwardsBaggage === true,
          }),
    ]),
  );

/** Questions of servers to sessions. @throws GatewayError where the client may not receive one */
function evaluationOf(catalog: Catalog, policy: CallPolicy): EvaluateQuestion {
  const renamings = new RenamingCache(catalog);
  return (server, client, question) => {
    if (!catalog.isServerVisible(client, server)) throw hiddenServerError(server);
    const view = catalog.view(client);
    const targets = LIST_KINDS.flatMap((kind) => view.list(kind).entries.map(({ route }) => route));
    const own = targets.filter(({ upstream }) => upstream === server);
    // The policy evaluates the question in the form that the client will receive.
    return policy.question(client, server, own, renameQuestion(question, renamings.of(client, server)));
  };
}

/** Whether calls of some server may be refused because their target is held. */
const hasHeld = (admissions: ReadonlyMap<string, ListAdmission>): boolean =>
  [...admissions.values()].some(({ held }) => held !== undefined);

/** Counts the calls to each server, for a later config that no longer has it. */
function openCallsOf(servers: ReadonlyMap<string, ServerRuntime>): Observer {
  const add = ({ route }: Call, change: 1 | -1): void => {
    const server = route === undefined ? undefined : servers.get(route.upstream);
    if (server !== undefined) server.openCalls.count += change;
  };
  return { name: "openCalls", onStart: (call) => add(call, 1), onEnd: (call) => add(call, -1) };
}

/** A server that is hidden from a client cannot send it questions. */
const hiddenServerError = (server: string): GatewayError =>
  new GatewayError("denied", "gateway", "this client cannot receive questions", { server, rpc: -1 });

/** Outside `createPipeline`, whose closures live on and would retain `before`, which would retain its predecessor. */
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
      kept?.upstream.setLifetime(server);
      return [
        server.name,
        kept === undefined ? startedServer(server, parts, inEffect) : { ...kept, config: server },
      ];
    }),
  );
}

const startedServer = (
  server: ConfiguredServer,
  parts: GatewayParts,
  inEffect: ConfigInEffect,
): ServerRuntime =>
  isMisconfigured(server)
    ? showMisconfigured(server, parts.telemetry.metrics)
    : startServer(server, parts, inEffect);

const hasConfiguredArguments = ({ overrides = {} }: ConfiguredServer): boolean =>
  Object.values(overrides).some(({ arguments: given }) => given !== undefined);

interface ServerStackOptions {
  readonly policy: CallPolicy;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly forwardsBaggage: boolean;
  /** Whether sessions outlive their replica. */
  readonly marksAdopted: boolean;
  readonly slot: ReturnType<SlotsOfServers["layers"]>;
}

function serverStack(
  runtime: ServerRuntime,
  { policy, metrics, forwardsBaggage, slot, logger, marksAdopted }: ServerStackOptions,
): Handler {
  const { config, upstream, breaker, semaphore, retryBudget: budget, cache } = runtime;
  const { name: server, timeoutMs, transport } = config;
  return compose(
    [
      ...slot("person"), // outermost: no timeout runs while a person acts, and earlier attempts count as separate calls
      ...(marksAdopted && transport.kind === "stdio" ? [markAdopted(server, logger)] : []), // outside of the cache, which is for all sessions
      ...(forwardsBaggage ? [] : [dropBaggage]), // everything below this line reaches the server
      ...slot("checkResults"), // the server has run a call whose result is withheld here
      ...(transport.kind === "stdio" && transport.inRoots !== undefined
        ? [] // a response holds for the folder of its host
        : [
            responseCache(cache, {
              onHit: () => metrics.cacheHit(server),
              isPrivate: () => upstream.separatesPrincipals,
              headersOf: (client) => upstream.headersOf?.(client),
            }), // a fresh response needs no attempt and no slot
          ]),
      retry({ budget, onRetry: () => metrics.retried(server) }), // breaker and semaphore count each attempt
      circuitBreaker(breaker, server), // fail fast while the breaker is open
      concurrency({ semaphore, server }), // queue calls over the limit
      deadline({ server, timeoutMs, timeoutOf: policy.timeoutMs }), // the timeout starts when the call leaves the queue
      upstreamMetrics(metrics.calls), // innermost: the time in the queue is not the server's
      ...slot("attempt"), // sees the attempt as it goes out
    ],
    upstream.call,
  );
}
