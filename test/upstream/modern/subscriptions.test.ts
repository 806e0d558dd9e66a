/** The one stream on which a 2026-07-28 server tells of changes. */
import { describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import {
  type Asked,
  type FakeServer,
  HTTP,
  modernServer,
  RpcFailure,
  SILENCE,
} from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, client, meet, settled } from "../../support/met-upstream.js";

fakeTime();

const over = { transport: HTTP };
const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

interface Stream {
  readonly filter: JsonObject;
  readonly asked: Asked;
  readonly end: (result: JsonObject) => void;
  say(method: string, params?: JsonObject): void;
}

/** A server that acknowledges each stream on demand, or immediately. */
function listening(acknowledge = true): { readonly server: FakeServer; readonly streams: Stream[] } {
  const streams: Stream[] = [];
  const server = modernServer().on(
    "subscriptions/listen",
    (params, asked) =>
      new Promise((end) => {
        const say = (method: string, more: JsonObject = {}): void =>
          asked.say(method, { ...more, _meta: { "io.modelcontextprotocol/subscriptionId": asked.id } });
        streams.push({ filter: params.notifications as JsonObject, asked, end, say });
        if (acknowledge) say("notifications/subscriptions/acknowledged");
      }),
  );
  return { server, streams };
}

describe.each([
  ["HTTP", over],
  ["a pipe", {}],
])("over %s", (_way, config) => {
  test("it is opened for the server's capabilities, and its notifications are passed on", async () => {
    const { server, streams } = listening();
    const { heard } = await meet(server, config);
    await vi.advanceTimersByTimeAsync(10);
    expect(streams.map(({ filter }) => filter)).toEqual([LISTS]);
    streams[0]?.say("notifications/tools/list_changed");
    expect(heard).toEqual(["ready @shared", "tools @shared"]);
  });

  test("a resource that is followed makes a new stream, and the old one ends when the new one is acknowledged", async () => {
    const { server, streams } = listening(false);
    const { upstream, heard } = await meet(server, config);
    await vi.advanceTimersByTimeAsync(10);
    streams[0]?.say("notifications/subscriptions/acknowledged");
    upstream.resources.subscribe("x:a", undefined);
    upstream.resources.subscribe("x:b", undefined);
    await vi.advanceTimersByTimeAsync(50);
    expect(streams).toHaveLength(2);
    expect(streams[1]?.filter).toEqual({ ...LISTS, resourceSubscriptions: ["x:a", "x:b"] });
    // Until then nothing is missed.
    streams[0]?.say("notifications/prompts/list_changed");
    expect(heard.at(-1)).toBe("prompts @shared");
    expect(streams[0]?.asked.signal?.aborted).toBe(false);
    streams[1]?.say("notifications/subscriptions/acknowledged");
    expect(streams[0]?.asked.signal?.aborted).toBe(true);
    streams[1]?.say("notifications/resources/updated", { uri: "x:a/part" });
    expect(heard.at(-1)).toBe("updated x:a/part");
  });

  test("what was missed is notified as well where the server ended both an old stream and its successor", async () => {
    const { server, streams } = listening(false);
    const { upstream, heard } = await meet(server, config);
    await vi.advanceTimersByTimeAsync(10);
    streams[0]?.say("notifications/subscriptions/acknowledged");
    upstream.resources.subscribe("x:a", undefined);
    await vi.advanceTimersByTimeAsync(50);
    heard.length = 0;
    for (const { end } of streams) end({ resultType: "complete" });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(streams).toHaveLength(3);
    expect(heard).toEqual([]);
    streams[2]?.say("notifications/subscriptions/acknowledged");
    expect(heard).toContain("tools @shared");
    expect(heard).toContain("updated x:a");
  });

  test("a stream that the server ended is reopened, with a list_changed for what was missed", async () => {
    const { server, streams } = listening();
    const { upstream, heard } = await meet(server, config);
    upstream.resources.subscribe("x:a", undefined);
    await vi.advanceTimersByTimeAsync(50);
    heard.length = 0;
    streams.at(-1)?.end({ resultType: "complete" });
    await settled();
    expect(heard).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(heard).toEqual([
      "tools @shared",
      "prompts @shared",
      "resources @shared",
      "resourceTemplates @shared",
      "updated x:a",
    ]);
    // It may be another server by now, which offers other things.
    expect(server.sent("server/discover")).toHaveLength(2);
  });
});

