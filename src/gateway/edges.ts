/** Which edges serve hosts, one for each era and one for HTTP+SSE, and what they see of the gateway behind them. */
import { GatewayError } from "../core/errors.js";
import { MemoryBudget } from "../core/fair-share.js";
import type { GatewayApi } from "../core/gateway-api.js";
import { withTimeout } from "../core/stop.js";
import { createLegacyEdge, type LegacyEdge } from "../downstream/legacy/edge.js";
import { createHttpSse } from "../downstream/legacy/http-sse.js";
import { createModernEdge, type ModernEdge } from "../downstream/modern/edge.js";
import type { SharedStreamQuota } from "../downstream/stream-quota.js";
import { followTasks } from "../routing/task-notifications.js";
import { OpenStreams } from "../telemetry/gauges.js";
import type { LiveConfig } from "./live-config.js";
import type { GatewayParts } from "./parts.js";

/** The edges, and the gateway API that they call. */
export interface Edges {
  readonly gateway: GatewayApi;
  readonly legacy: LegacyEdge;
  readonly modern: ModernEdge;
  /** Serves the transport of 2024-11-05 (HTTP+SSE). */
  readonly sse: ReturnType<typeof createHttpSse>;
}

const KEEP_ALIVE_MS = 25_000;
const SESSIONS = { max: 10_000, idleMs: 30 * 60_000 };

/** The edges over the config in effect. Servers find the sessions of the legacy edge from here on. */
export function createEdges(
  liveConfig: LiveConfig,
  parts: GatewayParts,
  streamQuota: SharedStreamQuota,
): Edges {
  const { logger, metrics } = parts.telemetry;
  const { info, worker: identity } = parts.identity;
  const { directory, parkedCalls } = parts.sessions;
  const gateway = createGatewayApi(liveConfig, parts);
  const openStreams = new OpenStreams(metrics);
  const worker = identity === undefined ? {} : { worker: identity.number };
  const limits = { keepAliveMs: KEEP_ALIVE_MS, streamQuota, logger };
  const memoryBudget = new MemoryBudget();
  const legacy = createLegacyEdge({
    gateway,
    sessions: SESSIONS,
    memoryBudget,
    answerMs: () => (parkedCalls.answerMs * 2) / 3, // the question expires before its parked call does
    ...limits,
    ...worker,
    hooks: {
      streamOpened: (kind) => openStreams.opened(kind === "general" ? "session" : "response"),
      streamClosed: (kind) => openStreams.closed(kind === "general" ? "session" : "response"),
    },
  });
  directory.add(legacy.directory);
  metrics.gauge("sessions", { era: "legacy" }, () => legacy.sessions().length);
  const modern = createModernEdge({
    gateway,
    gatewayInfo: info,
    memoryBudget,
    ...limits,
    onStreamCount: (kind, change) => (change === 1 ? openStreams.opened(kind) : openStreams.closed(kind)),
  });
  const sse = createHttpSse({
    edge: legacy,
    ...limits,
    ...worker,
    hooks: { opened: () => openStreams.opened("sse"), closed: () => openStreams.closed("sse") },
  });
  return { gateway, legacy, modern, sse };
}

/**
 * How long (ms) `initialize` waits for the first attempt to reach the only server that a host sees. Some hosts allow 10 s
 * for its response; a server that starts more slowly is served like one of several.
 */
const CONNECT_WAIT_MS = 5_000;

/** Reads the config in effect anew at each call. */
function createGatewayApi(
  liveConfig: LiveConfig,
  { identity, telemetry, callIds }: GatewayParts,
): GatewayApi {
  const { logger, redact } = telemetry;
  const handle: GatewayApi["handle"] = (call) => liveConfig.pipeline.handle(call);
  const upstreamOf = (server: string) => liveConfig.pipeline.servers.get(server)?.upstream;
  return {
    handle,
    nextCallId: () => callIds.next(),
    changes: liveConfig.changes,
    async describe(client) {
      const { catalog } = liveConfig.pipeline;
      await catalog.prepare(client);
      return { ...catalog.describe(client), instance: identity.instance };
    },
    async requireServer(client) {
      const [only, second] = liveConfig.pipeline.catalog.view(client).endpoint.namespaces;
      const upstream = second === undefined && only ? upstreamOf(only.name) : undefined;
      if (upstream === undefined || upstream.facts !== undefined) return;
      await withTimeout(CONNECT_WAIT_MS, upstream.connectNow?.() ?? Promise.resolve());
      const { name, lastError } = upstream;
      if (upstream.facts !== undefined || lastError === undefined) return;
      throw new GatewayError("upstream_unavailable", "upstream", redact(lastError), {
        server: name,
        retryable: true,
      });
    },
    tool: (client, name) => liveConfig.pipeline.catalog.toolEntry(client, name),
    followTasks(client, handles, listener) {
      const { catalog, servers, tasks } = liveConfig.pipeline;
      const upstream = (server: string) => servers.get(server)?.upstream;
      return followTasks({ tasks, catalog, upstream, handle, callIds, logger }, client, handles, listener);
    },
    hasEndpoint: (name, principal) => liveConfig.pipeline.catalog.hasEndpoint(name, principal),
    forwardNotification(client, notice) {
      for (const server of liveConfig.pipeline.catalog.reachable(client, notice.method)) {
        upstreamOf(server)?.forwardNotification?.(client, notice);
      }
    },
    releaseClient(affinity) {
      const { catalog, servers } = liveConfig.pipeline;
      catalog.releaseClient(affinity);
      for (const { upstream } of servers.values()) upstream.releaseClient(affinity);
    },
  };
}
