/** Streams on which a 2026-07-28 server tells of tasks (SEP-2663, "Task Status Notifications"). */
import { describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { objectAt } from "../../../src/wire/json.js";
import { META } from "../../../src/wire/names.js";
import {
  type Asked,
  type FakeServer,
  HTTP,
  legacyServer,
  modernServer,
  RpcFailure,
} from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { client, meet, settled } from "../../support/met-upstream.js";

fakeTime();

const TASKS = "io.modelcontextprotocol/tasks";
const host = client({ capabilities: { extensions: { [TASKS]: {} } } });

interface Stream {
  readonly taskIds: unknown;
  readonly asked: Asked;
  readonly end: () => void;
  say(method: string, params?: JsonObject): void;
}

/** A server that agrees to tell of these tasks; of none at all where `agreed` is undefined. */
function telling(agreed: readonly string[] | undefined): {
  readonly server: FakeServer;
  readonly streams: Stream[];
} {
  const streams: Stream[] = [];
  const server = modernServer({ capabilities: {} }).on(
    "subscriptions/listen",
    (params, asked) =>
      new Promise((resolve) => {
        const say = (method: string, more: JsonObject = {}): void =>
          asked.say(method, { ...more, _meta: { [META.subscriptionId]: asked.id } });
        const { taskIds } = params.notifications as JsonObject;
        streams.push({ taskIds, asked, end: () => resolve({ resultType: "complete" }), say });
        if (agreed !== undefined) {
          say("notifications/subscriptions/acknowledged", { notifications: { taskIds: agreed } });
        }
      }),
  );
  return { server, streams };
}

function listener() {
  const heard: string[] = [];
  return { heard, changed: (id: string) => void heard.push(id), lost: () => void heard.push("lost") };
}

describe.each([
  ["HTTP", { transport: HTTP }],
  ["a pipe", {}],
])("over %s", (_way, config) => {
  test("one is opened for the subscriber, with the tasks that the server acknowledged", async () => {
    const { server, streams } = telling(["a", "c"]);
    const { upstream } = await meet(server, config);
    const told = listener();
    const followed = await upstream.followTasks?.(["a", "b"], host, told);
    expect(followed?.ids).toEqual(["a"]);
    expect(streams.map(({ taskIds }) => taskIds)).toEqual([["a", "b"]]);
    expect(objectAt(server.params("subscriptions/listen"), "_meta")?.[META.clientCapabilities]).toEqual(
      host.capabilities,
    );
    for (const taskId of ["a", "b", "c"])
      streams[0]?.say("notifications/tasks", { taskId, status: "working" });
    expect(told.heard).toEqual(["a"]);
  });

  test("it ends with its last subscriber, and then no loss is reported", async () => {
    const { server, streams } = telling(["a"]);
    const { upstream } = await meet(server, config);
    const told = listener();
    const followed = await upstream.followTasks?.(["a"], host, told);
    followed?.stop();
    await settled();
    expect(streams[0]?.asked.signal?.aborted).toBe(true);
    streams[0]?.say("notifications/tasks", { taskId: "a" });
    expect(told.heard).toEqual([]);
  });

  test.each([
    ["agrees to none of them", [] as readonly string[]],
    ["does not say in time to what it agrees", undefined],
  ])("it is closed when the server %s", async (_, agreed) => {
    const { server, streams } = telling(agreed);
    const { upstream } = await meet(server, config);
    const following = upstream.followTasks?.(["a"], host, listener());
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await following)?.ids).toEqual([]);
    expect(streams[0]?.asked.signal?.aborted).toBe(true);
  });

  test("subscribers are notified when an acknowledged task is lost", async () => {
    const { server, streams } = telling(["a"]);
    const { upstream } = await meet(server, config);
    const told = listener();
    await upstream.followTasks?.(["a"], host, told);
    streams[0]?.end();
    await settled();
    expect(told.heard).toEqual(["lost"]);
  });
});

test("subscribers are notified when the server on a pipe ends the stream by cancelling it", async () => {
  const { server, streams } = telling(["a"]);
  const { upstream } = await meet(server);
  const told = listener();
  await upstream.followTasks?.(["a"], host, told);
  server.channel.say("notifications/cancelled", { requestId: streams[0]?.asked.id });
  expect(told.heard).toEqual(["lost"]);
});

test("a server that refuses to listen, a legacy one, or an unreachable one follows no task", async () => {
  const refusing = modernServer().on("subscriptions/listen", () => {
    throw new RpcFailure(-32601, "no such method");
  });
  const { upstream } = await meet(refusing);
  expect((await upstream.followTasks?.(["a"], host, listener()))?.ids).toEqual([]);
  const old = await meet(legacyServer());
  expect((await old.upstream.followTasks?.(["a"], host, listener()))?.ids).toEqual([]);
  await upstream.close();
  expect((await upstream.followTasks?.(["a"], host, listener()))?.ids).toEqual([]);
});
