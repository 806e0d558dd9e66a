/** Sends one question of a server, or a notification, to one legacy client, as far as its capabilities allow. */

import type { Notice } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import { codeOf, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { adaptQuestion } from "./adapt-question.js";
import { noticeText } from "./message-text.js";
import { isForSession } from "./notification-filter.js";
import { noStreamError } from "./questions.js";
import type { MessageSink } from "./response-sink.js";
import type { Session } from "./session.js";

/**
 * The outcome of a question. `refused` carries the error for servers that receive errors, and `fallback` the nearest result,
 * for servers that receive results only.
 */
export type QuestionOutcome =
  | { readonly kind: "answered"; readonly result: JsonObject }
  | { readonly kind: "refused"; readonly error: RpcError; readonly fallback?: JsonObject };

/**
 * Asks on `sink`. A client that has not declared what it would need to answer is never asked.
 *
 * @throws GatewayError `cancelled` when `signal` aborts or the session ends
 */
export async function sendQuestion(
  session: Session,
  question: unknown,
  sink: MessageSink,
  signal: StopSignal,
): Promise<QuestionOutcome> {
  const method = isObject(question) ? stringAt(question, "method") : undefined;
  if (!isObject(question) || method === undefined) {
    return refusedOutcome("", { code: CODE.invalidRequest, message: "what the server asked is no request" });
  }
  const params = objectAt(question, "params");
  const adapted = adaptQuestion(method, params, session.revision, session.client.capabilities);
  if (adapted.kind === "unaskable") return refusedOutcome(method, adapted.error);
  try {
    const answer = await session.questions.send(method, adapted.params, sink, signal);
    return answer.kind === "result"
      ? { kind: "answered", result: answer.result }
      : refusedOutcome(method, answer.error);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code === "cancelled") throw error;
    return refusedOutcome(method, { code: CODE.internalError, message: error.message });
  }
}

/**
 * Asks a client between its calls, on its GET stream or its pipe.
 *
 * @throws GatewayError `denied` with the client's own error or the reason why it cannot be asked, `timed_out`
 * when it has no stream open within `waitMs` or does not answer, `cancelled`
 */
export async function sendSessionQuestion(
  session: Session,
  question: JsonObject,
  waitMs: number,
  signal: StopSignal,
): Promise<JsonObject> {
  if (!(await session.sink.waitUntilConnected(waitMs, signal))) {
    if (signal.aborted || session.hasEnded) {
      throw new GatewayError("cancelled", "downstream", "the question was taken back before it was asked");
    }
    throw noStreamError();
  }
  const outcome = await sendQuestion(session, question, session.sink, signal);
  if (outcome.kind === "answered") return outcome.result;
  const { message, data } = outcome.error;
  throw new GatewayError("denied", "downstream", message, {
    rpc: codeOf(outcome.error),
    ...(isObject(data) && { data }),
  });
}

/** Sends a notification to a client between its calls, if it is connected and its filter passes. */
export function notifySession(session: Session, notice: Notice): void {
  if (session.sink.isConnected && isForSession(notice, session)) {
    session.sink.send(noticeText(notice.method, notice.params));
  }
}

/**
 * What stands in for an answer that will not come. `cancel` says of a person only that they made no choice
 * ("decline" would be a choice), and no roots is what a client without roots has. A completion that no model
 * made cannot be made up.
 */
function refusedOutcome(method: string, error: RpcError): QuestionOutcome {
  const fallback = FALLBACK_RESULTS.get(method);
  return fallback === undefined ? { kind: "refused", error } : { kind: "refused", error, fallback };
}

const FALLBACK_RESULTS: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["elicitation/create", { action: "cancel" }],
  ["roots/list", { roots: [] }],
]);
