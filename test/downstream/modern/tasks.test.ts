/** Tasks at this edge: an extension that must be declared, without what the other era has of them (SEP-2663). */

import { once } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import type { TaskListener, TaskSubscription } from "../../../src/core/tasks.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { META } from "../../../src/wire/names.js";
import { echo, type FakePort, fakePort, resultReply } from "../../support/fake-port.js";
import { hearing, modernRequest, open, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

const TASKS = "io.modelcontextprotocol/tasks";
const declaring = { [META.clientCapabilities]: { extensions: { [TASKS]: {} } } };
const introduction = { capabilities: { tools: {}, tasks: { list: {} }, extensions: { [TASKS]: {} } } };
const MISSING = { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } };

const onTask = (method: string, taskId: string, meta = {}) =>
  modernRequest(method, { taskId }, { headers: { "mcp-name": taskId }, meta });

describe("requests about a task", () => {
  test.each(["tasks/get", "tasks/update", "tasks/cancel"])(
    "%s needs a client that has declared the extension with this very request",
    async (method) => {
      const gateway = fakePort({
        introduction,
        handlers: { [method]: () => resultReply({ status: "working" }) },
      });
      const { url } = await listening({ gateway });
      const refused = await send(url, onTask(method, "t"));
      expect([refused.status, refused.json()]).toMatchObject([400, { error: MISSING }]);
      expect(gateway.calls).toEqual([]);
      const answered = await send(url, onTask(method, "t", declaring));
      expect([answered.status, answered.json()]).toMatchObject([200, { result: { resultType: "complete" } }]);
    },
  );

  test("is -32601 where no server has tasks, whatever the client declares", async () => {
    const { url } = await listening({ gateway: fakePort() });
    expect((await send(url, onTask("tasks/get", "t"))).status).toBe(404);
  });

  test("must name the task in the header as in the body", async () => {
    const { url } = await listening({ gateway: fakePort({ introduction }) });
    const other = modernRequest(
      "tasks/get",
      { taskId: "t" },
      { headers: { "mcp-name": "u" }, meta: declaring },
    );
    expect((await send(url, other)).json()).toMatchObject({ error: { code: -32020 } });
    const none = modernRequest("tasks/get", { taskId: "t" }, { meta: declaring });
    expect((await send(url, none)).json()).toMatchObject({ error: { code: -32020 } });
  });

  test.each(["tasks/list", "tasks/result"])("%s belongs to the other era", async (method) => {
    const gateway = fakePort({ introduction, handlers: { [method]: echo } });
    const { url } = await listening({ gateway });
    const answer = await send(url, modernRequest(method, { taskId: "t" }, { meta: declaring }));
    expect([answer.status, answer.json()]).toMatchObject([404, { error: { code: -32601 } }]);
    expect(gateway.calls).toEqual([]);
  });
});

test("the gateway advertises tasks as an extension only, and ignores the task parameter of 2025-11-25", async () => {
  const gateway = fakePort({ introduction, handlers: { "tools/call": echo } });
  const { url } = await listening({ gateway });
  const discovered = (await send(url, modernRequest("server/discover"))).json().result as JsonObject;
  expect(discovered.capabilities).toEqual({ tools: {}, extensions: { [TASKS]: {} } });
  await send(url, modernRequest("tools/call", { name: "run", task: { ttl: 1 } }));
  expect(gateway.calls[0]?.params).toEqual({ name: "run" });
});

test("a task in place of a result goes out as one", async () => {
  const task = { resultType: "task", taskId: "t", status: "working", ttlMs: 5 };
  const { url } = await listening({
    gateway: fakePort({ handlers: { "tools/call": () => resultReply(task) } }),
  });
  expect((await send(url, modernRequest("tools/call", { name: "run" }))).json().result).toMatchObject(task);
});

