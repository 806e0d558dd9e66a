/** Answers what clients ask of the tasks that were begun for them: each question goes to the server that has it. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Reply } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import type { Handler } from "../core/handler.js";
import { taskFlaw } from "../core/list-entries.js";
import { unknownMethod } from "../core/refusal.js";
import { supportsTaskList, supportsTasks } from "../core/tasks.js";
import { type JsonObject, stringAt } from "../wire/json.js";
import { mergedList } from "./merged-list.js";
import type { Send } from "./send.js";
import type { Tasks } from "./tasks.js";

export interface TaskCallsOptions {
  readonly catalog: Pick<Catalog, "prepare" | "capabilities" | "reachable">;
  readonly tasks: Pick<Tasks, "find" | "handleInList" | "serversOf">;
  readonly send: Send;
  /** Asks one of several servers for its part of a list. */
  readonly sendEach: Send;
}

export interface TaskCalls {
  /** For the methods of `TASK_METHODS`; `locate` stands further out and has found the route. */
  readonly request: Handler;
  readonly list: Handler;
}

/** @throws GatewayError where there is no such task for this client, or no server that has tasks at all. */
export function taskCalls({ catalog, tasks, send, sendEach }: TaskCallsOptions): TaskCalls {
  const serversWith = (call: Call, has: (capabilities: JsonObject | undefined) => boolean) => {
    const reachable = catalog.reachable(call.client, call.method);
    const servers = reachable.filter((name) => has(catalog.capabilities(name, call.client)));
    if (servers.length === 0) throw unknownMethod(call.method);
    return servers;
  };

  async function ask(call: Call): Promise<Reply> {
    const task = tasks.find(call.client, stringAt(call.params, "taskId") ?? "");
    if (task !== undefined && call.route !== undefined) {
      return send(task.server, call, { ...call.params, taskId: task.id });
    }
    serversWith(call, supportsTasks);
    // Whether it never was, or was given to somebody else, is for nobody to find out.
    throw new GatewayError("unknown_target", "downstream", "there is no such task");
  }

  async function list(call: Call): Promise<Reply> {
    await catalog.prepare(call.client);
    const owning = tasks.serversOf(call.client);
    // Nobody is met only to be asked for what is known not to be there.
    const servers = serversWith(call, supportsTaskList).filter((server) => owning.has(server));
    // Hosts read the list as a whole: one task that they cannot read would cost them the tasks of all servers.
    // A connection may be shared, and then its server lists what it does for others as well.
    const show = (server: string, item: JsonObject): JsonObject | undefined => {
      const id = stringAt(item, "taskId");
      const taskId = id === undefined ? undefined : tasks.handleInList(call.client, server, id);
      return taskId === undefined || taskFlaw(item) !== undefined ? undefined : { ...item, taskId };
    };
    return mergedList({ call, servers, member: "tasks", send: sendEach, show });
  }

  return { request: ask, list };
}
