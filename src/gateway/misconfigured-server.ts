/** The runtime of a server whose entry in the config is wrong: it has a state and a name space, and no process. */
import { needsRestart } from "../config/changes.js";
import type { MisconfiguredServer } from "../config/config.js";
import { reasonOf } from "../config/misconfigured.js";
import type { Middleware } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { NOT_KEPT } from "../core/persisted-lists.js";
import { CircuitBreaker } from "../resilience/circuit-breaker.js";
import { DEFAULT_CONCURRENCY, DEFAULT_QUEUE_LIMIT, Semaphore } from "../resilience/concurrency.js";
import { ResponseCache } from "../resilience/response-cache.js";
import { RetryBudget } from "../resilience/retry.js";
import type { Metrics } from "../telemetry/metrics.js";
import { misconfiguredUpstream } from "../upstream/misconfigured.js";
import { ServerLife } from "./server-life.js";
import { type ServerRuntime, stateGauges } from "./server-runtime.js";

/** Shows the server, and refuses its calls. */
export function showMisconfigured(
  config: MisconfiguredServer,
  metrics: Pick<Metrics, "gauge">,
): ServerRuntime {
  const { name } = config;
  const upstream = misconfiguredUpstream(name, reasonOf(config));
  const openCalls = { count: 0 };
  const stopGauges = stateGauges(upstream, metrics, openCalls);
  return {
    config,
    upstream,
    breaker: new CircuitBreaker(),
    semaphore: new Semaphore(DEFAULT_CONCURRENCY, DEFAULT_QUEUE_LIMIT),
    openCalls,
    retryBudget: new RetryBudget(),
    cache: new ResponseCache(),
    kept: NOT_KEPT,
    listHints: undefined,
    life: new ServerLife(),
    runsAs: (next) => name === next.name && !needsRestart(config, next),
    async close() {
      stopGauges();
      await upstream.close();
    },
  };
}

type Servers = ReadonlyMap<string, Pick<ServerRuntime, "upstream">>;

/** Why nothing is served at the URL of one server; undefined for URLs of servers that can be started. */
export function refusalAt(servers: Servers, endpoint: string): GatewayError | undefined {
  const { state, lastError = "" } = servers.get(endpoint)?.upstream ?? {};
  if (state !== "misconfigured") return undefined;
  return new GatewayError("upstream_unavailable", "gateway", lastError, {
    server: endpoint,
    retryable: false,
  });
}

/** Refuses everything at the URL of a server that is misconfigured: an empty list would look like a server without tools. */
export const refuseAtOwnUrl =
  (servers: Servers): Middleware =>
  (next) =>
    function refuseAtOwnUrl(call) {
      const refusal = refusalAt(servers, call.client.endpoint);
      return refusal === undefined ? next(call) : Promise.reject(refusal);
    };
