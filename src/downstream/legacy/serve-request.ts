/** Serves one request of a session, over any transport: by the session itself, or by the servers behind the gateway. */
import type { Reply } from "../../core/call.js";
import { invalidParams, paramsFault } from "../../core/check-params.js";
import { GatewayError, refusalError } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import type { Logger } from "../../core/logger.js";
import type { Request } from "../../wire/envelope.js";
import { Payload } from "../../wire/payload.js";
import { edgeError } from "../edge.js";
import { duplicateId, tooManyInFlight } from "../in-flight.js";
import { inputLoop } from "./input-loop.js";
import { errorText, type MessageText, noticeText, resultText } from "./message-text.js";
import { readCall } from "./read-call.js";
import type { ResponseSink } from "./response-sink.js";
import type { Session } from "./session.js";
import { sessionMethod } from "./session-methods.js";
import { writeReply } from "./write-reply.js";

/** What serving a request needs besides the session. */
export interface BackendDependencies {
  readonly gateway: GatewayApi;
  readonly logger: Logger;
}

/** Resolves when the response was written, or none will be. Never rejects. */
export function serveRequest(
  session: Session,
  request: Request,
  sink: ResponseSink,
  backend: BackendDependencies,
): Promise<void> {
  const { id, method, params } = request;
  if (session.isInFlight(id)) {
    sink.respond(errorText(null, refusalError(duplicateId(id))));
    return Promise.resolve();
  }
  const fault = paramsFault(method, params);
  if (fault !== undefined) {
    sink.respond(errorText(id, refusalError(invalidParams(fault))));
    return Promise.resolve();
  }
  session.wasUsed = true;
  const own = sessionMethod(method);
  return own === undefined
    ? serveCall(session, request, sink, backend)
    : serveLocally(request, sink, backend.logger, () => own(session, params ?? {}));
}

async function serveCall(
  session: Session,
  request: Request,
  sink: ResponseSink,
  { gateway, logger }: BackendDependencies,
): Promise<void> {
  const { id, method } = request;
  // A request that is cancelled gets no response. When the session ends, every request gets an error.
  const onEnd = (why: "cancelled" | "ended") =>
    why === "cancelled" ? sink.skipResponse() : sink.respond(errorText(id, sessionEnded()));
  const controller = session.isFull ? undefined : session.beginCall(id, onEnd);
  if (controller === undefined) {
    sink.respond(errorText(id, refusalError(tooManyInFlight("session"))));
    return;
  }
  const call = readCall(gateway.nextCallId(), session, request, controller.signal, (notice) => {
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

const sessionEnded = () =>
  refusalError(new GatewayError("cancelled", "gateway", "the session ended before there was an answer"));
