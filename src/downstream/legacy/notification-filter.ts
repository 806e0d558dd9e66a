/** Which notifications a legacy client receives: those of its call, of its tasks, and between its calls. */
import { type LogLevel, type Notice, severityOf } from "../../core/call.js";
import { PROGRESS_METHOD, ProgressFilter } from "../../core/progress.js";
import { type IdKey, idKeyOf, isProgressToken, type MessageId } from "../../wire/envelope.js";
import { objectAt, stringAt } from "../../wire/json.js";
import type { Session } from "./session.js";

/** Whether `notice` may be sent in the course of a request with this progress token, if it had one. */
export function isForCall(notice: Notice, token: unknown, session: Session): boolean {
  return notice.method === PROGRESS_METHOD
    ? token !== undefined && notice.params?.progressToken === token
    : passesSessionFilter(notice, session);
}

/** Whether `notice` may be sent now, between calls. Progress passes where it belongs to a task and increases. */
export const isForSession = (notice: Notice, session: Session): boolean =>
  notice.method === PROGRESS_METHOD
    ? session.taskTokens.progressOf(notice.params?.progressToken)?.isIncreasing(notice) === true
    : passesSessionFilter(notice, session);

/** Log messages pass from the level the client set; where it set none all pass, as legacy servers may log before that. */
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

/** A message of an unknown level passes. */
function meetsLevel(level: string | undefined, least: LogLevel): boolean {
  const rank = severityOf(level);
  return rank === -1 || rank >= severityOf(least);
}

/** Tokens that are remembered; of older ones no progress is sent. */
const MAX_TASK_TOKENS = 1000;

/** The progress of calls that run as tasks, which outlive them (2025-11-25: basic/utilities/tasks), by their tokens. */
export class TaskTokens {
  /** Made with the first: most sessions have none. */
  #tokens: Map<IdKey, ProgressFilter> | undefined;

  add(token: MessageId): ProgressFilter {
    this.#tokens ??= new Map();
    const progress = new ProgressFilter();
    this.#tokens.set(idKeyOf(token), progress);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_TASK_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
    return progress;
  }

  /** Undefined where no task has this token. */
  progressOf(token: unknown): ProgressFilter | undefined {
    return isProgressToken(token) ? this.#tokens?.get(idKeyOf(token)) : undefined;
  }
}
