/** How a call is sent under the server's own names, and its reply gets the names of the client. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Handler, Notice, Reply } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { supportsTaskCalls, supportsTasks, TASK_METHODS } from "../core/methods.js";
import { type JsonObject, without } from "../wire/json.js";
import { renameNotice, renameReply } from "./rename-results.js";
import { renameTaskNotice, renameTasks, type TaskMap } from "./rename-tasks.js";
import { RenamingCache } from "./renaming.js";
import type { Tasks } from "./tasks.js";

/** What a sender reads and calls. */
export interface SenderOptions {
  readonly catalog: Pick<Catalog, "view" | "capabilities" | "learnUri">;
  /** The stack of each server, by its key in the config. */
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly tasks: Pick<Tasks, "expose">;
}

/**
 * Runs a call at `server` with `params`, which carry the server's own names.
 *
 * @throws GatewayError when the server is not configured any more, or what its stack throws.
 */
export type Send = (server: string, call: Call, params: JsonObject) => Promise<Reply>;

/** A `Send` over the stacks of the servers. */
export function sender({ catalog, handlers, tasks }: SenderOptions): Send {
  const renamings = new RenamingCache(catalog);

  return function send(server, call, params) {
    const handler = handlers.get(server);
    if (handler === undefined) return Promise.reject(serverGone(server));
    const renaming = renamings.of(call.client, server);
    const ofTasks = call.method === "tools/call" || TASK_METHODS.has(call.method);
    const capabilities = ofTasks ? catalog.capabilities(server, call.client) : undefined;
    const task = supportsTasks(capabilities) ? taskMap(call, server) : undefined;
    // The `task` member goes only to servers that run calls as tasks: another server of the view advertised
    // them.
    const wishes = ofTasks && Object.hasOwn(params, "task");
    const own = wishes && !supportsTaskCalls(capabilities) ? without(params, ["task"]) : params;
    if (renaming === undefined && task === undefined) return handler({ ...call, params: own });
    const notify = (notice: Notice): void => {
      const named = renaming === undefined ? notice : renameNotice(notice, renaming);
      call.notify(task === undefined ? named : renameTaskNotice(named, task));
    };
    return handler({ ...call, params: own, notify }).then((reply) => {
      const named = renaming === undefined ? reply : renameReply(call.method, reply, renaming);
      return task === undefined ? named : renameTasks({ method: call.method, params: own }, named, task);
    });
  };

  function taskMap({ client, route }: Call, server: string): TaskMap {
    return (id) => tasks.expose(client, { server, id, tool: route?.target ?? "" });
  }
}

const serverGone = (server: string): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `server ${server} is not served any more`, { server });
