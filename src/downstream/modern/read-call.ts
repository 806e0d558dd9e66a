/** Reads a modern request into a call; everything about its sender is in the request itself. */
import type { IncomingHttpHeaders } from "node:http";
import type { Call, InputResponses, Notice } from "../../core/call.js";
import { checkParams } from "../../core/check-params.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { PROGRESS_METHOD, ProgressFilter } from "../../core/progress.js";
import type { StopSignal } from "../../core/stop.js";
import type { Request } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { checkParamHeaders, checkStandardHeaders, checkVersionHeader } from "./check-headers.js";
import { RESUMABLE_METHODS } from "./methods.js";
import { matchesFilter } from "./notification-filter.js";
import {
  type ClientCache,
  checkVersion,
  claimedVersion,
  malformed,
  progressToken,
  readLogLevel,
  type Sender,
  withoutHopKeys,
} from "./read-meta.js";

/** What the transport adds to a request. */
export interface RequestContext extends Sender {
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
  const filter = { progressToken: progressToken(meta), logLevel };
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
  };
}

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
