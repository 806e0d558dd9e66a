/** How is a question of a server, or a notification, sent to one legacy client, as far as its revision and capabilities allow? */
import { randomUUID } from "node:crypto";
import type { Notice } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import { codeOf, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { type MessageSink, noticeText } from "./messages.js";
import { downgradeBlocks } from "./older-forms.js";
import { noStreamError } from "./questions.js";
import type { Revision } from "./revision.js";
import { isForSession, type Session } from "./session.js";

/**
 * The outcome of a question. `refused` carries the error for servers that receive errors, and `fallback` the nearest result,
 * for servers that receive results only. `isLate`: no answer came in time.
 */
export type QuestionOutcome =
  | { readonly kind: "answered"; readonly result: JsonObject }
  | {
      readonly kind: "refused";
      readonly error: RpcError;
      readonly fallback?: JsonObject;
      readonly isLate?: true;
    };

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
    return refusedOutcome("", {
      code: CODE.invalidRequest,
      message: "the server's question is not a valid request",
    });
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
    const refused = refusedOutcome(method, { code: CODE.internalError, message: error.message });
    return error.code === "timed_out" ? { ...refused, isLate: true } : refused;
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
      throw new GatewayError("cancelled", "downstream", "the question was cancelled before it was sent");
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
function refusedOutcome(method: string, error: RpcError): Extract<QuestionOutcome, { kind: "refused" }> {
  const fallback = FALLBACK_RESULTS.get(method);
  return fallback === undefined ? { kind: "refused", error } : { kind: "refused", error, fallback };
}

const FALLBACK_RESULTS: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["elicitation/create", { action: "cancel" }],
  ["roots/list", { roots: [] }],
]);

/** The parameters to send, or the error where this host cannot be asked. */
type AdaptedQuestion =
  | { readonly kind: "ask"; readonly params: JsonObject | undefined }
  | { readonly kind: "unaskable"; readonly error: RpcError };

/** Adapts `method` with `params` to a host of `revision` that declared `capabilities`. */
function adaptQuestion(
  method: string,
  params: JsonObject | undefined,
  revision: Revision,
  capabilities: JsonObject,
): AdaptedQuestion {
  switch (method) {
    case "elicitation/create":
      return adaptElicitation(params ?? {}, revision, objectAt(capabilities, "elicitation"));
    case "sampling/createMessage":
      return adaptSampling(params ?? {}, revision, objectAt(capabilities, "sampling"));
    case "roots/list":
      if (objectAt(capabilities, "roots") === undefined)
        return unsupported(CODE.methodNotFound, "list its roots");
      return { kind: "ask", params };
    default:
      return unsupported(CODE.methodNotFound, `answer ${method}`);
  }
}

function adaptElicitation(
  params: JsonObject,
  revision: Revision,
  declared: JsonObject | undefined,
): AdaptedQuestion {
  if (declared === undefined || !revision.elicitation) {
    return unsupported(CODE.methodNotFound, "ask a person for input");
  }
  if (params.mode === "url") {
    if (!Object.hasOwn(declared, "url")) return unsupported(CODE.invalidParams, "send a person to a URL");
    // 2026-07-28 no longer has such an id, 2025-11-25 cannot do without (client/elicitation, "URL Mode").
    const elicitationId = stringAt(params, "elicitationId") ?? randomUUID();
    return { kind: "ask", params: { ...params, elicitationId } };
  }
  // An empty object declares forms only; a client that names modes without `form` has no forms.
  if (Object.keys(declared).length > 0 && !Object.hasOwn(declared, "form")) {
    return unsupported(CODE.invalidParams, "show a person a form");
  }
  return {
    kind: "ask",
    params: revision.elicitationModes ? params : downgradeEnums(without(params, ["mode"])),
  };
}

function adaptSampling(
  params: JsonObject,
  revision: Revision,
  declared: JsonObject | undefined,
): AdaptedQuestion {
  if (declared === undefined) return unsupported(CODE.methodNotFound, "ask its model");
  const wantsTools = Object.hasOwn(params, "tools") || Object.hasOwn(params, "toolChoice");
  if (wantsTools && objectAt(declared, "tools") === undefined) {
    return unsupported(CODE.invalidParams, "let its model use tools");
  }
  if (revision.audio || !Array.isArray(params.messages)) return { kind: "ask", params };
  const messages = params.messages.map((message: unknown) =>
    isObject(message) ? { ...message, content: downgradeBlocks(message.content, revision) } : message,
  );
  return { kind: "ask", params: { ...params, messages } };
}

/** Enums with titles in the form of 2025-06-18; multiple choice has no older form and stays unchanged. */
function downgradeEnums(params: JsonObject): JsonObject {
  const schema = objectAt(params, "requestedSchema");
  const properties = objectAt(schema, "properties");
  if (properties === undefined) return params;
  const older = Object.entries(properties).map(([name, property]) => [name, downgradeEnum(property)]);
  return { ...params, requestedSchema: { ...schema, properties: Object.fromEntries(older) } };
}

function downgradeEnum(property: unknown): unknown {
  if (!isObject(property) || !Array.isArray(property.oneOf)) return property;
  const choices: readonly unknown[] = property.oneOf;
  const titled = choices.filter(isObject).filter(({ const: value }) => typeof value === "string");
  if (titled.length !== choices.length) return property;
  return {
    ...without(property, ["oneOf"]),
    enum: titled.map(({ const: value }) => value),
    enumNames: titled.map(({ const: value, title }) => title ?? value),
  };
}

const unsupported = (code: number, what: string): AdaptedQuestion => ({
  kind: "unaskable",
  error: { code, message: `this client cannot ${what}` },
});
