/** Serves one request of a session, whatever brought it: by the session itself, or by what is behind the gateway. */
import type { Reply } from "../../core/call.js";
import { invalidParams } from "../../core/check-params.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayPort } from "../../core/gateway-port.js";
import type { Logger } from "../../core/logger.js";
import { paramsFault } from "../../core/look-alikes.js";
import { refusalError } from "../../core/refusal.js";
import type { Request } from "../../wire/envelope.js";
import { writeJson } from "../../wire/json-text.js";
import type { MessageId } from "../../wire/message-id.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { inputLoop } from "./input-loop.js";
import { ownMethod } from "./own-methods.js";
import type { Place } from "./place.js";
import { readCall } from "./read-call.js";
import type { Session } from "./session.js";
import { errorText, noticeText, resultText, type Text } from "./text.js";
import { writeReply } from "./write-reply.js";

export interface Behind {
  readonly port: GatewayPort;
  readonly logger: Logger;
}

/** Requests of one session that may be in flight at once. */
const MAX_IN_FLIGHT = 1000;

/** Resolves when the response was written, or is known never to be. Never rejects. */
export function serveRequest(
  session: Session,
  request: Request,
  place: Place,
  behind: Behind,
): Promise<void> {
  const { id, method, params } = request;
  const fault = paramsFault(method, params);
  if (fault !== undefined || session.isInFlight(id)) {
    // The id may name another request, which must not be answered instead.
    const [to, error] = session.isInFlight(id) ? [null, duplicate(id)] : [id, malformed(fault ?? "")];
    place.reply(errorText(to, error));
    return Promise.resolve();
  }
  session.wasUsed = true;
  const own = ownMethod(method);
  if (own === undefined) return serveCall(session, request, place, behind);
  const answer = () => own(session, params ?? {});
  return answerItself(request, behind.logger, answer).then((text) => place.reply(text));
}

async function serveCall(
  session: Session,
  request: Request,
  place: Place,
  { port, logger }: Behind,
): Promise<void> {
  const { id, method } = request;
  // A request that is cancelled gets no response, now or later. When the session ends, everybody is told.
  const over = (why: "cancelled" | "ended") =>
    why === "cancelled" ? place.withdraw() : place.reply(errorText(id, sessionEnded()));
  const controller = session.inFlight < MAX_IN_FLIGHT ? session.begin(id, over) : undefined;
  if (controller === undefined) {
    place.reply(errorText(id, overloaded()));
    return;
  }
  const call = readCall(session, request, controller.signal, (notice) => {
    place.say(noticeText(notice.method, notice.params));
  });
  const asking = { session, outlet: place, abandon: () => controller.abort() };
  let text: Text;
  let scopes: readonly string[] | undefined;
  try {
    let reply = await port.handle(call);
    if (reply.kind === "input_required") reply = await inputLoop(port.handle, call, reply, asking);
    text = writeReply(id, call, reply, session.revision, port);
    scopes = missingScopes(reply);
  } catch (error) {
    text = faultText(id, method, error, logger);
  }
  if (session.finish(id, controller)) place.reply(text, scopes);
}

const missingScopes = (reply: Reply): readonly string[] | undefined =>
  reply.kind === "error" ? reply.scopes : undefined;

async function answerItself(
  request: Request,
  logger: Logger,
  answer: () => void | Promise<void>,
): Promise<Text> {
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
export function faultText(id: MessageId, method: string, error: unknown, logger: Logger): Text {
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
