/** What legacy sessions hear between their calls. */
import { describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import { until } from "../../support/until.js";
import { type EdgeServer, edgeServer, type Message } from "./support.js";

const ALL = {
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
  },
};

/** The resources of each subscription at the port that has any. */
const followedAt = ({ port }: Pick<EdgeServer, "port">): readonly string[][] =>
  port.interests.filter(({ resources }) => resources.size > 0).map(({ resources }) => [...resources]);

describe("list changes", () => {
  test.each([
    ["tools", "notifications/tools/list_changed"],
    ["prompts", "notifications/prompts/list_changed"],
    ["resources", "notifications/resources/list_changed"],
    ["resourceTemplates", "notifications/resources/list_changed"],
  ] as const)("of %s are told as %s", async (list, method) => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    const events = await host.listen();
    server.port.publish({ kind: "list", list });
    expect(await events.message()).toEqual({ jsonrpc: "2.0", method });
    await events.cancel();
  });

  test("that initialize did not promise are not told", async () => {
    const server = await edgeServer({
      introduction: {
        capabilities: { tools: { listChanged: true }, prompts: {}, resources: { listChanged: false } },
      },
    });
    await server.host();
    expect(server.port.interests.map(({ lists }) => [...lists])).toEqual([["tools"]]);
  });

  test("are not told before the host has said that it is initialized", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host({ raw: true });
    expect(server.port.interests).toEqual([]);
    await host.notify("notifications/initialized");
    await host.notify("notifications/initialized");
    expect(server.port.interests).toHaveLength(1);
  });
});

