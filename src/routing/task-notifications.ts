/** How are clients notified of their tasks: those with a session, and those that follow tasks? */

import type { Catalog } from "../catalog/catalog.js";
import type { Call, CallIds, Handler, Notice } from "../core/call.js";
import type { Client, ClientDirectory } from "../core/client.js";
import { inBackground, type Logger } from "../core/logger.js";
import { Stop } from "../core/stop.js";
import type { TaskListener, TaskSubscription } from "../core/tasks.js";
import type { Upstream } from "../core/upstream.js";
import { type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import { renameRelatedTask } from "./rename-results.js";
import type { Tasks } from "./tasks.js";

/** Notifies the client that owns the task; dropped where that client has no session. */
export function forwardTaskNotification(
  server: string,
  notice: Notice,
  directory: ClientDirectory,
  tasks: Pick<Tasks, "ownerOf" | "report">,
): void {
  const id = stringAt(notice.params, "taskId");
  const owner = id === undefined ? undefined : tasks.ownerOf(server, id);
  if (id === undefined || owner === undefined) return;
  tasks.report(server, id, notice.params ?? {});
  const params = { ...notice.params, taskId: owner.handle };
  directory.find(owner.client.affinity)?.notify?.({ ...notice, params });
}

/** The directory as `server` sees it: task ids in its questions and notifications become handles. */
export function directoryWithHandles(
  server: string,
  directory: ClientDirectory,
  tasks: Pick<Tasks, "ownerOf">,
): ClientDirectory {
  return {
    find(affinity) {
      const clientChannel = directory.find(affinity);
      if (clientChannel === undefined) return undefined;
      // References to the tasks of other clients are removed.
      const handleOf = (id: string): string | undefined => {
        const owner = tasks.ownerOf(server, id);
        return owner?.client.affinity === affinity ? owner.handle : undefined;
      };
      const named = (params: JsonObject | undefined): { readonly params?: JsonObject } =>
        params === undefined ? {} : { params: renameRelatedTask(params, handleOf) };
      return {
        client: clientChannel.client,
        idleSince: clientChannel.idleSince,
        request: (request, signal) =>
          clientChannel.request({ ...request, ...named(objectAt(request, "params")) }, signal),
        ...(clientChannel.notify !== undefined && {
          notify: (notice: Notice) => clientChannel.notify?.({ ...notice, ...named(notice.params) }),
        }),
      };
    },
  };
}

/** What following tasks needs of the gateway. */
interface FollowTasksOptions {
  readonly catalog: Pick<Catalog, "view">;
  readonly tasks: Pick<Tasks, "find">;
  readonly upstream: (server: string) => Upstream | undefined;
  /**
   * The whole stack of a call: each notification carries a fresh `tasks/get`, which passes every policy. The
   * content of the server's own notification is not used.
   */
  readonly handle: Handler;
  readonly callIds: CallIds;
  readonly logger: Logger;
}

/** Follows those of `handles` that are tasks of `client`. Never rejects. */
export async function followTasks(
  { catalog, tasks, upstream, handle, callIds, logger }: FollowTasksOptions,
  client: Client,
  handles: readonly string[],
  listener: TaskListener<JsonObject>,
): Promise<TaskSubscription> {
  const stopped = new Stop();
  const view = catalog.view(client);
  /** By server, then by task id of the server, the handles. */
  const wanted = new Map<string, Map<string, string>>();
  for (const handle of handles) {
    const task = tasks.find(client, handle);
    if (task === undefined || view.findOnServer("tools", task.server, task.tool) === undefined) continue;
    wanted.set(task.server, (wanted.get(task.server) ?? new Map<string, string>()).set(task.id, handle));
  }
  const reporters = new Map(
    handles.map((taskId) => [taskId, coalescedReporter(() => report(taskId), logger)]),
  );

  async function report(taskId: string): Promise<void> {
    const call: Call = {
      id: callIds.next(),
      method: "tasks/get",
      params: { taskId },
      client,
      signal: stopped.signal,
      notify: () => {},
    };
    const reply = await handle(call);
    if (stopped.signal.aborted || reply.kind !== "result") return;
    listener.changed(without(reply.result.object, ["resultType"]));
  }

  const followed = await Promise.all(
    [...wanted].map(async ([server, own]): Promise<TaskSubscription> => {
      const following = await upstream(server)?.followTasks?.([...own.keys()], client, {
        changed: (id) => reporters.get(own.get(id) ?? "")?.(),
        lost: listener.lost,
      });
      if (following === undefined) return { ids: [], stop: () => {} };
      const { ids, stop } = following;
      return { ids: ids.flatMap((id) => own.get(id) ?? []), stop };
    }),
  );
  const agreed = new Set(followed.flatMap(({ ids }) => ids));
  return {
    ids: handles.filter((handle) => agreed.has(handle)),
    stop() {
      stopped.abort();
      for (const { stop } of followed) stop();
    },
  };
}

/** Runs `report` for each change, in sequence; changes during a run are coalesced into one more run. */
function coalescedReporter(report: () => Promise<void>, logger: Logger): () => void {
  let running = false;
  let again = false;
  const run = async (): Promise<void> => {
    running = true;
    try {
      do {
        again = false;
        await report();
      } while (again);
    } finally {
      running = false;
    }
  };
  return () => {
    again = true;
    if (!running) inBackground(run(), logger, "notifying a client of a task");
  };
}
