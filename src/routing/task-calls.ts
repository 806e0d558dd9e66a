/** How task methods reach the server of the task, and how tasks are listed across servers. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Handler, Reply } from "../core/call.js";
import { GatewayError, unknownMethod } from "../core/errors.js";
import { taskFlaw } from "../core/list-entries.js";
import { supportsTaskList, supportsTasks } from "../core/methods.js";
import { type JsonObject, stringAt } from "../wire/json.js";
import { mergedList } from "./merged-list.js";
import type { Send } from "./send.js";
import type { Tasks } from "./tasks.js";

export interface TaskCallsOptions {
  readonly catalog: Pick<Catalog, "prepare" | "capabilities" | "reachable">;
  readonly tasks: Pick<Tasks, "find" | "handleInList" | "serversOf">;
  readonly send: Send;
  /** Sends the request for one server's part of a list. */
  readonly sendEach: Send;
}

/** The task methods. */
export interface TaskCalls {
  /** For the methods of `TASK_METHODS`; `locate` has set the route. */
  readonly request: Handler;
  readonly list: Handler;
}

/** @throws GatewayError for an unknown task, and where no visible server has tasks. */
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
    // A task of another client and one that never existed get the same error.
    throw new GatewayError("unknown_target", "downstream", "there is no such task");
  }

  async function list(call: Call): Promise<Reply> {
    await catalog.prepare(call.client);
    const owning = tasks.serversOf(call.client);
    // Only servers with known tasks of this client are queried, so that none is connected in vain.
    const servers = serversWith(call, supportsTaskList).filter((server) => owning.has(server));
    // A host validates the list as a whole, so a malformed task is left out. A server that shares one
    // connection lists the tasks of other clients as well; they are left out too.
    const show = (server: string, item: JsonObject): JsonObject | undefined => {
      const id = stringAt(item, "taskId");
      const taskId = id === undefined ? undefined : tasks.handleInList(call.client, server, id);
      return taskId === undefined || taskFlaw(item) !== undefined ? undefined : { ...item, taskId };
    };
    return mergedList({ call, servers, member: "tasks", send: sendEach, show });
  }

  return { request: ask, list };
}
