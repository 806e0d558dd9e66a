/** What a session does with messages that no server gets: its own methods, notifications, and responses to questions. */
import { LOG_LEVELS } from "../../core/call.js";
import { invalidParams, paramsFault } from "../../core/check-params.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { type Envelope, isMessageId, isNotification, type Notification } from "../../wire/envelope.js";
import { type JsonObject, stringAt } from "../../wire/json.js";
import type { Session } from "./session.js";

/** Serves a method whose result is empty. @throws GatewayError to refuse */
type SessionMethod = (session: Session, params: JsonObject) => void | Promise<void>;

const METHODS: ReadonlyMap<string, SessionMethod> = new Map<string, SessionMethod>([
  ["ping", () => {}],
  [
    "initialize",
    () => {
      throw new GatewayError("bad_request", "downstream", "this session is initialized already");
    },
  ],
  [
    "logging/setLevel",
    (session, params) => {
      const level = LOG_LEVELS.find((known) => known === params.level);
      if (level === undefined) throw invalidParams(`"level" must be one of ${LOG_LEVELS.join(", ")}`);
      session.logLevel = level;
    },
  ],
  ["resources/subscribe", (session, params) => session.subscriptions.subscribeResource(uriOf(params))],
  ["resources/unsubscribe", (session, params) => session.subscriptions.unsubscribeResource(uriOf(params))],
]);

/** The method of that name; undefined where a server has to serve it. */
export const sessionMethod = (name: string): SessionMethod | undefined => METHODS.get(name);

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
