/** The words of tasks: work that goes on after its call was answered, and is asked after by the id of the task. */
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

/** Whether a server with these capabilities may begin tasks, in either of the two ways of saying so. */
export const supportsTasks = (capabilities: JsonObject | undefined): boolean =>
  objectAt(capabilities, "tasks") !== undefined ||
  objectAt(objectAt(capabilities, "extensions"), TASKS_EXTENSION) !== undefined;

/** Whether a client may ask such a server, call by call, to run a tool as a task (2025-11-25: basic/utilities/tasks). */
export const supportsTaskCalls = (capabilities: JsonObject | undefined): boolean =>
  objectAt(objectAt(objectAt(objectAt(capabilities, "tasks"), "requests"), "tools"), "call") !== undefined;

/** Whether such a server tells which tasks there are. */
export const supportsTaskList = (capabilities: JsonObject | undefined): boolean =>
  objectAt(objectAt(capabilities, "tasks"), "list") !== undefined;

/** Some tasks that are followed, by the ids they were asked for with. */
export interface TaskSubscription {
  /** Those of which changes will be told; of the others nobody has agreed to tell. */
  readonly ids: readonly string[];
  readonly stop: () => void;
}

export interface TaskListener<Change> {
  readonly changed: (change: Change) => void;
  /** Nothing more will be told, whatever was agreed. */
  readonly lost: () => void;
}
