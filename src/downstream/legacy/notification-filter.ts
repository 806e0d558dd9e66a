/** Which notices of servers are for a client's ears. */
import { LOG_LEVELS, type LogLevel, type Notice } from "../../core/call.js";
import { PROGRESS_METHOD } from "../../core/progress.js";
import { objectAt, stringAt } from "../../wire/json.js";
import type { Session } from "./session.js";

/** Whether `notice` may be said in the course of a request that came with this progress token, if it had one. */
export function isForCall(notice: Notice, token: unknown, session: Session): boolean {
  return notice.method === PROGRESS_METHOD
    ? token !== undefined && notice.params?.progressToken === token
    : passesSessionFilter(notice, session);
}

/**
 * Whether `notice` may be said now, between calls; progress belongs to a call, to a task that one began, or to nothing,
 * and is said only once.
 */
export const isForSession = (notice: Notice, session: Session): boolean =>
  notice.method === PROGRESS_METHOD
    ? session.taskTokens.progressOf(notice.params?.progressToken)?.isIncreasing(notice) === true
    : passesSessionFilter(notice, session);

/** Log messages count from the level the client set, if it set one: legacy servers may log before that. */
function passesSessionFilter({ method, params }: Notice, session: Session): boolean {
  const { logLevel, revision } = session;
  switch (method) {
    case "notifications/message":
      return logLevel === undefined || meetsLevel(stringAt(params, "level"), logLevel);
    case "notifications/elicitation/complete":
      return revision.elicitationModes || supportsUrlElicitation(session);
    case "notifications/tasks/status":
      return revision.tasks;
    default:
      return true;
  }
}

const supportsUrlElicitation = ({ client }: Session): boolean =>
  objectAt(objectAt(client.capabilities, "elicitation"), "url") !== undefined;

/** A level nobody knows is let through: better one line too many. */
function meetsLevel(level: string | undefined, least: LogLevel): boolean {
  const rank = (LOG_LEVELS as readonly (string | undefined)[]).indexOf(level);
  return rank === -1 || rank >= LOG_LEVELS.indexOf(least);
}
