/** To which call or session does a notification of a legacy server belong? */
import type { Notice } from "../../core/call.js";
import type { Client, ClientDirectory } from "../../core/client.js";
import { CHANGED_LISTS } from "../../core/lists.js";
import type { Logger } from "../../core/logger.js";
import type { Notification } from "../../wire/envelope.js";
import { type JsonObject, stringAt } from "../../wire/json.js";
import type { ConnectionObserver } from "../connection.js";
import type { OpenCalls } from "../protocol/open-calls.js";
import { type RunningCall, relatedTask } from "./running-call.js";
import type { TaskProgress } from "./tasks.js";

/** Where the notifications of one connection may go. */
interface NotificationSettings {
  readonly server: string;
  readonly log: Logger;
  readonly observer: ConnectionObserver;
  /** The one session that the connection is kept for, if there is one. */
  readonly owner: Client | undefined;
  readonly directory: ClientDirectory;
  readonly calls: OpenCalls<RunningCall>;
  readonly taskProgress: TaskProgress;
  /** Called with the `requestId` of a question that the server cancels. */
  readonly onQuestionCancelled: (id: unknown) => void;
  /** Called when the user has finished at the link of an elicitation. */
  readonly onElicitationComplete: (elicitationId: string) => void;
  /** Called with each `notifications/tasks/status`; the notice has the server's own task id. */
  readonly onTaskStatus: (notice: Notice) => void;
}

/** Routes the notifications of one connection. */
export class NotificationRouter {
  readonly #settings: NotificationSettings;

  constructor(settings: NotificationSettings) {
    this.#settings = settings;
  }

  /** Routes `message`; `on` is the call on whose own stream it came. */
  route(message: Notification, on: RunningCall | undefined): void {
    const { observer, calls, taskProgress, onQuestionCancelled, onTaskStatus } = this.#settings;
    const { method, params } = message;
    if (method === "notifications/resources/updated") {
      const uri = stringAt(params, "uri");
      if (uri !== undefined) observer.resourceUpdated(uri);
    } else if (CHANGED_LISTS.has(method)) {
      for (const kind of CHANGED_LISTS.get(method) ?? []) observer.listChanged(kind);
    } else if (method === "notifications/progress") {
      // The token decides, not the stream.
      const call = calls.byProgressToken(params);
      if (call === undefined) taskProgress.forward(params);
      else call.forwardNotification(message);
    } else if (method === "notifications/cancelled") {
      onQuestionCancelled(params?.requestId);
    } else if (method === "notifications/tasks/status") {
      // It may come on any stream (2025-11-25: basic/utilities/tasks, "Input Required Status").
      onTaskStatus(params === undefined ? { method } : { method, params });
    } else {
      this.#forward(message, on);
    }
  }

  /** To the call it belongs to; else to the session that the connection is kept for; else it is dropped. */
  #forward(message: Notification, on: RunningCall | undefined): void {
    const { server, log, owner, directory, onElicitationComplete } = this.#settings;
    const { method, params } = message;
    const id =
      method === "notifications/elicitation/complete" ? stringAt(params, "elicitationId") : undefined;
    if (id !== undefined) onElicitationComplete(id);
    const call = on ?? this.#callOf(params, id);
    if (call !== undefined) {
      call.forwardNotification(message);
      return;
    }
    const clientChannel = owner === undefined ? undefined : directory.find(owner.affinity);
    if (clientChannel?.notify === undefined)
      log.debug({ server, method }, "a notification belongs to no call");
    else clientChannel.notify(params === undefined ? { method } : { method, params });
  }

  /** The call that awaits the task it names; the sole call where it names nothing that another client may own. */
  #callOf(params: JsonObject | undefined, elicitationId: string | undefined): RunningCall | undefined {
    const { calls, owner } = this.#settings;
    const task = relatedTask(params);
    const waiting = task === undefined ? undefined : [...calls.all].find((call) => call.task === task);
    const isForeign = (task ?? elicitationId) !== undefined && owner === undefined;
    return waiting ?? (isForeign ? undefined : calls.soleCall());
  }
}
