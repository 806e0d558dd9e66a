/** The progress of tasks, whose calls were answered when they began: which client wants it, and under which token. */
import type { Call } from "../../core/call.js";
import type { ClientDirectory } from "../../core/client.js";
import type { Envelope } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { idKey, type MessageId } from "../../wire/message-id.js";
import { progressToken } from "../protocol/open-calls.js";

/** What is kept of a call that wants to hear of the progress of its task. */
export interface ProgressTarget {
  readonly affinity: string;
  /** The client's own. */
  readonly token: MessageId;
}

/** So many are remembered, and the oldest goes first: nobody says when a task is over. */
const MAX_REMEMBERED = 1_000;

export class TaskProgress {
  readonly #directory: ClientDirectory;
  /** By the gateway's token, which is the id that the call had. */
  readonly #targets = new Map<number, ProgressTarget>();

  constructor(directory: ClientDirectory) {
    this.#directory = directory;
  }

  /** Who wants to hear of the task that `answer` began, which came of the call whose id at the server was `id`. */
  taskStarted(id: number, target: ProgressTarget, answer: Envelope): void {
    if (objectAt(answer.result, "task") === undefined) return;
    this.#targets.set(id, target);
    const [oldest] = this.#targets.keys();
    if (this.#targets.size > MAX_REMEMBERED && oldest !== undefined) this.#targets.delete(oldest);
  }

  /** Tells the client that wants to hear it (2025-11-25: basic/utilities/tasks, "Task Progress Notifications"). */
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

/** Undefined where `call` is to begin no task, or gave no token. */
export function progressTargetOf({ params, client }: Call): ProgressTarget | undefined {
  const token = Object.hasOwn(params, "task") ? progressToken(params) : undefined;
  return token === undefined ? undefined : { affinity: client.affinity, token };
}
