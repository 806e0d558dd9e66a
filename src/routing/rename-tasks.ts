/**
 * How task ids in the messages of a server become the handles that its client knows; everything else stays.
 */
import { mapKey } from "../catalog/ui-references.js";
import type { Call, Notice, Reply } from "../core/call.js";
import { type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import { META } from "../wire/names.js";
import { Payload } from "../wire/payload.js";
import { mapObject } from "./rename-results.js";

/** The handle of the server's task `id`; undefined for an unknown task. */
export type TaskMap = (id: string) => string | undefined;

/** `reply` to `call` with its tasks renamed; the very same object where there are none. */
export function renameTasks(call: Pick<Call, "method" | "params">, reply: Reply, task: TaskMap): Reply {
  switch (reply.kind) {
    case "result": {
      if (!reply.result.mayContain('"taskId"')) return reply;
      const renamed = renameInResult(call, reply.result.object, task);
      return renamed === reply.result.object ? reply : { ...reply, result: Payload.ofObject(renamed) };
    }
    case "input_required": {
      const renamed = Object.keys(reply.requests).reduce(
        (all, key) =>
          mapObject(all, key, (request) => mapObject(request, "params", (it) => renameRelatedTask(it, task))),
        reply.requests,
      );
      return renamed === reply.requests ? reply : { ...reply, requests: renamed };
    }
    case "error":
      return reply;
  }
}

/** A notification during a call, renamed likewise. */
export function renameTaskNotice(notice: Notice, task: TaskMap): Notice {
  if (notice.params === undefined) return notice;
  const about = notice.method.startsWith("notifications/tasks")
    ? renameTaskId(notice.params, task)
    : notice.params;
  const params = renameRelatedTask(about, task);
  return params === notice.params ? notice : { ...notice, params };
}

/** Renames the related task in `_meta`; the reference to an unknown task is removed. */
export const renameRelatedTask = (object: JsonObject, task: TaskMap): JsonObject =>
  mapObject(object, "_meta", (meta) => {
    const id = stringAt(objectAt(meta, META.relatedTask), "taskId");
    if (id === undefined) return meta;
    const known = task(id) !== undefined;
    return known
      ? mapObject(meta, META.relatedTask, (it) => renameTaskId(it, task))
      : without(meta, [META.relatedTask]);
  });

function renameInResult(
  { method, params }: Pick<Call, "method" | "params">,
  result: JsonObject,
  task: TaskMap,
) {
  const renamed = renameRelatedTask(result, task);
  if (method === "tools/call") {
    // Both forms of a task result. A tool result may have any members.
    if (renamed.resultType === "task") return renameTaskId(renamed, task);
    return Object.hasOwn(params, "task")
      ? mapObject(renamed, "task", (it) => renameTaskId(it, task))
      : renamed;
  }
  // The result of a task is the unchanged result of its tool.
  return method === "tasks/result" ? renamed : renameTaskId(renamed, task);
}

const renameTaskId = (object: JsonObject, task: TaskMap): JsonObject => mapKey(object, "taskId", task);
