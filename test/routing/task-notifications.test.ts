/** What servers say and ask between calls names tasks by their handles, and reaches only whose they are. */
import { createSecretKey } from "node:crypto";
import { expect, test } from "vitest";
import type { Notice } from "../../src/core/call.js";
import type { ClientDirectory } from "../../src/core/client.js";
import { directoryWithHandles, forwardTaskNotification } from "../../src/routing/task-notifications.js";
import { Tasks } from "../../src/routing/tasks.js";
import type { JsonObject } from "../../src/wire/json.js";
import { fakeClient } from "../support/fake-upstream.js";

const RELATED = "io.modelcontextprotocol/related-task";
const related = (taskId: string) => ({ _meta: { [RELATED]: { taskId }, "x/y": 1 } });
const session = (affinity: string) => fakeClient({ affinity, session: true });

/** Two sessions with a task each, which one server calls `t1` and `t2`. */
function room() {
  const tasks = new Tasks(createSecretKey(Buffer.alloc(32, "k")));
  const told: Record<string, Notice[]> = { a: [], b: [] };
  const asked: JsonObject[] = [];
  const directory: ClientDirectory = {
    find: (affinity) =>
      told[affinity] === undefined
        ? undefined
        : {
            client: session(affinity),
            request: async (request) => {
              asked.push(request);
              return { by: affinity };
            },
            notify: (notice) => void told[affinity]?.push(notice),
          },
  };
  const handleOf = (affinity: string, id: string) =>
    tasks.expose(session(affinity), { server: "files", id, tool: "run" });
  return { tasks, told, asked, directory, a: handleOf("a", "t1"), b: handleOf("b", "t2") };
}

const status = (taskId: string): Notice => ({
  method: "notifications/tasks/status",
  params: { taskId, status: "working" },
});

test("the status of a task is sent to its session, whichever connection it came on", () => {
  const { tasks, told, directory, a, b } = room();
  for (const id of ["t2", "t1", "t3"]) forwardTaskNotification("files", status(id), directory, tasks);
  forwardTaskNotification("another", status("t1"), directory, tasks);
  forwardTaskNotification("files", { method: "notifications/tasks/status" }, directory, tasks);
  expect(told).toEqual({ a: [status(a)], b: [status(b)] });
});

test("it is sent to the session that polled the task last, and to none that is closed", () => {
  const { tasks, told, directory, a } = room();
  const again = { server: "files", id: "t1", tool: "run" };
  expect(tasks.expose(session("b"), again)).toBe(a);
  forwardTaskNotification("files", status("t1"), directory, tasks);
  expect(told).toEqual({ a: [], b: [status(a)] });
  tasks.expose(session("gone"), again);
  forwardTaskNotification("files", status("t1"), directory, tasks);
  expect(told).toEqual({ a: [], b: [status(a)] });
});

test("a question or a message names the client's task that it belongs to, and never another's", async () => {
  const { tasks, told, asked, directory, a } = room();
  const port = directoryWithHandles("files", directory, tasks).find("a");
  const question = (taskId: string) => ({
    method: "elicitation/create",
    params: { message: "?", ...related(taskId) },
  });
  expect(await port?.request(question("t1"), new AbortController().signal)).toEqual({ by: "a" });
  await port?.request(question("t2"), new AbortController().signal);
  await port?.request({ method: "roots/list" }, new AbortController().signal);
  expect(asked).toEqual([
    question(a),
    { method: "elicitation/create", params: { message: "?", _meta: { "x/y": 1 } } },
    { method: "roots/list" },
  ]);
  port?.notify?.({ method: "notifications/message", params: { data: 1, ...related("t1") } });
  expect(told.a).toEqual([{ method: "notifications/message", params: { data: 1, ...related(a) } }]);
  expect(directoryWithHandles("files", directory, tasks).find("nobody")).toBeUndefined();
});
