/** Gateways behind gateways, and those that stand in a circle. */
import { expect, test, vi } from "vitest";
import type { JsonObject } from "../../src/wire/json.js";
import { type Asked, HTTP, legacyServer, modernServer, SILENCE } from "../support/fake-channel.js";
import { fakeTime } from "../support/fake-time.js";
import { calling, client, failure, meet } from "../support/met-upstream.js";

fakeTime();

const SIGNAL = new AbortController().signal;
const OWN = { instance: "own" };
const tool = (name: string, hops?: unknown): JsonObject => ({
  name,
  inputSchema: { type: "object" },
  ...(hops !== undefined && { _meta: { vendor: 1, "cardea/hops": hops } }),
});

/** A server of either era that says which gateway it is, and lists these tools. */
function gatewayServer(era: "legacy" | "modern", instance: string, tools: readonly JsonObject[]) {
  const server = era === "legacy" ? legacyServer() : modernServer();
  const method = era === "legacy" ? "initialize" : "server/discover";
  const greet = server.methods.get(method);
  server.on(method, async (params, asked) => {
    const result = (await greet?.(params, asked)) ?? {};
    return { ...result, _meta: { ...(result._meta as JsonObject), "cardea/instance": instance } };
  });
  return server
    .on("tools/list", { resultType: "complete", tools, ttlMs: 0, cacheScope: "public" })
    .on("tools/call", { resultType: "complete", content: [] });
}

test.each(["legacy", "modern"] as const)(
  "lists of a %s gateway carry the ids of gateways, and our own entries are omitted",
  async (era) => {
    const many = Array.from({ length: 8 }, (_, index) => `g${index}`);
    const server = gatewayServer(era, "other", [
      tool("plain"),
      tool("far", ["third"]),
      tool("ours", ["own"]),
      tool("ours, further on", ["third", "own"]),
      tool("its own", ["other"]),
      tool("too far", many),
      tool("strange", "own"),
    ]);
    const { upstream } = await meet(server, {}, OWN);
    const { items } = await upstream.list("tools", client(), SIGNAL);
    expect(items.map(({ name, _meta }) => [name, (_meta as JsonObject)["cardea/hops"]])).toEqual([
      ["plain", ["other"]],
      ["far", ["third", "other"]],
      ["strange", ["other"]],
    ]);
    expect(items[1]?._meta).toMatchObject({ vendor: 1 });
    await upstream.close();
  },
);

test("a gateway that is its own server lists nothing", async () => {
  const { upstream } = await meet(gatewayServer("modern", "own", [tool("plain")]), {}, OWN);
  expect((await upstream.list("tools", client(), SIGNAL)).items).toEqual([]);
});

test.each(["legacy", "modern"] as const)(
  "a call to a %s gateway carries the ids of gateways, and continues unless it loops",
  async (era) => {
    const { server, upstream } = await meet(gatewayServer(era, "other", [tool("plain")]), {}, OWN);
    const call = (hops?: unknown) =>
      upstream.call(
        calling({ params: { name: "plain", arguments: {}, _meta: { vendor: 1, "cardea/hops": hops } } }).call,
      );
    await call(["first"]);
    expect(server.params("tools/call")._meta).toMatchObject({ vendor: 1, "cardea/hops": ["first", "own"] });
    expect(await failure(call(["own", "third"]))).toMatchObject({
      code: "bad_request",
      retryable: false,
      message: expect.stringContaining("has passed this gateway before") as string,
    });
    expect(await failure(call(Array.from({ length: 8 }, (_, index) => `g${index}`)))).toMatchObject({
      code: "bad_request",
    });
    expect(server.sent("tools/call")).toHaveLength(1);
    await upstream.close();
  },
);

test("a server that is not a gateway gets no ids of gateways", async () => {
  const server = modernServer()
    .on("tools/list", {
      resultType: "complete",
      tools: [tool("plain", ["own"])],
      ttlMs: 0,
      cacheScope: "public",
    })
    .on("tools/call", { resultType: "complete", content: [] });
  const { upstream } = await meet(server, {}, OWN);
  expect((await upstream.list("tools", client(), SIGNAL)).items).toEqual([tool("plain", ["own"])]);
  await upstream.call(calling().call);
  expect(server.params("tools/call")._meta).not.toHaveProperty("cardea/hops");
});

test("list changes of a gateway are subscribed for each capability class, the newest eight", async () => {
  const streams: { readonly can: unknown; readonly follows: unknown; readonly asked: Asked }[] = [];
  const server = gatewayServer("modern", "other", []).on("subscriptions/listen", (params, asked) => {
    const { resourceSubscriptions } = params.notifications as JsonObject;
    const can = (params._meta as JsonObject)["io.modelcontextprotocol/clientCapabilities"];
    streams.push({ can, follows: resourceSubscriptions, asked });
    const _meta = { "io.modelcontextprotocol/subscriptionId": asked.id };
    asked.say("notifications/subscriptions/acknowledged", { ...params, _meta });
    return SILENCE;
  });
  const { upstream, heard } = await meet(server, { transport: HTTP }, OWN);
  const kind = (extension: string) =>
    client({ capabilities: { sampling: {}, extensions: { [extension]: {} } } });
  const open = () => streams.filter(({ asked }) => asked.signal?.aborted === false);
  upstream.resources.subscribe("x:a", undefined);
  await vi.advanceTimersByTimeAsync(50);
  expect(open().map(({ can }) => can)).toEqual([{}]);

  for (let twice = 0; twice < 2; twice += 1) await upstream.list("tools", kind("a.b/0"), SIGNAL);
  await vi.advanceTimersByTimeAsync(50);
  expect(open().map(({ follows }) => follows)).toEqual([["x:a"], ["x:a"]]);
  expect(open()[1]?.can).toMatchObject({ sampling: {} });
  const news = open()[1];
  news?.asked.say("notifications/tools/list_changed", {
    _meta: { "io.modelcontextprotocol/subscriptionId": news.asked.id },
  });
  expect(heard.some((what) => what.startsWith("tools @"))).toBe(true);

  for (let count = 1; count <= 9; count += 1) await upstream.list("tools", kind(`a.b/${count}`), SIGNAL);
  await vi.advanceTimersByTimeAsync(50);
  expect(open()).toHaveLength(1 + 8);
  expect(news?.asked.signal?.aborted).toBe(true);
  await upstream.close();
  expect(open()).toEqual([]);
});
