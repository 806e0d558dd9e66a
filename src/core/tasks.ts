/** Which methods and capabilities belong to tasks? A task goes on after its call was answered, and is polled by id. */
import { type JsonObject, objectAt } from "../wire/json.js";

/** Where servers and clients declare tasks as an extension (SEP-2663). */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** Methods about one task, which their `taskId` names. */
export const TASK_METHODS: ReadonlySet<string> = new Set([
  "tasks/get",
  "tasks/result",
  "tasks/update",
  "tasks/cancel",
]);

/** Whether a server with these capabilities may create tasks: `tasks` of 2025-11-25, or the extension. */
export const supportsTasks = (capabilities: JsonObject | undefined): boolean =>
  objectAt(capabilities, "tasks") !== undefined ||
  objectAt(objectAt(capabilities, "extensions"), TASKS_EXTENSION) !== undefined;

/** Whether a client may request that a tool call runs as a task (2025-11-25: basic/utilities/tasks). */
export const supportsTaskCalls = (capabilities: JsonObject | undefined): boolean =>
  objectAt(objectAt(objectAt(objectAt(capabilities, "tasks"), "requests"), "tools"), "call") !== undefined;

/** Whether the server supports `tasks/list`. */
export const supportsTaskList = (capabilities: JsonObject | undefined): boolean =>
  objectAt(objectAt(capabilities, "tasks"), "list") !== undefined;

/** A subscription to the changes of some tasks. */
export interface TaskSubscription {
  /** The tasks of which changes will be reported; the server has not agreed to the others. */
  readonly ids: readonly string[];
  readonly stop: () => void;
}

/** Receives changes of tasks. */
export interface TaskListener<Change> {
  readonly changed: (change: Change) => void;
  /** No further changes will be reported. */
  readonly lost: () => void;
}
