/** The listener for operators, with what it shows and does of this process: pages, actions, calls, the console's MCP endpoint. */
import { readCallQuery, shownCall } from "../admin/call-rows.js";
import type { CallFeed } from "../admin/call-stream.js";
import { type AdminListener, createAdminListener } from "../admin/server.js";
import type { Config } from "../config/config.js";
import { operatorEndpoint } from "../downstream/operator-endpoint.js";
import { BodyBudget } from "../downstream/read-body.js";
import type { LiveCalls } from "../telemetry/live-calls.js";
import { typesOf } from "../upstream/supervision/channel-kind.js";
import type { Edges } from "./listeners.js";
import { LiveActions } from "./live-actions.js";
import type { LiveConfig } from "./live-config.js";
import type { OverloadMonitor } from "./overload.js";
import type { GatewayParts } from "./parts.js";
import type { GatewayStatus } from "./status.js";
import { answerCallRequest } from "./views/cli-calls.js";

interface OperatorListenerOptions {
  readonly listen: Config["listen"];
  readonly parts: GatewayParts;
  readonly liveConfig: LiveConfig;
  readonly edges: Edges;
  readonly status: GatewayStatus;
  readonly overload: OverloadMonitor;
  /** See `AdminListenerOptions`. */
  readonly ownerToken: string | undefined;
}

/** What the gateway has of it. */
export interface OperatorListener extends AdminListener {
  /** A config was loaded. */
  reloaded(): void;
}

/** The listener, unbound. One of several processes binds it to a socket that only the one that has started it reads. */
export function createOperatorListener(options: OperatorListenerOptions): OperatorListener {
  const { parts, liveConfig, edges, status, ownerToken } = options;
  const { http, admin } = options.listen;
  const { pressure, onShed, bodyBudgetBytes } = options.overload;
  const { telemetry, features, callIds } = parts;
  const { logger, metrics, redact, liveCalls } = telemetry;
  const { member, info } = parts.identity;
  const pipeline = () => liveConfig.pipeline;
  const actions = new LiveActions({
    ...{ liveConfig, legacy: edges.legacy, telemetry },
    ...{ emit: features.emit, more: features.operatorActions },
  });
  const bodyBudget = new BodyBudget({ pressure, onShed, limit: bodyBudgetBytes });
  const listener = createAdminListener({
    ...(member === undefined ? admin : { host: "localhost", port: 0, socket: member.adminSocket }),
    allowedHosts: http.allowedHosts,
    ...{ logger, redact, metrics, version: info.version },
    serverTypes: typesOf(features.channels),
    readiness: () => status.probe(),
    // Loaded with the first request for one, as the listener's routes are.
    pages: async () =>
      (await import("./views/status-pages.js")).createStatusPages({
        ...{ pipeline, liveCalls, status, version: info.version, replica: parts.replica },
        pendingQuestions: telemetry.pendingQuestions,
        ...{ legacy: edges.legacy, modern: edges.modern },
        calls: metrics.calls,
        more: features.pages,
        disabledTools: () => actions.disabledTools,
      }),
    callFeed: localCallFeed(liveCalls),
    mcp: operatorEndpoint({ gateway: edges.gateway, modern: edges.modern, bodyBudget, logger }),
    // The process that has started several has no tools, and only it reads their pages.
    ...(member === undefined && {
      call: (body: string, signal: AbortSignal) => answerCallRequest(pipeline, callIds.next(), body, signal),
    }),
    featureActions: features.actions,
    actions,
    // It acts for the operator, whose token it has checked.
    ...(member !== undefined ? { ownerToken: member.secret } : ownerToken !== undefined && { ownerToken }),
  });
  return { ...listener, reloaded: () => actions.reloaded() };
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
