/** Notifications to legacy sessions between their calls. */
import { describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import { until } from "../../support/until.js";
import { type EdgeServer, edgeHost, edgeServer, type Message } from "./support.js";

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
  ] as const)("of %s are sent as %s", async (list, method) => {
    const { server, host } = await edgeHost({ introduction: ALL });
    const events = await host.listen();
    server.port.publish({ kind: "list", list });
    expect(await events.message()).toEqual({ jsonrpc: "2.0", method });
    await events.cancel();
  });

  test("that initialize did not advertise are not sent", async () => {
    const server = await edgeServer({
      introduction: {
        capabilities: { tools: { listChanged: true }, prompts: {}, resources: { listChanged: false } },
      },
    });
    await server.host();
    expect(server.port.interests.map(({ lists }) => [...lists])).toEqual([["tools"]]);
  });

  test("are not sent before notifications/initialized", async () => {
    const { server, host } = await edgeHost({ introduction: ALL }, { raw: true });
    expect(server.port.interests).toEqual([]);
    await host.notify("notifications/initialized");
    await host.notify("notifications/initialized");
    expect(server.port.interests).toHaveLength(1);
  });
});

describe("resources/subscribe", () => {
  const updated = (uri: string) => ({ kind: "resource", uri }) as const;

  test("is answered at once, and updates of that resource are sent from then on", async () => {
    const { server, host } = await edgeHost({ introduction: ALL });
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
    const { server, host } = await edgeHost({ introduction: ALL, refused: ["x:a"] });
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
    const { server, host } = await edgeHost({ introduction: ALL });
    for (const uri of ["x:a", "x:a", "x:b"]) await host.request("resources/subscribe", { uri });
    expect(followedAt(server)).toEqual([["x:a", "x:b"]]);
    expect(await host.request("resources/unsubscribe", { uri: "x:a" })).toMatchObject({ result: {} });
    expect(await host.request("resources/unsubscribe", { uri: "x:never" })).toMatchObject({ result: {} });
    expect(followedAt(server)).toEqual([["x:b"]]);
  });

  test("to URIs beyond the memory limit of a session is refused, and unsubscribe makes room", async () => {
    const { host } = await edgeHost({ introduction: ALL });
    const [a = "", b = "", c = ""] = ["a", "b", "c"].map((name) => `x:${name.repeat(100_000)}`);
    for (const uri of [a, b])
      expect(await host.request("resources/subscribe", { uri })).toMatchObject({ result: {} });
    const { error } = await host.request("resources/subscribe", { uri: c });
    expect(error).toMatchObject({ data: { cardea: { code: "overloaded" } } });
    await host.request("resources/unsubscribe", { uri: a });
    expect(await host.request("resources/subscribe", { uri: c })).toMatchObject({ result: {} });
  });

  test("without a server that supports it is refused with -32601, and without a URI with -32602", async () => {
    const { server, host } = await edgeHost({ introduction: ALL, followable: ["x:a"] });
    const refused = await host.request("resources/subscribe", { uri: "x:b" });
    expect(refused.error).toMatchObject({ code: -32601, data: { uri: "x:b" } });
    expect((await host.request("resources/subscribe", {})).error?.code).toBe(-32602);
    expect(followedAt(server)).toEqual([]);
  });

  test("that a server refuses as one too many can be retried, and leaves the others as they were", async () => {
    const { server, host } = await edgeHost({ introduction: ALL });
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

  test("to a resource whose server was never connected is refused, and can be retried", async () => {
    const { server, host } = await edgeHost({ introduction: ALL, later: ["x:a"] });
    const { error } = await host.request("resources/subscribe", { uri: "x:a" });
    expect(error).toMatchObject({ data: { cardea: { code: "upstream_unavailable", retryable: true } } });
    expect(followedAt(server)).toEqual([]);
  });

  test("that still waits for its server is over when the client unsubscribes, and counts as long as it waits", async () => {
    const { server, host } = await edgeHost({ introduction: ALL });
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
    const { server, host } = await edgeHost({ introduction: ALL, refused: ["x:a"] });
    const both = await Promise.all([1, 2].map(() => host.request("resources/subscribe", { uri: "x:a" })));
    expect(both.map(({ error }) => error?.code)).toEqual([-32602, -32602]);
    expect(followedAt(server)).toEqual([]);
  });

  test("begins and ends without a gap in list_changed", async () => {
    const { server, host } = await edgeHost({ introduction: ALL });
    const [lists] = server.port.interests;
    await host.request("resources/subscribe", { uri: "x:a" });
    await host.request("resources/unsubscribe", { uri: "x:a" });
    expect(server.port.interests).toEqual([lists]);
    expect(server.port.interests[0]).toBe(lists);
  });

  test("is requested again after its server has refused it late", async () => {
    const { server, host } = await edgeHost({ introduction: ALL });
    await host.request("resources/subscribe", { uri: "x:a" });
    server.port.publish({ kind: "unfollowed", uri: "x:a" });
    vi.spyOn(server.port.changes, "followable").mockImplementation(async () => new Map());
    expect((await host.request("resources/subscribe", { uri: "x:a" })).error?.code).toBe(-32601);
  });

  test("ends with the session", async () => {
    const { server, host } = await edgeHost({ introduction: ALL });
    await host.request("resources/subscribe", { uri: "x:a" });
    await host.delete();
    expect(server.port.interests).toEqual([]);
  });
});
