/** How are changes of tasks listened for? By one listen stream per request, as only its own client may know a task. */
import type { Client } from "../../core/client.js";
import type { TaskListener, TaskSubscription } from "../../core/methods.js";
import { type Envelope, idKey } from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { META } from "../../wire/names.js";
import type { OpenStream } from "./subscriptions.js";

/** Sends a listen request for `client`, and returns its id at once. */
export type OpenTaskStream = (
  params: JsonObject,
  onMessage: (message: Envelope) => void,
  client: Client,
) => OpenStream;

interface TaskStream extends OpenStream {
  readonly receive: (message: Envelope) => void;
}

/** A server that has not acknowledged within this time (ms) is taken to notify of no task. */
const ACKNOWLEDGE_TIMEOUT_MS = 3_000;

const NO_TASKS: TaskSubscription = { ids: [], stop: () => {} };

/** All task streams of one connection. */
export class TaskStreams {
  readonly #open: OpenTaskStream;
  readonly #streams = new Map<number, TaskStream>();

  constructor(open: OpenTaskStream) {
    this.#open = open;
  }

  /** Resolves to those of `ids` that the server acknowledged (SEP-2663, "Task Status Notifications"). */
  follow(ids: readonly string[], client: Client, listener: TaskListener<string>): Promise<TaskSubscription> {
    return new Promise((resolve) => {
      let agreed: readonly string[] | undefined;
      let ended = false;
      const onMessage = ({ method, params }: Envelope): void => {
        if (ended) return;
        if (method === "notifications/subscriptions/acknowledged" && agreed === undefined) {
          const acknowledged = objectAt(params, "notifications")?.taskIds;
          const named: readonly unknown[] = Array.isArray(acknowledged) ? acknowledged : [];
          agreed = ids.filter((id) => named.includes(id));
          if (agreed.length === 0) end();
          else resolve({ ids: agreed, stop: end });
        } else if (method === "notifications/tasks") {
          const id = stringAt(params, "taskId");
          if (id !== undefined && agreed?.includes(id) === true) listener.changed(id);
        }
      };
      const stream: TaskStream = {
        ...this.#open({ notifications: { taskIds: ids } }, (message) => onMessage(message), client),
        receive: onMessage,
      };
      this.#streams.set(stream.id, stream);
      const end = (): void => {
        if (ended) return;
        ended = true;
        clearTimeout(timer);
        resolve(NO_TASKS);
        this.#streams.delete(stream.id);
        stream.close();
      };
      const timer = setTimeout(() => {
        if (agreed === undefined) end();
      }, ACKNOWLEDGE_TIMEOUT_MS);
      const onEnded = (): void => {
        if (ended) return;
        end();
        if (agreed !== undefined) listener.lost();
      };
      stream.ended.then(onEnded, onEnded);
    });
  }

  /** Takes a message that carries a subscription id; false when it belongs to none of these streams. */
  receive(message: Envelope): boolean {
    const id = idKey(objectAt(message.params, "_meta")?.[META.subscriptionId]);
    const stream = typeof id === "number" ? this.#streams.get(id) : undefined;
    stream?.receive(message);
    return stream !== undefined;
  }

  stop(): void {
    for (const stream of [...this.#streams.values()]) stream.close();
  }
}