describe("while one call is running on a pipe", () => {
  async function running() {
    const { server, streams } = listening();
    server.on("tools/call", () => SILENCE);
    const { upstream, heard } = await meet(server);
    const stop = upstream.resources.subscribe("x:a", undefined);
    await vi.advanceTimersByTimeAsync(50);
    const { call, notices } = calling();
    void upstream.call(call).catch(() => {});
    await settled();
    heard.length = 0;
    return { server, streams, heard, notices, stop };
  }

  test("a late notification of a stream that was closed reaches neither the call nor a subscriber", async () => {
    const { streams, heard, notices, stop } = await running();
    const follows = streams.at(-1);
    stop();
    await vi.advanceTimersByTimeAsync(50);
    expect(follows?.asked.signal?.aborted).toBe(true);
    follows?.say("notifications/resources/updated", { uri: "x:a" });
    expect({ heard, notices }).toEqual({ heard: [], notices: [] });
  });

  test("the cancellation of a stream that was closed, and the status of a task, do not reach the call", async () => {
    const { server, streams, notices, stop } = await running();
    const requestId = streams.at(-1)?.asked.id;
    stop();
    await vi.advanceTimersByTimeAsync(50);
    server.channel.say("notifications/cancelled", { requestId });
    server.channel.say("notifications/tasks", { taskId: "1", status: "working" });
    expect(notices).toEqual([]);
  });

  test("a change without a subscription id reaches subscribers, and not the call", async () => {
    const { server, heard, notices } = await running();
    server.channel.say("notifications/tools/list_changed");
    server.channel.say("notifications/resources/updated", { uri: "x:a" });
    expect({ heard, notices }).toEqual({ heard: ["tools @shared", "updated x:a"], notices: [] });
  });

  test("any other notification reaches the call", async () => {
    const { server, notices } = await running();
    server.channel.say("notifications/acme/news", { headline: "none" });
    expect(notices).toEqual([{ method: "notifications/acme/news", params: { headline: "none" } }]);
  });
});

test("if DNS resolves to another address the stream is reopened there, and lists are refreshed", async () => {
  const { server, streams } = listening(false);
  const { upstream, heard } = await meet(server, over);
  await vi.advanceTimersByTimeAsync(10);
  streams[0]?.say("notifications/subscriptions/acknowledged");
  heard.length = 0;
  for (const hear of server.channel.whenMoved) hear();
  await vi.advanceTimersByTimeAsync(10);
  expect(streams).toHaveLength(2);
  expect(streams[0]?.asked.signal?.aborted).toBe(false);
  streams[1]?.say("notifications/subscriptions/acknowledged");
  expect(streams[0]?.asked.signal?.aborted).toBe(true);
  expect(heard).toEqual([
    "tools @shared",
    "prompts @shared",
    "resources @shared",
    "resourceTemplates @shared",
  ]);
  await upstream.close();
  expect(server.channel.whenMoved.size).toBe(0);
});

test("resources missing from the acknowledgement are refused, and subscribers can wait for that", async () => {
  const { server, streams } = listening(false);
  const { upstream } = await meet(server, over);
  const mine = client();
  for (const uri of ["x:a", "x:secret"]) upstream.resources.subscribe(uri, mine);
  await vi.advanceTimersByTimeAsync(50);
  const refusals = Promise.all(
    ["x:a", "x:secret"].map(async (uri) => upstream.resources.subscriptionError?.(uri, mine)),
  );
  streams.at(-1)?.say("notifications/subscriptions/acknowledged", {
    notifications: { ...LISTS, resourceSubscriptions: ["x:a"] },
  });
  expect(await refusals).toEqual([undefined, { code: -32602, message: expect.any(String) }]);
  expect(await upstream.resources.subscriptionError?.("x:secret", mine)).toMatchObject({ code: -32602 });
});

test("no acknowledgement is waited for after an unsubscribe", async () => {
  const { server } = listening(false);
  const { upstream } = await meet(server, over);
  const mine = client();
  const stop = upstream.resources.subscribe("x:a", mine);
  await vi.advanceTimersByTimeAsync(50);
  const refusal = upstream.resources.subscriptionError?.("x:a", mine);
  stop();
  expect(await refusal).toBeUndefined();
});

test("a server that cancels the stream is subscribed again", async () => {
  const { server, streams } = listening();
  await meet(server);
  await vi.advanceTimersByTimeAsync(10);
  server.channel.say("notifications/cancelled", { requestId: streams[0]?.asked.id });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(streams).toHaveLength(2);
});

test("a server that advertises changes without the method is not subscribed to, without further effect", async () => {
  const server = modernServer().on("subscriptions/listen", () => {
    throw new RpcFailure(-32601, "no such method", undefined, 404);
  });
  const { upstream } = await meet(server, over);
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect(server.sent("subscriptions/listen")).toHaveLength(1);
  expect(upstream.state).toBe("ready");
});

