/** Serves one request of a session, whatever brought it: by the session itself, or by what is behind the gateway. */

import type { Reply } from "../../core/call.js";
import { invalidParams, paramsFault } from "../../core/check-params.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import type { Logger } from "../../core/logger.js";
import { refusalError } from "../../core/refusal.js";
import type { Request } from "../../wire/envelope.js";
import { writeJson } from "../../wire/json-text.js";
import type { MessageId } from "../../wire/message-id.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { inputLoop } from "./input-loop.js";
import { errorText, type MessageText, noticeText, resultText } from "./message-text.js";
import { readCall } from "./read-call.js";
import type { ResponseSink } from "./response-sink.js";
import type { Session } from "./session.js";
import { sessionMethod } from "./session-methods.js";
import { writeReply } from "./write-reply.js";

export interface BackendDependencies {
  readonly gateway: GatewayApi;
  readonly logger: Logger;
}

/** Requests of one session that may be in flight at once. */
const MAX_IN_FLIGHT = 1000;

/** Resolves when the response was written, or is known never to be. Never rejects. */
export function serveRequest(
  session: Session,
  request: Request,
  sink: ResponseSink,
  backend: BackendDependencies,
): Promise<void> {
  const { id, method, params } = request;
  const fault = paramsFault(method, params);
  if (fault !== undefined || session.isInFlight(id)) {
    // The id may name another request, which must not be answered instead.
    const [to, error] = session.isInFlight(id) ? [null, duplicate(id)] : [id, malformed(fault ?? "")];
    sink.respond(errorText(to, error));
    return Promise.resolve();
  }
  session.wasUsed = true;
  const own = sessionMethod(method);
  if (own === undefined) return serveCall(session, request, sink, backend);
  const answer = () => own(session, params ?? {});
  return answerLocally(request, backend.logger, answer).then((text) => sink.respond(text));
}

async function serveCall(
  session: Session,
  request: Request,
  sink: ResponseSink,
  { gateway, logger }: BackendDependencies,
): Promise<void> {
  const { id, method } = request;
  // A request that is cancelled gets no response, now or later. When the session ends, everybody is told.
  const onEnd = (why: "cancelled" | "ended") =>
    why === "cancelled" ? sink.skipResponse() : sink.respond(errorText(id, sessionEnded()));
  const controller = session.inFlight < MAX_IN_FLIGHT ? session.beginCall(id, onEnd) : undefined;
  if (controller === undefined) {
    sink.respond(errorText(id, overloaded()));
    return;
  }
  const call = readCall(session, request, controller.signal, (notice) => {
    sink.send(noticeText(notice.method, notice.params));
  });
  const questionContext = { session, sink: sink, abandon: () => controller.abort() };
  let text: MessageText;
  let scopes: readonly string[] | undefined;
  try {
    let reply = await gateway.handle(call);
    if (reply.kind === "input_required")
      reply = await inputLoop(gateway.handle, call, reply, questionContext);
    text = writeReply(id, call, reply, session.revision, gateway);
    scopes = missingScopes(reply);
  } catch (error) {
    text = faultText(id, method, error, logger);
  }
  if (session.finishCall(id, controller)) sink.respond(text, scopes);
}

const missingScopes = (reply: Reply): readonly string[] | undefined =>
  reply.kind === "error" ? reply.scopes : undefined;

async function answerLocally(
  request: Request,
  logger: Logger,
  answer: () => void | Promise<void>,
): Promise<MessageText> {
  try {
    await answer();
    return resultText(request.id, Payload.ofObject({}));
  } catch (error) {
    return error instanceof GatewayError
      ? errorText(request.id, refusalError(error))
      : faultText(request.id, request.method, error, logger);
  }
}

/** What is behind promises never to throw; should it, nobody must wait for ever. */
export function faultText(id: MessageId, method: string, error: unknown, logger: Logger): MessageText {
  logger.error({ error, method }, "a request ended in a fault of the gateway");
  return errorText(id, {
    code: CODE.internalError,
    message: "the gateway failed on this request; its log says why",
  });
}

const malformed = (sentence: string) => refusalError(invalidParams(sentence));

const duplicate = (id: MessageId) =>
  refusalError(
    new GatewayError(
      "bad_request",
      "downstream",
      `a request with the id ${writeJson(id)} is in flight already`,
    ),
  );

const overloaded = () =>
  refusalError(
    new GatewayError("overloaded", "downstream", `this session has ${MAX_IN_FLIGHT} requests in flight`, {
      retryable: true,
    }),
  );

const sessionEnded = () =>
  refusalError(new GatewayError("cancelled", "gateway", "the session ended before there was an answer"));
