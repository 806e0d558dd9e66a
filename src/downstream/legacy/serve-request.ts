/** How is a message of a session served, over any transport: by the session itself, or by the servers behind the gateway? */
import type { IncomingHttpHeaders } from "node:http";
import {
  type Call,
  type Notice,
  PROGRESS_METHOD,
  ProgressFilter,
  progressTokenOf,
  type Reply,
} from "../../core/call.js";
import { ambientContext, type CallNotes, callNotes } from "../../core/call-record.js";
import { checkLogLevel, dropNullMembers, invalidParams, paramsFault } from "../../core/check-params.js";
import { badRequest, GatewayError, refusalError } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import type { Logger } from "../../core/logger.js";
import type { StopSignal } from "../../core/stop.js";
import {
  type Envelope,
  isMessageId,
  isNotification,
  type Notification,
  type Request,
} from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { META } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { duplicateId, edgeError, tooManyInFlight } from "../edge.js";
import { inputLoop } from "./input-loop.js";
import { errorText, type MessageText, noticeText, type ResponseSink, resultText } from "./messages.js";
import type { Revision } from "./revision.js";
import { type CallEnd, isForCall, type Session } from "./session.js";
import { writeReply } from "./write-reply.js";

/** What serving a request needs besides the session. */
export interface BackendDependencies {
  readonly gateway: GatewayApi;
  readonly logger: Logger;
}

/** Resolves when the response was written, or none will be. Never rejects. `headers`: of its HTTP request, where it has one. */
export function serveRequest(
  session: Session,
  request: Request,
  sink: ResponseSink,
  backend: BackendDependencies,
  headers?: IncomingHttpHeaders,
): Promise<void> {
  const { id, method, params } = request;
  if (session.isInFlight(id)) {
    sink.respond(errorText(null, refusalError(duplicateId(id))));
    return Promise.resolve();
  }
  dropNullMembers(method, params);
  const fault = paramsFault(method, params);
  if (fault !== undefined) {
    sink.respond(errorText(id, refusalError(invalidParams(fault))));
    return Promise.resolve();
  }
  session.wasUsed = true;
  const own = sessionMethod(method);
  return own === undefined
    ? serveCall(session, request, sink, backend, headers)
    : serveLocally(request, sink, backend.logger, () => own(session, params ?? {}));
}

async function serveCall(
  session: Session,
  request: Request,
  sink: ResponseSink,
  { gateway, logger }: BackendDependencies,
  headers: IncomingHttpHeaders | undefined,
): Promise<void> {
  const { id, method } = request;
  // A request that is cancelled gets no response. When the session ends, every request gets an error.
  const onEnd = (why: CallEnd) =>
    why === "cancelled" ? sink.skipResponse() : sink.respond(errorText(id, refusalError(SESSION_END[why]())));
  const controller = session.isFull ? undefined : session.beginCall(id, onEnd);
  if (controller === undefined) {
    sink.respond(errorText(id, refusalError(tooManyInFlight("session"))));
    return;
  }
  const notes = callNotes(id, session.peer, headers === undefined ? undefined : ambientContext(headers));
  const call = readCall(gateway.nextCallId(), session, request, notes, controller.signal, (notice) => {
    sink.send(noticeText(notice.method, notice.params));
  });
  const questionContext = { session, sink, abandon: () => controller.abort() };
  let text: MessageText;
  let scopes: readonly string[] | undefined;
  try {
    let reply = await gateway.handle(call);
    if (reply.kind === "input_required") reply = await inputLoop(gateway, call, reply, questionContext);
    text = writeReply(id, call, reply, session.revision, gateway);
    scopes = missingScopes(reply);
  } catch (error) {
    text = errorText(id, edgeError(error, method, logger));
  }
  if (session.finishCall(id, controller)) sink.respond(text, scopes);
}

const missingScopes = (reply: Reply): readonly string[] | undefined =>
  reply.kind === "error" ? reply.scopes : undefined;

async function serveLocally(
  { id, method }: Request,
  sink: ResponseSink,
  logger: Logger,
  run: () => void | Promise<void>,
): Promise<void> {
  let text: MessageText;
  try {
    await run();
    text = resultText(id, Payload.ofObject({}));
  } catch (error) {
    text = errorText(id, edgeError(error, method, logger));
  }
  sink.respond(text);
}