describe("resources/subscribe", () => {
  const updated = (uri: string) => ({ kind: "resource", uri }) as const;

  test("is answered at once, and updates of that resource are told from then on", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    const events = await host.listen();
    expect(await host.request("resources/subscribe", { uri: "x:a" })).toEqual({
      jsonrpc: "2.0",
      id: 1,
      result: {},
    });
    server.port.publish(updated("x:other"));
    server.port.publish(updated("x:a"));
    expect(await events.message()).toEqual({
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: { uri: "x:a" },
    });
    await events.cancel();
  });

  test("is refused as its server refuses it, and then nothing is followed", async () => {
    const server = await edgeServer({ introduction: ALL, refused: ["x:a"] });
    const host = await server.host();
    expect((await host.request("resources/subscribe", { uri: "x:a" })).error).toMatchObject({
      code: -32602,
      message: "nobody is told of it",
      data: { uri: "x:a" },
    });
    expect(server.port.interests.flatMap(({ resources }) => [...resources])).toEqual([]);
  });

  test("of two sessions is each its own", async () => {
    const server = await edgeServer({ introduction: ALL });
    const [one, two] = [await server.host(), await server.host()];
    await one.request("resources/subscribe", { uri: "x:a" });
    const events = [await one.listen(), await two.listen()];
    server.port.publish(updated("x:a"));
    await Promise.all([one.delete(), two.delete()]);
    const told: (readonly Message[])[] = await Promise.all(events.map((stream) => stream.rest()));
    expect(told.map(({ length }) => length)).toEqual([1, 0]);
  });

  test("twice for the same resource is one subscription, and one unsubscribe ends it", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    for (const uri of ["x:a", "x:a", "x:b"]) await host.request("resources/subscribe", { uri });
    expect(followedAt(server)).toEqual([["x:a", "x:b"]]);
    expect(await host.request("resources/unsubscribe", { uri: "x:a" })).toMatchObject({ result: {} });
    expect(await host.request("resources/unsubscribe", { uri: "x:never" })).toMatchObject({ result: {} });
    expect(followedAt(server)).toEqual([["x:b"]]);
  });

  test("to URIs that take more memory together than a session may is refused, and room comes back", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    const [a = "", b = "", c = ""] = ["a", "b", "c"].map((name) => `x:${name.repeat(100_000)}`);
    for (const uri of [a, b])
      expect(await host.request("resources/subscribe", { uri })).toMatchObject({ result: {} });
    const { error } = await host.request("resources/subscribe", { uri: c });
    expect(error).toMatchObject({ data: { cardea: { code: "overloaded" } } });
    await host.request("resources/unsubscribe", { uri: a });
    expect(await host.request("resources/subscribe", { uri: c })).toMatchObject({ result: {} });
  });

  test("to what nobody would tell of is refused with -32601, and to nothing with -32602", async () => {
    const server = await edgeServer({ introduction: ALL, followable: ["x:a"] });
    const host = await server.host();
    const refused = await host.request("resources/subscribe", { uri: "x:b" });
    expect(refused.error).toMatchObject({ code: -32601, data: { uri: "x:b" } });
    expect((await host.request("resources/subscribe", {})).error?.code).toBe(-32602);
    expect(followedAt(server)).toEqual([]);
  });

  test("that a server has no room for is refused, can be tried again, and leaves the others as they were", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    await host.request("resources/subscribe", { uri: "x:a" });
    const full = new GatewayError("overloaded", "gateway", "all connections are in use");
    vi.spyOn(server.port.changes, "subscribe").mockImplementationOnce(() => {
      throw full;
    });
    expect((await host.request("resources/subscribe", { uri: "x:b" })).error?.message).toBe(full.message);
    expect(followedAt(server)).toEqual([["x:a"]]);
    expect(await host.request("resources/subscribe", { uri: "x:b" })).toMatchObject({ result: {} });
    expect(followedAt(server)).toEqual([["x:a", "x:b"]]);
  });

  test("to a resource whose server was never met is refused, and can be tried again", async () => {
    const server = await edgeServer({ introduction: ALL, later: ["x:a"] });
    const host = await server.host();
    const { error } = await host.request("resources/subscribe", { uri: "x:a" });
    expect(error).toMatchObject({ data: { cardea: { code: "upstream_unavailable", retryable: true } } });
    expect(followedAt(server)).toEqual([]);
  });

  test("that still waits for its server is over when the client unsubscribes, and counts as long as it waits", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    let arrive = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    vi.spyOn(server.port.changes, "followable").mockImplementation(async (_client, uris) => {
      await arrived;
      return new Map(uris.map((uri) => [uri, "now" as const]));
    });
    const large = (letter: string): string => `x:${letter.repeat(100_000)}`;
    const waiting = ["a", "b"].map((letter) => host.request("resources/subscribe", { uri: large(letter) }));
    await until("both to wait", () => vi.mocked(server.port.changes.followable).mock.calls.length === 2);
    const third = await host.request("resources/subscribe", { uri: large("c") });
    expect(third.error).toMatchObject({ data: { cardea: { code: "overloaded" } } });
    await host.request("resources/unsubscribe", { uri: large("a") });
    arrive();
    expect(await Promise.all(waiting)).toMatchObject([{ result: {} }, { result: {} }]);
    expect(followedAt(server)).toEqual([[large("b")]]);
  });

  test("twice at once, to what its server refuses, is refused twice", async () => {
    const server = await edgeServer({ introduction: ALL, refused: ["x:a"] });
    const host = await server.host();
    const both = await Promise.all([1, 2].map(() => host.request("resources/subscribe", { uri: "x:a" })));
    expect(both.map(({ error }) => error?.code)).toEqual([-32602, -32602]);
    expect(followedAt(server)).toEqual([]);
  });

  test("begins and ends without a moment in which changes of lists are not heard", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    const [lists] = server.port.interests;
    await host.request("resources/subscribe", { uri: "x:a" });
    await host.request("resources/unsubscribe", { uri: "x:a" });
    expect(server.port.interests).toEqual([lists]);
    expect(server.port.interests[0]).toBe(lists);
  });

  test("is asked for anew after its server has refused it late", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    await host.request("resources/subscribe", { uri: "x:a" });
    server.port.publish({ kind: "unfollowed", uri: "x:a" });
    vi.spyOn(server.port.changes, "followable").mockImplementation(async () => new Map());
    expect((await host.request("resources/subscribe", { uri: "x:a" })).error?.code).toBe(-32601);
  });

  test("ends with the session", async () => {
    const server = await edgeServer({ introduction: ALL });
    const host = await server.host();
    await host.request("resources/subscribe", { uri: "x:a" });
    await host.delete();
    expect(server.port.interests).toEqual([]);
  });
});
