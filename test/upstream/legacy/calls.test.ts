/** Calls to a legacy server: parameters, results, errors, completions, cancel. */
import { describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import { HTTP, legacyServer, RpcFailure, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, failure, meet, resultOf, settled } from "../../support/met-upstream.js";

fakeTime();

const over = { transport: HTTP };
const text = (words: string) => ({ content: [{ type: "text", text: words }] });

describe("a call", () => {
  test("reaches the server unchanged, and its result comes back unchanged", async () => {
    const answer = { content: [{ type: "hologram", depth: 3 }], vendor: { x: null }, _meta: { "a/b": 1 } };
    const { server, upstream } = await meet(legacyServer().on("tools/call", answer));
    const params = {
      name: "echo",
      arguments: { __proto__x: 1 },
      vendorParam: true,
      _meta: { traceparent: "00-1" },
    };
    const reply = await upstream.call(calling({ params }).call);
    expect(server.params("tools/call")).toEqual(params);
    expect(resultOf(reply)).toEqual(answer);
  });

  test("of an unknown method is forwarded", async () => {
    const { upstream } = await meet(legacyServer().on("vendor/thing", { done: true }));
    expect(resultOf(await upstream.call(calling({ method: "vendor/thing", params: {} }).call))).toEqual({
      done: true,
    });
  });

  test("gets the server's own error unchanged", async () => {
    const server = legacyServer().on("resources/read", () => {
      throw new RpcFailure(-32002, "Resource not found", { uri: "x:y" });
    });
    const { upstream } = await meet(server);
    const reply = await upstream.call(calling({ method: "resources/read", params: { uri: "x:y" } }).call);
    expect(reply).toEqual({
      kind: "error",
      error: { code: -32002, message: "Resource not found", data: { uri: "x:y" } },
    });
  });

  test.each([-32020, -32021, -32022, -32050])(
    "does not get %i, which is about the gateway's own request",
    async (code) => {
      const server = legacyServer().on("tools/call", () => {
        throw new RpcFailure(code, "no");
      });
      const { upstream } = await meet(server);
      const reply = await upstream.call(calling().call);
      expect(reply).toMatchObject({
        kind: "error",
        error: { code: -32603, data: { upstreamError: { code } } },
      });
    },
  );

  test("has an id that is unique in this process", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", text("hi")));
    await Promise.all(Array.from({ length: 50 }, () => upstream.call(calling().call)));
    const ids = server.received.flatMap(({ message }) => (message.id === undefined ? [] : [message.id]));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("fails as closed when the server exits during it, with its stderr", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", () => SILENCE));
    const call = failure(upstream.call(calling().call));
    await settled();
    server.channel.end("was ended by SIGKILL");
    const error = await call;
    expect(error).toMatchObject({ code: "upstream_closed", source: "upstream" });
    expect(error.message).toContain("SIGKILL");
  });
});

describe("completions", () => {
  const completion = { method: "completion/complete", params: { ref: { type: "ref/prompt", name: "p" } } };
  const serverOf = (protocolVersion: string, capabilities: object) =>
    legacyServer().on("initialize", {
      protocolVersion,
      capabilities,
      serverInfo: { name: "old", version: "1" },
    });

  test.each([
    ["2024-11-05", { prompts: {} }, true],
    ["2024-11-05", { resources: {} }, true],
    ["2024-11-05", { tools: {} }, false],
    ["2025-03-26", { prompts: {} }, false],
  ])("may be offered by a server of %s with %j: %s", async (revision, capabilities, may) => {
    const { upstream } = await meet(serverOf(revision, capabilities));
    expect(Object.hasOwn(upstream.facts?.capabilities ?? {}, "completions")).toBe(may);
  });

  test("are empty if such a server does not know the method", async () => {
    const { upstream } = await meet(serverOf("2024-11-05", { prompts: {} }));
    expect(resultOf(await upstream.call(calling(completion).call))).toEqual({ completion: { values: [] } });
  });
});

describe("a cancel", () => {
  test.each([
    ["a pipe", {}],
    ["HTTP", over],
  ])("is sent as notifications/cancelled over %s", async (_way, config) => {
    const { server, upstream } = await meet(
      legacyServer().on("tools/call", () => SILENCE),
      config,
    );
    const { call, giveUp } = calling();
    const reply = failure(upstream.call(call));
    await settled();
    giveUp();
    expect((await reply).code).toBe("cancelled");
    const { id } = server.sent("tools/call")[0]?.message ?? {};
    expect(server.params("notifications/cancelled")).toEqual({
      requestId: id,
      reason: "the client cancelled",
    });
  });

  test("has the client's own reason if it sent one", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", () => SILENCE));
    const { call, giveUp } = calling();
    const reply = failure(upstream.call(call));
    await settled();
    giveUp(new GatewayError("cancelled", "downstream", "enough"));
    await reply;
    expect(server.params("notifications/cancelled").reason).toBe("enough");
  });

  test("before the request was sent sends nothing", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", text("hi")));
    const { call, giveUp } = calling();
    giveUp();
    expect((await failure(upstream.call(call))).code).toBe("cancelled");
    expect(server.sent("tools/call")).toHaveLength(0);
    expect(server.sent("notifications/cancelled")).toHaveLength(0);
  });

  test("after the response sends nothing to the server", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", text("hi")));
    const { call, giveUp } = calling();
    await upstream.call(call);
    giveUp();
    await settled();
    expect(server.sent("notifications/cancelled")).toHaveLength(0);
  });

  test("while the server is being connected leaves the attempt to the others", async () => {
    const server = legacyServer().on("tools/call", text("hi"));
    const initialize = server.methods.get("initialize");
    server.on("initialize", async (params, asked) => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return initialize?.(params, asked) ?? {};
    });
    const meeting = meet(server);
    await vi.advanceTimersByTimeAsync(100);
    const { upstream } = await (async () => {
      await vi.advanceTimersByTimeAsync(2_000);
      return meeting;
    })();
    server.channel.end();
    await vi.advanceTimersByTimeAsync(1_000);
    const { call, giveUp } = calling();
    const given = failure(upstream.call(call));
    const kept = upstream.call(calling().call);
    giveUp();
    expect((await given).code).toBe("cancelled");
    await vi.advanceTimersByTimeAsync(2_000);
    expect(resultOf(await kept)).toEqual(text("hi"));
  });
});

describe("a request of the server", () => {
  test("is answered when it is a ping", async () => {
    const server = legacyServer();
    await meet(server);
    expect(await server.channel.ask("ping")).toEqual({ jsonrpc: "2.0", id: "question-1", result: {} });
  });

  test("is refused when its capability was not advertised", async () => {
    const server = legacyServer();
    await meet(server);
    const answer = await server.channel.ask("roots/list");
    expect(answer.error?.code).toBe(-32601);
  });
});