describe("a subscription to tasks", () => {
  interface Following {
    readonly port: FakePort;
    /** Who follows, with what they asked for. */
    readonly followers: {
      readonly handles: readonly string[];
      readonly listener: TaskListener<JsonObject>;
    }[];
  }
  /** A gateway that tells of the tasks in `agreed`, as soon as `ready` is. */
  function following(agreed: readonly string[], ready: Promise<void> = Promise.resolve()): Following {
    const followers: Following["followers"] = [];
    const followTasks = async (
      _client: unknown,
      handles: readonly string[],
      listener: TaskListener<JsonObject>,
    ): Promise<TaskSubscription> => {
      const follower = { handles, listener };
      followers.push(follower);
      await ready;
      return { ids: agreed, stop: () => void followers.splice(followers.indexOf(follower), 1) };
    };
    return { port: Object.assign(fakePort({ introduction }), { followTasks }), followers };
  }
  const listen = (taskIds: unknown, meta: object = declaring, lists: object = {}) =>
    modernRequest(
      "subscriptions/listen",
      { notifications: { taskIds, ...lists } },
      { id: "l", meta: { ...meta } },
    );
  const stamp = { _meta: { [META.subscriptionId]: "l" } };

  test("acknowledges the tasks it subscribes, and sends each change in full", async () => {
    const { port: gateway, followers } = following(["a"]);
    const { url } = await listening({ gateway });
    const stream = await open(url, listen(["a", "b", "a"]));
    const heard = hearing(stream);
    expect((await heard(1))[0]).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { ...stamp, notifications: { taskIds: ["a"] } },
    });
    expect(followers[0]?.handles).toEqual(["a", "b"]);
    followers[0]?.listener.changed({ taskId: "a", status: "completed", result: {}, _meta: { "x/y": 1 } });
    expect((await heard(2))[1]).toEqual({
      jsonrpc: "2.0",
      method: "notifications/tasks",
      params: {
        taskId: "a",
        status: "completed",
        result: {},
        _meta: { "x/y": 1, [META.subscriptionId]: "l" },
      },
    });
    stream.destroy();
    await expect.poll(() => followers).toEqual([]);
  });

  test("is acknowledged before any notification, however early a task changes", async () => {
    let ready = (): void => {};
    const { port: gateway, followers } = following(["a"], new Promise((resolve) => (ready = resolve)));
    const { url } = await listening({ gateway });
    const opening = open(url, listen(["a"]));
    await expect.poll(() => followers).toHaveLength(1);
    followers[0]?.listener.changed({ taskId: "a", status: "working" });
    ready();
    const heard = await hearing(await opening)(2);
    expect(heard.map(({ method }) => method)).toEqual([
      "notifications/subscriptions/acknowledged",
      "notifications/tasks",
    ]);
  });

  test("ends with its response when an acknowledged task can no longer be followed", async () => {
    const { port: gateway, followers } = following(["a"]);
    const { url } = await listening({ gateway });
    const stream = await open(url, listen(["a"]));
    const heard = hearing(stream);
    await heard(1);
    const ended = once(stream, "end");
    followers[0]?.listener.lost();
    expect((await heard(2))[1]).toMatchObject({ id: "l", result: { resultType: "complete", ...stamp } });
    await ended;
    expect(followers).toEqual([]);
  });

  test("is unsubscribed where the rest of the request exceeds a limit", async () => {
    const { port: gateway, followers } = following(["a"]);
    const { url } = await listening({ gateway });
    vi.spyOn(gateway.changes, "subscribe").mockImplementationOnce(() => {
      throw new GatewayError("overloaded", "gateway", "all connections are in use");
    });
    expect((await send(url, listen(["a"], declaring, { toolsListChanged: true }))).status).toBe(503);
    expect(followers).toEqual([]);
  });

  test("is refused to a client that has not declared the extension, and where the filter is none", async () => {
    const { port: gateway, followers } = following(["a"]);
    const { url } = await listening({ gateway });
    const undeclared = await send(url, listen(["a"], {}));
    expect([undeclared.status, undeclared.json()]).toMatchObject([400, { error: MISSING }]);
    for (const wrong of ["a", [1], {}]) {
      expect((await send(url, listen(wrong))).json()).toMatchObject({ error: { code: -32602 } });
    }
    expect(followers).toEqual([]);
  });
});
