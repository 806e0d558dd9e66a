/** How is a modern request read into a call, and which notifications reach its sender? */

import type { IncomingHttpHeaders } from "node:http";
import {
  type Call,
  type InputResponses,
  type LogLevel,
  type Notice,
  PROGRESS_METHOD,
  ProgressFilter,
  progressTokenOf,
  severityOf,
} from "../../core/call.js";
import { ambientContext, callNotes, type Peer } from "../../core/call-record.js";
import { checkParams, dropNullMembers } from "../../core/check-params.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { CHANGED_LISTS } from "../../core/lists.js";
import { RESUMABLE_METHODS } from "../../core/methods.js";
import type { StopSignal } from "../../core/stop.js";
import type { MessageId, Request } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { MODERN_REVISION } from "../../wire/names.js";
import { checkParamHeaders, checkStandardHeaders, checkVersionHeader } from "./check-headers.js";
import {
  type ClientCache,
  checkVersion,
  claimedVersion,
  malformed,
  readLogLevel,
  type Sender,
  withoutHopKeys,
} from "./read-meta.js";

interface RequestContext extends Sender {
  /** Absent on a pipe, which has no headers. */
  readonly headers?: IncomingHttpHeaders | undefined;
  readonly signal: StopSignal;
  /** Receives the notifications that the client requested with this call. */
  readonly notify: (notice: Notice) => void;
}

/**
 * Reads one request. The order of the checks decides which error a request with several faults gets: the claimed revision is
 * checked first, because its rules decide about everything else.
 *
 * @throws GatewayError `bad_request`: -32602 for missing metadata or a malformed answer, -32020 where header and
 * body disagree, -32022 for a revision that is not served
 */
export function readCall(
  request: Request,
  context: RequestContext,
  gateway: Pick<GatewayApi, "nextCallId" | "tool">,
  clients: ClientCache,
): Call {
  const sent = request.params ?? {};
  const meta = objectAt(sent, "_meta") ?? {};
  const version = claimedVersion(meta);
  if (context.headers !== undefined) checkVersionHeader(context.headers, version);
  checkVersion(version);
  dropNullMembers(request.method, request.params);
  checkParams(request.method, request.params);
  const client = clients.read(meta, context);
  const logLevel = readLogLevel(meta);
  if (context.headers !== undefined) checkStandardHeaders(context.headers, request);
  const inputResponses = RESUMABLE_METHODS.has(request.method) ? readInputResponses(sent) : undefined;
  const name = request.method === "tools/call" ? stringAt(sent, "name") : undefined;
  const tool = name === undefined || context.headers === undefined ? undefined : gateway.tool(client, name);
  const extraHeaders =
    context.headers === undefined ? undefined : checkParamHeaders(context.headers, sent, tool);
  const params = withoutHopKeys(sent, meta);
  let progress: ProgressFilter | undefined;
  const filter = { progressToken: progressTokenOf(sent), logLevel };
  return {
    id: gateway.nextCallId(),
    method: request.method,
    params: without(
      params,
      inputResponses === undefined ? LEGACY_KEYS : [...INPUT_RESPONSE_KEYS, ...LEGACY_KEYS],
    ),
    client,
    route: undefined,
    inputResponses,
    logLevel,
    extraHeaders,
    signal: context.signal,
    notify: (notice) => {
      if (!matchesFilter(notice, filter)) return;
      if (notice.method === PROGRESS_METHOD) {
        progress ??= new ProgressFilter();
        if (!progress.isIncreasing(notice)) return;
      }
      context.notify(notice);
    },
    onActivity: undefined,
    via: undefined,
    record:
      context.headers === undefined
        ? callNotes(request.id, ON_PIPE)
        : callNotes(request.id, OVER_HTTP, ambientContext(context.headers)),
  };
}

const OVER_HTTP: Peer = { revision: MODERN_REVISION, isHttp: true };
const ON_PIPE: Peer = { revision: MODERN_REVISION, isHttp: false };

const INPUT_RESPONSE_KEYS = ["inputResponses", "requestState"];
/** In the legacy era `task` runs a tool as a task; in this era it must have no effect (SEP-2663). */
const LEGACY_KEYS = ["task"];

/**
 * The input responses with which the client resumes a call (basic/patterns/mrtr). The server checks that they fit its
 * requests; only their form is checked here ("Error Handling").
 */
function readInputResponses(params: JsonObject): InputResponses | undefined {
  if (!INPUT_RESPONSE_KEYS.some((key) => Object.hasOwn(params, key))) return undefined;
  const { inputResponses: responses = {}, requestState: state } = params;
  if (!isObject(responses) || !Object.values(responses).every(isObject)) {
    throw malformed("inputResponses must be an object of objects");
  }
  if (state !== undefined && typeof state !== "string") throw malformed("requestState must be a string");
  return { responses, ...(state !== undefined && { sealedState: state }) };
}

/** Notifications that belong elsewhere, or to the other era. */
const NOT_ON_REQUEST_STREAM: ReadonlySet<unknown> = new Set([
  "notifications/cancelled",
  "notifications/initialized",
  "notifications/resources/updated",
  ...CHANGED_LISTS.keys(),
  "notifications/roots/list_changed",
  "notifications/elicitation/complete",
  "notifications/subscriptions/acknowledged",
  "notifications/tasks",
  "notifications/tasks/status",
]);

interface NotificationFilter {
  readonly progressToken: MessageId | undefined;
  readonly logLevel: LogLevel | undefined;
}

/**
 * Progress reaches only who gave the very token, log messages only who named a level and none below it (server/
 * utilities/logging: without a level there must be none). What no revision defines belongs to an extension and passes.
 */
function matchesFilter({ method, params }: Notice, filter: NotificationFilter): boolean {
  switch (method) {
    case PROGRESS_METHOD:
      return filter.progressToken !== undefined && params?.progressToken === filter.progressToken;
    case "notifications/message":
      return filter.logLevel !== undefined && severityOf(params?.level) >= severityOf(filter.logLevel);
    default:
      return !NOT_ON_REQUEST_STREAM.has(method);
  }
}