/** What a request is answered with when its session ends first. */
const SESSION_END = {
  ended: () => new GatewayError("cancelled", "gateway", "the session ended before there was an answer"),
  moved: () =>
    new GatewayError(
      "outcome_unknown",
      "gateway",
      "another replica took the session over before there was an answer; the request may have run",
    ),
} as const;

/** Serves a method whose result is empty. @throws GatewayError to refuse */
type SessionMethod = (session: Session, params: JsonObject) => void | Promise<void>;

const METHODS: ReadonlyMap<string, SessionMethod> = new Map<string, SessionMethod>([
  ["ping", () => {}],
  [
    "initialize",
    () => {
      throw badRequest("this session is initialized already");
    },
  ],
  [
    "logging/setLevel",
    (session, params) => {
      session.logLevel = checkLogLevel(params.level, '"level"');
      session.onChanged();
    },
  ],
  [
    "resources/subscribe",
    (session, params) => session.subscriptions.subscribeResource(uriOf(params)).then(session.onChanged),
  ],
  [
    "resources/unsubscribe",
    (session, params) => {
      session.subscriptions.unsubscribeResource(uriOf(params));
      session.onChanged();
    },
  ],
]);

/** The method of that name; undefined where a server has to serve it. */
const sessionMethod = (name: string): SessionMethod | undefined => METHODS.get(name);

function uriOf(params: JsonObject): string {
  const uri = stringAt(params, "uri");
  if (uri === undefined) throw invalidParams('"uri" must be a string');
  return uri;
}

/** Handles a notification of the client, or its response to a question. */
export function handleNonRequest(
  session: Session,
  message: Envelope,
  gateway: Pick<GatewayApi, "forwardNotification">,
): void {
  if (isNotification(message)) handleNotification(session, message, gateway);
  else session.questions.onResponse(message);
}

function handleNotification(
  session: Session,
  { method, params }: Notification,
  gateway: Pick<GatewayApi, "forwardNotification">,
): void {
  // A notification gets no response, so a malformed one is ignored.
  if (paramsFault(method, params) !== undefined) return;
  switch (method) {
    case "notifications/initialized":
      session.initialized();
      return;
    case "notifications/cancelled": {
      // A malformed one is ignored (2025-11-25, basic/utilities/cancellation, "Error Handling").
      const id = params?.requestId;
      if (isMessageId(id)) session.cancel(id, stringAt(params, "reason"));
      return;
    }
    default:
      gateway.forwardNotification?.(session.client, params === undefined ? { method } : { method, params });
  }
}

/** @param id that of the call; `sendNotice` receives the notifications that the client may see */
function readCall(
  id: number,
  session: Session,
  request: Request,
  record: CallNotes,
  signal: StopSignal,
  sendNotice: (notice: Notice) => void,
): Call {
  const params = readParams(request.params ?? {}, session.revision);
  const token = progressTokenOf(params);
  const lasts = Object.hasOwn(params, "task");
  let progress = lasts && token !== undefined ? session.taskTokens.add(token) : undefined;
  return {
    id,
    method: request.method,
    params,
    client: session.client,
    route: undefined,
    inputResponses: undefined,
    logLevel: session.logLevel,
    extraHeaders: undefined,
    signal,
    notify: (notice) => {
      if (!isForCall(notice, token, session)) return;
      if (notice.method === PROGRESS_METHOD) {
        progress ??= new ProgressFilter();
        if (!progress.isIncreasing(notice)) return;
      }
      sendNotice(notice);
    },
    onActivity: undefined,
    via: undefined,
    record,
  };
}

/** Members that have a meaning only in the modern era, and are dropped: no state is unsealed in this one. */
const MODERN_PARAMS = ["inputResponses", "requestState"];
const MODERN_META = [META.protocolVersion, META.clientCapabilities, META.clientInfo, META.logLevel];

function readParams(sent: JsonObject, { tasks }: Revision): JsonObject {
  const params = without(sent, tasks ? MODERN_PARAMS : [...MODERN_PARAMS, "task"]);
  const meta = objectAt(params, "_meta");
  if (meta === undefined) return params;
  const kept = without(meta, MODERN_META);
  return kept === meta ? params : { ...params, _meta: kept };
}
