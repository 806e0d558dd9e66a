/** Serves one request of a session, whatever brought it: by the session itself, or by what is behind the gateway. */
import type { Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayPort } from "../../core/gateway-port.js";
import type { Logger } from "../../core/logger.js";
import { refusalError } from "../../core/refusal.js";
import type { Request } from "../../wire/envelope.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { type InputLoopSettings, inputLoop } from "./input-loop.js";
import { ownMethod } from "./own-methods.js";
import type { Place } from "./place.js";
import { readCall } from "./read-call.js";
import type { Session } from "./session.js";
import { errorText, noticeText, resultText, type Text } from "./text.js";
import { writeReply } from "./write-reply.js";

export interface Behind {
  readonly port: GatewayPort;
  readonly inputLoop: InputLoopSettings;
  readonly logger: Logger;
}

/** Requests of one session that may be in flight at once. */
const MAX_IN_FLIGHT = 1000;

/** Resolves when the response was written, or is known never to be.  Never rejects. */
export async function serveRequest(
  session: Session,
  request: Request,
  place: Place,
  behind: Behind,
): Promise<void> {
  const own = ownMethod(request.method);
  if (own !== undefined) {
    place.reply(answerItself(request, () => own(session, request.params ?? {})));
    return;
  }
  const { id } = request;
  // A request that is cancelled gets no response, now or later. When the session ends, everybody is told.
  const over = (why: "cancelled" | "ended") =>
    why === "cancelled" ? place.withdraw() : place.reply(errorText(id, sessionEnded()));
  const controller = session.inFlight < MAX_IN_FLIGHT ? session.begin(id, over) : undefined;
  if (controller === undefined) {
    // The id may name another request, which must not be answered instead.
    place.reply(session.isInFlight(id) ? errorText(null, duplicate(id)) : errorText(id, overloaded()));
    return;
  }
  const call = readCall(session, request, controller.signal, (notice) => {
    place.say(noticeText(notice.method, notice.params));
  });
  const reply = await handle().catch((error: unknown) => {
    behind.logger.error({ error, method: request.method }, "a call ended in a fault of the gateway");
    return FAULT;
  });
  if (session.finish(id, controller)) {
    place.reply(writeReply(id, call, reply, session.revision, behind.port));
  }

  async function handle(): Promise<Reply> {
    const next = behind.port.handle;
    const first = await next(call);
    if (first.kind !== "input_required") return first;
    const asking = { session, outlet: place, abandon: () => controller?.abort() };
    return inputLoop(next, call, first, asking, behind.inputLoop);
  }
}

function answerItself(request: Request, answer: () => void): Text {
  try {
    answer();
    return resultText(request.id, Payload.ofObject({}));
  } catch (error) {
    if (error instanceof GatewayError) return errorText(request.id, refusalError(error));
    throw error;
  }
}

/** What is behind promises never to throw; should it, nobody must wait for ever. */
const FAULT: Reply = {
  kind: "error",
  error: { code: CODE.internalError, message: "the gateway failed on this request; its log says why" },
};

const duplicate = (id: string | number) =>
  refusalError(
    new GatewayError(
      "bad_request",
      "downstream",
      `a request with the id ${JSON.stringify(id)} is in flight already`,
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
