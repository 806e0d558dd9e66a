/** The listener for operators, with what it shows and does of this process: pages, actions, calls, the console's MCP endpoint. */

import { type AdminCaller, inPlaces } from "../../core/admin-page.js";
import type { OperatorListener } from "../../core/feature.js";
import { BodyBudget } from "../../downstream/read-body.js";
import type { OperatedGateway } from "../../gateway/operated-gateway.js";
import { clientAddress } from "../../http/client-address.js";
import type { LiveCalls } from "../../telemetry/live-calls.js";
import { typesOf } from "../../upstream/supervision/channel-kind.js";
import { answerCallRequest } from "./call-request.js";
import { readCallQuery, shownCall } from "./call-rows.js";
import type { CallFeed } from "./call-stream.js";
import { personOf } from "./caller.js";
import { LiveActions } from "./live-actions.js";
import { operatorEndpoint } from "./operator-endpoint.js";
import { personsOf } from "./persons.js";
import type { AdminListen } from "./section.js";
import { createAdminListener } from "./server.js";

/** The listener, unbound. One of several processes binds it to a socket that only the one that has started it reads. */
export function createOperatorListener(admin: AdminListen, options: OperatedGateway): OperatorListener {
  const { parts, liveConfig, edges, status, ownerToken, authentication } = options;
  const { http } = options.listen;
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
    persons: personsOf(authentication, () => pipeline().config.auth?.signIn !== undefined),
    allowedHosts: http.allowedHosts,
    addressOf: clientAddress(http.trustedProxies),
    ...{ logger, redact, metrics, version: info.version },
    added: { serverTypes: typesOf(features.channels), serverMembers: features.serverMembers },
    readiness: () => status.probe(),
    // Loaded with the first request for one, as the listener's routes are.
    pages: async () =>
      inPlaces(
        (await import("./status-pages.js")).createStatusPages({
          ...{ pipeline, liveCalls, status, version: info.version, replica: parts.replica },
          pendingQuestions: telemetry.pendingQuestions,
          ...{ legacy: edges.legacy, modern: edges.modern },
          more: features.pages,
          serverMembers: features.serverMembers,
          problems: () => features.problems(),
          disabledTools: () => actions.disabledTools,
        }),
        "inList",
      ),
    callFeed: localCallFeed(liveCalls),
    mcp: operatorEndpoint({ gateway: edges.gateway, modern: edges.modern, bodyBudget, logger }),
    // The process that has started several has no tools, and only it reads their pages.
    ...(member === undefined && {
      call: (body: string, signal: AbortSignal, caller: AdminCaller | undefined) =>
        answerCallRequest(pipeline, callIds.next(), { body, signal, principal: personOf(caller) }),
    }),
    featureActions: features.actions,
    emit: features.emit,
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
