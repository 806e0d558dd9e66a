/** Which notices of servers are for a client's ears. */
import { LOG_LEVELS, type LogLevel, type Notice } from "../../core/call.js";
import { PROGRESS } from "../../core/progress.js";
import { objectAt, stringAt } from "../../wire/json.js";
import type { Session } from "./session.js";

/** Whether `notice` may be said in the course of a request that came with this progress token, if it had one. */
export function fitsCall(notice: Notice, token: unknown, session: Session): boolean {
  return notice.method === PROGRESS
    ? token !== undefined && notice.params?.progressToken === token
    : fits(notice, session);
}

/**
 * Whether `notice` may be said now, between calls; progress belongs to a call, to a task that one began, or to nothing,
 * and is said only once.
 */
export const fitsSession = (notice: Notice, session: Session): boolean =>
  notice.method === PROGRESS
    ? session.taskTokens.progressOf(notice.params?.progressToken)?.advances(notice) === true
    : fits(notice, session);

/** Log messages count from the level the client set, if it set one: legacy servers may log before that. */
function fits({ method, params }: Notice, session: Session): boolean {
  const { logLevel, revision } = session;
  switch (method) {
    case "notifications/message":
      return logLevel === undefined || isAsSevere(stringAt(params, "level"), logLevel);
    case "notifications/elicitation/complete":
      return revision.elicitationModes || takesLinks(session);
    case "notifications/tasks/status":
      return revision.tasks;
    default:
      return true;
  }
}

const takesLinks = ({ client }: Session): boolean =>
  objectAt(objectAt(client.capabilities, "elicitation"), "url") !== undefined;

/** A level nobody knows is let through: better one line too many. */
function isAsSevere(level: string | undefined, least: LogLevel): boolean {
  const rank = (LOG_LEVELS as readonly (string | undefined)[]).indexOf(level);
  return rank === -1 || rank >= LOG_LEVELS.indexOf(least);
}
