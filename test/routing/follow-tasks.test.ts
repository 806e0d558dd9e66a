/** Clients that follow their tasks are notified with the result of `tasks/get`, through the whole pipeline. */

import { expect, test } from "vitest";
import { CallIds, type Reply } from "../../src/core/call.js";
import { SILENT } from "../../src/core/logger.js";
import type { TaskListener, TaskSubscription } from "../../src/core/tasks.js";
import { followTasks } from "../../src/routing/task-notifications.js";
import type { JsonObject } from "../../src/wire/json.js";
import { tool } from "../catalog/support.js";
import { fakeTime, settle } from "../support/fake-time.js";
import {
  type FakeUpstream,
  fakeCall,
  fakeClient,
  fakeUpstream,
  resultReply,
} from "../support/fake-upstream.js";
import { type Front, frontOf, resultOf } from "./support.js";

fakeTime();

interface Telling {
  readonly upstream: FakeUpstream;
  /** Who listens now, with the server's own ids. */
  readonly listeners: { readonly ids: readonly string[]; readonly listener: TaskListener<string> }[];
}

/** A server with a new task for each call, that agrees to tell of those in `agreed`. */
function telling(name: string, agreed: readonly string[]): Telling {
  let begun = 0;
  const listeners: Telling["listeners"] = [];
  const upstream = fakeUpstream(name, {
    capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
    lists: { tools: [tool("run")] },
  }).answers(({ method, params }) => {
    if (method === "tools/call") begun += 1;
    const taskId = method === "tools/call" ? `t${begun}` : params.taskId;
    const resultType = method === "tools/call" ? "task" : "complete";
    return resultReply({ resultType, taskId, status: "completed", _meta: { at: name } });
  });
  const following = {
    followTasks: async (
      ids: readonly string[],
      _client: unknown,
      listener: TaskListener<string>,
    ): Promise<TaskSubscription> => {
      const entry = { ids, listener };
      listeners.push(entry);
      return { ids: agreed, stop: () => void listeners.splice(listeners.indexOf(entry), 1) };
    },
  };
  return { upstream: Object.assign(upstream, following), listeners };
}

function listening() {
  const heard: (JsonObject | "lost")[] = [];
  return {
    faults: [] as string[],
    heard,
    changed: (task: JsonObject) => void heard.push(task),
    lost: () => void heard.push("lost"),
  };
}

const begin = async ({ handle }: Front, name: string): Promise<string> =>
  String(resultOf(await handle(fakeCall("tools/call", { name }))).taskId);

function follow(
  front: Front,
  servers: readonly Telling[],
  handles: readonly string[],
  client = fakeClient(),
) {
  const told = listening();
  const logger = { ...SILENT, error: (_: object, sentence: string) => void told.faults.push(sentence) };
  const upstream = (wanted: string) => servers.find(({ upstream: { name } }) => name === wanted)?.upstream;
  return {
    told,
    following: followTasks({ ...front, upstream, logger, callIds: new CallIds() }, client, handles, told),
  };
}

test("each server receives its own tasks, and accepted ones are followed under the client's handles", async () => {
  const [one, two] = [telling("one", ["t1"]), telling("two", ["t1"])];
  const front = frontOf([one.upstream, two.upstream]);
  await settle();
  const handles = [
    await begin(front, "one__run"),
    await begin(front, "one__run"),
    await begin(front, "two__run"),
  ];
  const { told, following } = follow(front, [one, two], [...handles, "made up"]);
  const { ids, stop } = await following;
  expect(ids).toEqual([handles[0], handles[2]]);
  expect([one, two].map(({ listeners }) => listeners.map((each) => each.ids))).toEqual([
    [["t1", "t2"]],
    [["t1"]],
  ]);
  two.listeners[0]?.listener.changed("t1");
  await settle();
  expect(told.heard).toEqual([{ taskId: handles[2], status: "completed", _meta: { at: "two" } }]);
  stop();
  expect([...one.listeners, ...two.listeners]).toEqual([]);
});

test("a client that cannot be notified ends nothing, and is notified of the next change", async () => {
  const one = telling("one", ["t1"]);
  const front = frontOf([one.upstream]);
  await settle();
  const handle = await begin(front, "one__run");
  const { told, following } = follow(front, [one], [handle]);
  await following;
  const tell = told.changed;
  told.changed = () => {
    throw new Error("the stream is gone");
  };
  one.listeners[0]?.listener.changed("t1");
  await settle();
  expect(told.faults).toEqual([expect.stringContaining("notifying a client of a task")]);
  told.changed = tell;
  one.listeners[0]?.listener.changed("t1");
  await settle();
  expect(told.heard).toHaveLength(1);
});

test("another principal's task, and one of a hidden server, cannot be followed", async () => {
  const [one, two] = [telling("one", ["t1"]), telling("two", [])];
  const front = frontOf([one.upstream, two.upstream]);
  await settle();
  const handle = await begin(front, "one__run");
  for (const over of [{ principal: { id: "eve", groups: [], claims: {} } }, { endpoint: "two" }]) {
    const { following } = follow(front, [one, two], [handle], fakeClient(over));
    expect((await following).ids).toEqual([]);
  }
  expect(one.listeners).toEqual([]);
});

test("changes that come while a task is being asked after are one, and none comes after the end", async () => {
  const one = telling("one", ["t1"]);
  const front = frontOf([one.upstream]);
  await settle();
  const handle = await begin(front, "one__run");
  const { told, following } = follow(front, [one], [handle]);
  const { stop } = await following;
  const [listener] = one.listeners.map((each) => each.listener);
  const answers: ((reply: Reply) => void)[] = [];
  one.upstream.answers(() => new Promise((resolve) => void answers.push(resolve)));
  const answer = async (status: string): Promise<void> => {
    answers.shift()?.(resultReply({ taskId: "t1", status }));
    await settle();
  };
  for (let times = 0; times < 3; times += 1) listener?.changed("t1");
  await settle();
  expect(answers).toHaveLength(1);
  await answer("working");
  expect(answers).toHaveLength(1);
  await answer("completed");
  expect(told.heard).toEqual([
    { taskId: handle, status: "working" },
    { taskId: handle, status: "completed" },
  ]);
  listener?.changed("t1");
  await settle();
  stop();
  await answer("late");
  expect(told.heard).toHaveLength(2);
});

test("a response that is no task is not sent, and a lost task is", async () => {
  const one = telling("one", ["t1"]);
  const front = frontOf([one.upstream]);
  await settle();
  const { told, following } = follow(front, [one], [await begin(front, "one__run")]);
  await following;
  one.upstream.answers(() => ({ kind: "error", error: { code: -32602, message: "gone" } }));
  one.listeners[0]?.listener.changed("t1");
  await settle();
  expect(told.heard).toEqual([]);
  one.listeners[0]?.listener.lost();
  expect(told.heard).toEqual(["lost"]);
});
