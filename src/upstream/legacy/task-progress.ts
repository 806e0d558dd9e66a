/** Which client gets the progress of a task, whose call has ended, and with which token? */
import type { Call } from "../../core/call.js";
import type { ClientDirectory } from "../../core/client.js";
import { type Envelope, idKey, type MessageId } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { progressToken } from "../protocol/open-calls.js";

/** The recipient of the progress of a task. */
export interface ProgressTarget {
  readonly affinity: string;
  /** The client's own progress token. */
  readonly token: MessageId;
}

/** The maximum number of tasks; the oldest is forgotten first, as no message marks the end of a task. */
const MAX_REMEMBERED = 1_000;

/** The tasks of one connection whose clients sent a progress token. */
export class TaskProgress {
  readonly #directory: ClientDirectory;
  /** By the gateway's token, which is the request id of the call. */
  readonly #targets = new Map<number, ProgressTarget>();

  constructor(directory: ClientDirectory) {
    this.#directory = directory;
  }

  /** Records `target` where `answer`, the response to the request `id`, created a task. */
  taskStarted(id: number, target: ProgressTarget, answer: Envelope): void {
    if (objectAt(answer.result, "task") === undefined) return;
    this.#targets.set(id, target);
    const [oldest] = this.#targets.keys();
    if (this.#targets.size > MAX_REMEMBERED && oldest !== undefined) this.#targets.delete(oldest);
  }

  /** Forwards a progress notification to its client (2025-11-25: basic/utilities/tasks, "Task Progress Notifications"). */
  forward(params: JsonObject | undefined): void {
    const token = idKey(params?.progressToken);
    const target = typeof token === "number" ? this.#targets.get(token) : undefined;
    if (target === undefined) return;
    this.#directory.find(target.affinity)?.notify?.({
      method: "notifications/progress",
      params: { ...params, progressToken: target.token },
    });
  }
}

/** Undefined where `call` creates no task, or has no progress token. */
export function progressTargetOf({ params, client }: Call): ProgressTarget | undefined {
  const token = Object.hasOwn(params, "task") ? progressToken(params) : undefined;
  return token === undefined ? undefined : { affinity: client.affinity, token };
}
