/** How task notifications outside calls reach the client of the task, under its handle. */
import type { Notice } from "../core/call.js";
import type { ClientDirectory } from "../core/client.js";
import { type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { renameRelatedTask } from "./rename-tasks.js";
import type { Tasks } from "./tasks.js";

/** Notifies the client that owns the task; dropped where that client has no session. */
export function forwardTaskNotification(
  server: string,
  notice: Notice,
  directory: ClientDirectory,
  tasks: Pick<Tasks, "ownerOf">,
): void {
  const id = stringAt(notice.params, "taskId");
  const owner = id === undefined ? undefined : tasks.ownerOf(server, id);
  if (owner === undefined) return;
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
        request: (request, signal) =>
          clientChannel.request({ ...request, ...named(objectAt(request, "params")) }, signal),
        ...(clientChannel.notify !== undefined && {
          notify: (notice: Notice) => clientChannel.notify?.({ ...notice, ...named(notice.params) }),
        }),
      };
    },
  };
}
