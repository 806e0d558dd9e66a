/** How a client that follows tasks is notified of their changes. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, CallIds, Handler } from "../core/call.js";
import type { Client } from "../core/client.js";
import { inBackground, type Logger } from "../core/logger.js";
import type { TaskListener, TaskSubscription } from "../core/methods.js";
import { Stop } from "../core/stop.js";
import type { Upstream } from "../core/upstream.js";
import { type JsonObject, without } from "../wire/json.js";
import type { Tasks } from "./tasks.js";

/** What following tasks needs of the gateway. */
export interface FollowTasksOptions {
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
