/** Which notices of servers are for a client's ears. */
import { LOG_LEVELS, type LogLevel, type Notice } from "../../core/call.js";
import { stringAt } from "../../wire/json.js";
import type { Session } from "./session.js";

/** Whether `notice` may be said in the course of a request that came with this progress token, if it had one. */
export function fitsCall(notice: Notice, token: unknown, session: Session): boolean {
  return notice.method === "notifications/progress"
    ? token !== undefined && notice.params?.progressToken === token
    : fits(notice, session);
}

/** Whether `notice` may be said between calls; progress belongs to a call, to a task that one began, or to nothing. */
export const fitsSession = (notice: Notice, session: Session): boolean =>
  notice.method === "notifications/progress"
    ? session.taskTokens.has(notice.params?.progressToken)
    : fits(notice, session);

/** Log messages count from the level the client set, if it set one: legacy servers may log before that. */
function fits({ method, params }: Notice, { logLevel, revision }: Session): boolean {
  switch (method) {
    case "notifications/message":
      return logLevel === undefined || isAsSevere(stringAt(params, "level"), logLevel);
    case "notifications/elicitation/complete":
      return revision.elicitationModes;
    case "notifications/tasks/status":
      return revision.tasks;
    default:
      return true;
  }
}

/** A level nobody knows is let through: better one line too many. */
function isAsSevere(level: string | undefined, least: LogLevel): boolean {
  const rank = (LOG_LEVELS as readonly (string | undefined)[]).indexOf(level);
  return rank === -1 || rank >= LOG_LEVELS.indexOf(least);
}
