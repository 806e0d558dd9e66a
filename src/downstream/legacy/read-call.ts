/** A request of a legacy session, read into a Call. */
import { type Call, LOG_LEVELS, type LogLevel, type Notice, nextCallId } from "../../core/call.js";
import type { Request } from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { META } from "../../wire/names.js";
import type { Session } from "./session.js";

export function readCall(
  session: Session,
  request: Request,
  signal: AbortSignal,
  say: (notice: Notice) => void,
): Call {
  const params = readParams(request.params ?? {});
  const token = objectAt(params, "_meta")?.[META.progressToken];
  return {
    id: nextCallId(),
    method: request.method,
    params,
    client: session.client,
    ...(session.logLevel !== undefined && { logLevel: session.logLevel }),
    signal,
    notify: (notice) => {
      if (concerns(notice, token, session)) say(notice);
    },
  };
}

/** What only has a meaning in the modern era must not come in through this door: a state is never unsealed here. */
const MODERN_PARAMS = ["inputResponses", "requestState"];
const MODERN_META = [META.protocolVersion, META.clientCapabilities, META.clientInfo, META.logLevel];

function readParams(sent: JsonObject): JsonObject {
  const params = without(sent, MODERN_PARAMS);
  const meta = objectAt(params, "_meta");
  if (meta === undefined) return params;
  const kept = without(meta, MODERN_META);
  return kept === meta ? params : { ...params, _meta: kept };
}

/** Progress is told only for the client's own token, log messages only from the level it set, if it set one. */
function concerns(notice: Notice, token: unknown, session: Session): boolean {
  switch (notice.method) {
    case "notifications/progress":
      return token !== undefined && notice.params?.progressToken === token;
    case "notifications/message":
      return session.logLevel === undefined || isAsSevere(stringAt(notice.params, "level"), session.logLevel);
    case "notifications/elicitation/complete":
      return session.revision.elicitationModes;
    default:
      return true;
  }
}

/** A level nobody knows is let through: better one line too many. */
function isAsSevere(level: string | undefined, least: LogLevel): boolean {
  const rank = (LOG_LEVELS as readonly (string | undefined)[]).indexOf(level);
  return rank === -1 || rank >= LOG_LEVELS.indexOf(least);
}
