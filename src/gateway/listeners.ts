/** The edges, one per era and one for HTTP+SSE, and the listener for hosts. */
import type { Config } from "../config/config.js";
import { MemoryBudget } from "../core/fair-share.js";
import type { OperatorListener } from "../core/feature.js";
import type { GatewayApi } from "../core/gateway-api.js";
import type { Authentication } from "../downstream/authenticate/authentication.js";
import { createForwarder } from "../downstream/forward-to-owner.js";
import { createHttpListener, type HttpListener, type PeerListener } from "../downstream/http-listener.js";
import { createLegacyEdge, type LegacyEdge } from "../downstream/legacy/edge.js";
import { createHttpSse } from "../downstream/legacy/http-sse.js";
import { createModernEdge, type ModernEdge } from "../downstream/modern/edge.js";
import { serverCardPages } from "../downstream/server-card.js";
import { OpenStreams } from "../telemetry/gauges.js";
import { createGatewayApi, type LiveConfig } from "./live-config.js";
import type { OverloadMonitor, SharedStreamQuota } from "./overload.js";
import type { GatewayParts } from "./parts.js";
import type { GatewayStatus } from "./status.js";

/** The listeners of a process. */
export interface Listeners {
  readonly http: HttpListener;
  /** Undefined if no feature has one. */
  readonly operators: OperatorListener | undefined;
}

interface HostListenerOptions {
  readonly listen: Config["listen"]["http"];
  readonly parts: GatewayParts;
  readonly edges: Edges;
  readonly authentication: Authentication;
  readonly status: GatewayStatus;
  readonly overload: OverloadMonitor;
}

/** The listener for hosts, unbound. */
export function createHostListener({
  listen,
  parts,
  edges: { gateway, legacy, modern, sse },
  authentication,
  status,
  overload: { pressure, onShed, bodyBudgetBytes },
}: HostListenerOptions): HttpListener {
  const { logger } = parts.telemetry;
  const { routes: featureRoutes } = parts.features;
  const readiness = () => status.probe();
  return createHttpListener({
    ...{ listen, gateway, modern, legacy, authentication, featureRoutes, readiness, logger },
    ...{ pressure, onShed, bodyBudgetBytes },
    ...(listen.legacySse && { sse }),
    ...peerListener(parts, gateway),
    accepted: parts.identity.member?.connections,
    publicPages: serverCardPages({
      listen,
      version: parts.identity.info.version,
      needsKey: () => authentication.isRequired && authentication.metadata() === undefined,
    }),
  });
}

/** How the processes of the gateway reach each other: as replicas, or as several of one machine. */
function peerListener(
  { identity: { member }, replica, features, telemetry: { logger }, sessions: { records } }: GatewayParts,
  gateway: Pick<GatewayApi, "headerNames">,
): { readonly peers?: PeerListener } {
  const options = { headerNames: () => gateway.headerNames?.() ?? [], issuedIn: features.issuedIn };
  if (replica !== undefined)
    return { peers: { forwarder: createForwarder(replica.owners, logger, options), ...replica.listener } };
  if (member === undefined) return {};
  const forwarder = createForwarder(member.owners(records !== undefined), logger, options);
  return { peers: { forwarder, ...member.listener } };
}

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
