/** The edges, one per era and one for HTTP+SSE, and the two listeners for hosts and operators. */
import type { AdminActions } from "../admin/actions.js";
import { readCallQuery, shownCall } from "../admin/call-rows.js";
import type { CallFeed } from "../admin/call-stream.js";
import { type AdminListener, type AdminListenerOptions, createAdminListener } from "../admin/server.js";
import type { Config } from "../config/config.js";
import { MemoryBudget } from "../core/fair-share.js";
import type { GatewayApi } from "../core/gateway-api.js";
import { workerSocket } from "../core/owners.js";
import type { Authentication } from "../downstream/authenticate/authentication.js";
import { createForwarder } from "../downstream/forward-to-owner.js";
import { createHttpListener, type HttpListener, type PeerListener } from "../downstream/http-listener.js";
import { createLegacyEdge, type LegacyEdge } from "../downstream/legacy/edge.js";
import { createHttpSse } from "../downstream/legacy/http-sse.js";
import { createModernEdge, type ModernEdge } from "../downstream/modern/edge.js";
import { operatorEndpoint } from "../downstream/operator-endpoint.js";
import { BodyBudget } from "../downstream/read-body.js";
import { serverCardPages } from "../downstream/server-card.js";
import { admitWorkers, workerOwners } from "../downstream/worker-owners.js";
import { OpenStreams } from "../telemetry/gauges.js";
import type { LiveCalls } from "../telemetry/live-calls.js";
import { createGatewayApi, type LiveConfig } from "./live-config.js";
import type { OverloadMonitor, SharedStreamQuota } from "./overload.js";
import type { GatewayParts } from "./parts.js";
import type { GatewayStatus } from "./status.js";

/** Both listeners of a process. */
export interface Listeners {
  readonly http: HttpListener;
  readonly admin: AdminListener;
}

interface ListenersOptions {
  readonly parts: GatewayParts;
  readonly edges: Edges;
  readonly authentication: Authentication;
  readonly status: GatewayStatus;
  readonly overload: OverloadMonitor;
  readonly pages: AdminListenerOptions["pages"];
  readonly actions: AdminActions;
  /** See `AdminListenerOptions`. */
  readonly ownerToken?: string | undefined;
  readonly call: (body: string, signal: AbortSignal) => Promise<string>;
}

/** Both listeners, unbound. A worker binds its admin pages to a socket that only the primary process reads. */
export function createListeners(
  { http: listen, admin }: Config["listen"],
  options: ListenersOptions,
): Listeners {
  const { parts, edges, authentication, status, overload } = options;
  const { pages, ownerToken, call, actions } = options;
  const { logger, metrics, redact, liveCalls } = parts.telemetry;
  const { worker } = parts.identity;
  const { routes: featureRoutes, actions: featureActions } = parts.features;
  const { pressure, onShed, bodyBudgetBytes } = overload;
  const { gateway, legacy, modern, sse } = edges;
  const readiness = () => status.probe();
  const bodyBudget = new BodyBudget({ pressure, onShed, limit: bodyBudgetBytes });
  return {
    http: createHttpListener({
      ...{ listen, gateway, modern, legacy, authentication, featureRoutes, readiness, logger },
      ...{ pressure, onShed, bodyBudgetBytes },
      ...(listen.legacySse && { sse }),
      ...peerListener(parts, gateway),
      publicPages: serverCardPages({
        listen,
        version: parts.identity.info.version,
        needsKey: () => authentication.isRequired && authentication.metadata() === undefined,
      }),
    }),
    admin: createAdminListener({
      ...(worker === undefined
        ? admin
        : { host: "localhost", port: 0, socket: workerSocket(worker, worker.number, "admin") }),
      allowedHosts: listen.allowedHosts,
      ...{ logger, redact, metrics, readiness, pages },
      version: parts.identity.info.version,
      callFeed: localCallFeed(liveCalls),
      mcp: operatorEndpoint({ gateway, modern, bodyBudget, logger }),
      // The primary process has no tools, and only it reads the pages of a worker.
      ...(worker === undefined && { call }),
      featureActions,
      actions,
      // The primary process acts for the operator, whose token it has checked.
      ...(worker !== undefined ? { ownerToken: worker.secret } : ownerToken !== undefined && { ownerToken }),
    }),
  };
}

/** How the processes of the gateway reach each other: as replicas, or as workers of one machine. */
function peerListener(
  { identity: { worker }, cluster, telemetry: { logger }, sessions: { records } }: GatewayParts,
  gateway: Pick<GatewayApi, "headerNames">,
): { readonly peers?: PeerListener } {
  const options = { headerNames: () => gateway.headerNames?.() ?? [] };
  if (cluster !== undefined)
    return { peers: { forwarder: createForwarder(cluster.owners, logger, options), ...cluster.listener } };
  if (worker === undefined) return {};
  const bind = { path: workerSocket(worker, worker.number, "requests") };
  const forwarder = createForwarder(workerOwners(worker, records !== undefined), logger, options);
  return { peers: { forwarder, bind, admit: admitWorkers(worker) } };
}

/** The calls of this process. */
const localCallFeed = (calls: Pick<LiveCalls, "follow">): CallFeed => ({
  follow(query, listener) {
    const { matches } = readCallQuery(query);
    return calls.follow((row) => {
      if (matches(row)) listener(shownCall(row));
    });
  },
});

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

/** The edges over the live config. From here on servers find the sessions of the legacy edge. */
export function createEdges(
  liveConfig: LiveConfig,
  parts: GatewayParts,
  streamQuota: SharedStreamQuota,
): Edges {
  const { logger, metrics } = parts.telemetry;
  const { info, issuer: own } = parts.identity;
  const { directory, parkedCalls, records } = parts.sessions;
  const gateway = createGatewayApi(liveConfig, parts);
  const openStreams = new OpenStreams(metrics);
  const issuer = own === undefined ? {} : { issuer: own };
  const limits = { keepAliveMs: KEEP_ALIVE_MS, streamQuota, logger };
  const memoryBudget = new MemoryBudget();
  const legacy = createLegacyEdge({
    gateway,
    sessions: SESSIONS,
    memoryBudget,
    answerMs: () => (parkedCalls.answerMs * 2) / 3, // the question expires before its parked call does
    ...limits,
    ...issuer,
    ...(records !== undefined && { records }),
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
  metrics.gauge("sessions", { era: "modern" }, () => modern.clients().length);
  const sse = createHttpSse({
    edge: legacy,
    ...limits,
    ...issuer,
    hooks: { opened: () => openStreams.opened("sse"), closed: () => openStreams.closed("sse") },
  });
  return { gateway, legacy, modern, sse };
}