describe("after a server has refused to listen", () => {
  const refusing = (code: number) =>
    modernServer().on("subscriptions/listen", () => {
      throw new RpcFailure(code, "no such thing here", undefined, code === -32_601 ? 404 : 400);
    });
  const asks = (server: FakeServer) => server.sent("subscriptions/listen").length;

  test("following and leaving resources sends no further requests to a server without the method", async () => {
    const { server, upstream } = await meet(refusing(-32_601), over);
    const mine = client();
    for (let round = 0; round < 5; round += 1) {
      const stop = upstream.resources.subscribe(`x:${round}`, mine);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await upstream.resources.subscriptionError?.(`x:${round}`, mine)).toMatchObject({
        code: -32_602,
      });
      stop();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(asks(server)).toBe(1);
  });

  test("a restarted server is subscribed again, including refused resources", async () => {
    const { server, upstream } = await meet(refusing(-32_601), over);
    const mine = client();
    upstream.resources.subscribe("x:a", mine);
    await vi.advanceTimersByTimeAsync(1_000);
    const { streams, server: grants } = listening();
    const listen = grants.methods.get("subscriptions/listen");
    if (listen !== undefined) server.on("subscriptions/listen", listen);
    for (const hear of server.channel.whenMoved) hear();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(streams.at(-1)?.filter).toMatchObject({ resourceSubscriptions: ["x:a"] });
    expect(await upstream.resources.subscriptionError?.("x:a", mine)).toBeUndefined();
    upstream.resources.subscribe("x:b", mine);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await upstream.resources.subscriptionError?.("x:b", mine)).toBeUndefined();
  });

  test("following and leaving resources does not shorten the backoff of a failing server", async () => {
    const { server, upstream } = await meet(refusing(-32_603), over);
    for (let round = 0; round < 600; round += 1) {
      const stop = upstream.resources.subscribe(`x:${round}`, client());
      await vi.advanceTimersByTimeAsync(50);
      stop();
      await vi.advanceTimersByTimeAsync(50);
    }
    // At 0, 1, 3, 7, 15, 31 s.
    expect(asks(server)).toBeLessThanOrEqual(6);
  });

  test("constantly changing resources do not prevent others from being subscribed", async () => {
    const { server, streams } = listening();
    const { upstream } = await meet(server, over);
    upstream.resources.subscribe("x:kept", client());
    for (let round = 0; round < 10; round += 1) {
      upstream.resources.subscribe(`x:${round}`, client())();
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(streams.at(-1)?.filter).toMatchObject({
      resourceSubscriptions: expect.arrayContaining(["x:kept"]),
    });
  });

  test("a resource for which it refuses the whole stream does not affect lists or other resources", async () => {
    const asked: JsonObject[] = [];
    const { server, streams } = listening();
    const listen = server.methods.get("subscriptions/listen");
    server.on("subscriptions/listen", (params, as) => {
      asked.push(params.notifications as JsonObject);
      if (JSON.stringify(params).includes("x:bad"))
        throw new RpcFailure(-32_602, "no such resource", undefined, 400);
      return listen?.(params, as) ?? SILENCE;
    });
    const { upstream } = await meet(server, over);
    const mine = client();
    upstream.resources.subscribe("x:good", mine);
    await vi.advanceTimersByTimeAsync(1_000);
    const stop = upstream.resources.subscribe("x:bad", mine);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await upstream.resources.subscriptionError?.("x:bad", mine)).toEqual({
      code: -32_602,
      message: "no such resource",
    });
    expect(await upstream.resources.subscriptionError?.("x:good", mine)).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect(asked.filter((filter) => JSON.stringify(filter).includes("x:bad"))).toHaveLength(1);
    expect(streams.at(-1)?.filter).toEqual({ ...LISTS, resourceSubscriptions: ["x:good"] });
    expect(streams.at(-1)?.asked.signal?.aborted).toBe(false);
    stop();
  });
});

test("a stream that ends before its acknowledgement is retried with backoff, without notifications", async () => {
  const server = modernServer().on("subscriptions/listen", { resultType: "complete" });
  const { heard } = await meet(server, over);
  await vi.advanceTimersByTimeAsync(120_000);
  // At 0, 1, 3, 7, 15, 31, 63 s and then each minute.
  expect(server.sent("subscriptions/listen").length).toBeLessThanOrEqual(9);
  expect(heard).toEqual(["ready @shared"]);
});

test("a server without change notifications receives no subscription", async () => {
  const server = modernServer({ capabilities: { tools: {} } }).on("subscriptions/listen", () => SILENCE);
  const { upstream } = await meet(server);
  upstream.resources.subscribe("x:a", undefined);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(server.sent("subscriptions/listen")).toHaveLength(0);
});

test("the stream ends with the upstream", async () => {
  const { server, streams } = listening();
  const { upstream } = await meet(server);
  await vi.advanceTimersByTimeAsync(10);
  await upstream.close();
  expect(streams[0]?.asked.signal?.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(streams).toHaveLength(1);
});
