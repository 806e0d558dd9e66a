/** Which notifications may reach a client on the stream of its own request. */
import { type LogLevel, type Notice, severityOf } from "../../core/call.js";
import { CHANGED_LISTS } from "../../core/lists.js";
import type { MessageId } from "../../wire/envelope.js";

/** Notifications that belong elsewhere, or to the other era. */
const NOT_ON_REQUEST_STREAM: ReadonlySet<unknown> = new Set([
  "notifications/cancelled",
  "notifications/initialized",
  "notifications/resources/updated",
  ...CHANGED_LISTS.keys(),
  "notifications/roots/list_changed",
  "notifications/elicitation/complete",
  "notifications/subscriptions/acknowledged",
  "notifications/tasks",
  "notifications/tasks/status",
]);

/** The notifications that a request asks for. */
export interface NotificationFilter {
  readonly progressToken: MessageId | undefined;
  readonly logLevel: LogLevel | undefined;
}

/**
 * Progress reaches only who gave the very token, log messages only who named a level and none below it (server/
 * utilities/logging: without a level there must be none). What no revision defines belongs to an extension and passes.
 */
export function matchesFilter({ method, params }: Notice, filter: NotificationFilter): boolean {
  switch (method) {
    case "notifications/progress":
      return filter.progressToken !== undefined && params?.progressToken === filter.progressToken;
    case "notifications/message":
      return filter.logLevel !== undefined && severityOf(params?.level) >= severityOf(filter.logLevel);
    default:
      return !NOT_ON_REQUEST_STREAM.has(method);
  }
}

/** -1 for what is no level. */
