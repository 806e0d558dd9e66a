/** Which servers may create tasks, which hosts may request them, and how are changes of tasks followed? */
import { type JsonObject, objectAt } from "../wire/json.js";
import { TASKS_EXTENSION } from "./methods.js";

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
