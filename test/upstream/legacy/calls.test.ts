/** Calls to a server that was opened by `initialize`: what it gets, what comes back, and whose it is. */
import { describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import {
  type FakeServer,
  HTTP,
  HttpFailure,
  legacyServer,
  modernServer,
  RpcFailure,
  SILENCE,
} from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, client, failure, meet, resultOf, settled } from "../../support/met-upstream.js";

fakeTime();

const over = { transport: HTTP };
const text = (words: string) => ({ content: [{ type: "text", text: words }] });

describe("a call", () => {
  test("reaches the server as it was made, and its result comes back as it was given", async () => {
    const answer = { content: [{ type: "hologram", depth: 3 }], vendor: { x: null }, _meta: { "a/b": 1 } };
    const server = legacyServer().on("tools/call", answer);
    const { upstream } = await meet(server);
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

  test("of a method nobody has heard of passes as well", async () => {
    const server = legacyServer().on("vendor/thing", { done: true });
    const { upstream } = await meet(server);
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

  test("has an id that no other request of this process had", async () => {
    const server = legacyServer().on("tools/call", text("hi"));
    const { upstream } = await meet(server);
    await Promise.all(Array.from({ length: 50 }, () => upstream.call(calling().call)));
    const ids = server.received.flatMap(({ message }) => (message.id === undefined ? [] : [message.id]));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("fails as closed when the server ends in the middle, and tells what it said", async () => {
    const server = legacyServer().on("tools/call", () => SILENCE);
    const { upstream } = await meet(server);
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

  test("are none where such a server turns out not to know the method", async () => {
    const { upstream } = await meet(serverOf("2024-11-05", { prompts: {} }));
    expect(resultOf(await upstream.call(calling(completion).call))).toEqual({ completion: { values: [] } });
  });
});

describe("giving up", () => {
  test.each([
    ["a pipe", {}],
    ["HTTP", over],
  ])("is told to the server in words over %s", async (_way, config) => {
    const server = legacyServer().on("tools/call", () => SILENCE);
    const { upstream } = await meet(server, config);
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

  test("is told with the client's own reason where it gave one", async () => {
    const server = legacyServer().on("tools/call", () => SILENCE);
    const { upstream } = await meet(server);
    const { call, giveUp } = calling();
    const reply = failure(upstream.call(call));
    await settled();
    giveUp(new GatewayError("cancelled", "downstream", "enough"));
    await reply;
    expect(server.params("notifications/cancelled").reason).toBe("enough");
  });

  test("before anything was sent sends nothing", async () => {
    const server = legacyServer().on("tools/call", text("hi"));
    const { upstream } = await meet(server);
    const { call, giveUp } = calling();
    giveUp();
    expect((await failure(upstream.call(call))).code).toBe("cancelled");
    expect(server.sent("tools/call")).toHaveLength(0);
    expect(server.sent("notifications/cancelled")).toHaveLength(0);
  });

  test("after the answer says nothing to the server", async () => {
    const server = legacyServer().on("tools/call", text("hi"));
    const { upstream } = await meet(server);
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

describe("progress", () => {
  test("goes to the client whose call it is, under that client's own token of its own type", async () => {
    const server = legacyServer().on("tools/call", async (params, asked) => {
      const token = (params._meta as { progressToken: number }).progressToken;
      const progress = (params.arguments as { progress: number }).progress;
      await Promise.resolve();
      asked.say("notifications/progress", { progressToken: token, progress, vendor: 1 });
      return text("done");
    });
    const { upstream } = await meet(server);
    // Equal tokens, one of them a string: two clients know nothing of each other.
    const calls = [7, "7", 7].map((progressToken, index) =>
      calling({ params: { name: "echo", arguments: { progress: index }, _meta: { progressToken } } }),
    );
    await Promise.all(calls.map(({ call }) => upstream.call(call)));
    expect(calls.map(({ notices }) => notices)).toEqual(
      [7, "7", 7].map((progressToken, progress) => [
        { method: "notifications/progress", params: { progressToken, progress, vendor: 1 } },
      ]),
    );
    const tokens = server.sent("tools/call").map(({ message }) => message.params?._meta);
    expect(new Set(tokens.map((meta) => JSON.stringify(meta))).size).toBe(3);
  });

  test("is not asked for when the client did not", async () => {
    const server = legacyServer().on("tools/call", text("hi"));
    const { upstream } = await meet(server);
    await upstream.call(calling().call);
    expect(server.params("tools/call")).not.toHaveProperty("_meta");
  });

  test("that comes on the event stream finds its call by the token", async () => {
    const server = legacyServer().on("tools/call", () => SILENCE);
    const { upstream } = await meet(server, over);
    const mine = calling({ params: { name: "echo", _meta: { progressToken: "t" } } });
    const others = calling({ params: { name: "echo", _meta: { progressToken: "t" } } });
    void upstream.call(mine.call).catch(() => {});
    void upstream.call(others.call).catch(() => {});
    await settled();
    const token = server.sent("tools/call")[0]?.message.id;
    server.channel.say("notifications/progress", { progressToken: token, progress: 1 });
    server.channel.say("notifications/progress", { progressToken: "t", progress: 2 });
    expect(mine.notices).toHaveLength(1);
    expect(others.notices).toHaveLength(0);
  });
});

describe("a log line", () => {
  const logging = (level = "info") =>
    legacyServer().on("tools/call", async (params, asked) => {
      await Promise.resolve();
      asked.say("notifications/message", { level, data: params.name });
      return SILENCE;
    });

  test("on the stream of a call belongs to that call, however many there are", async () => {
    const server = logging();
    const { upstream } = await meet(server, over);
    const calls = ["a", "b", "c"].map((name) => calling({ params: { name } }));
    for (const { call } of calls) void upstream.call(call).catch(() => {});
    await settled();
    expect(calls.map(({ notices }) => notices.map(({ params }) => params?.data))).toEqual([
      ["a"],
      ["b"],
      ["c"],
    ]);
  });

  test("on a pipe belongs to the only call there is", async () => {
    const server = logging();
    const { upstream } = await meet(server);
    const only = calling({ params: { name: "a" } });
    void upstream.call(only.call).catch(() => {});
    await settled();
    expect(only.notices).toHaveLength(1);
  });

  test("on a pipe belongs to nobody while two calls are under way", async () => {
    const server = legacyServer().on("tools/call", () => SILENCE);
    const { upstream } = await meet(server);
    const calls = [calling(), calling()];
    for (const { call } of calls) void upstream.call(call).catch(() => {});
    await settled();
    server.channel.say("notifications/message", { level: "error", data: "whose?" });
    expect(calls.flatMap(({ notices }) => notices)).toEqual([]);
  });

  test("on a pipe may be the echo of another client's call, and then belongs to nobody", async () => {
    const server = legacyServer().on("tools/call", (params) =>
      params.name === "quick" ? text("hi") : SILENCE,
    );
    const { upstream } = await meet(server);
    const mine = client();
    await upstream.call(calling({ params: { name: "quick" } }).call);
    const slow = calling({ client: mine });
    void upstream.call(slow.call).catch(() => {});
    await settled();
    server.channel.say("notifications/message", { level: "error", data: "late" });
    expect(slow.notices).toEqual([]);
    await vi.advanceTimersByTimeAsync(10_001);
    server.channel.say("notifications/message", { level: "error", data: "mine" });
    expect(slow.notices).toHaveLength(1);
  });

  test("on a pipe may be of a call that is parked, and then belongs to nobody", async () => {
    const server = legacyServer()
      .on("tools/call", async (_params, ask) => {
        await ask.ask("elicitation/create", { message: "who?" });
        return {};
      })
      .on("completion/complete", () => SILENCE);
    const { upstream } = await meet(server);
    const host = client({ capabilities: { elicitation: {} } });
    const parked = upstream.call(calling({ client: host }).call);
    await vi.advanceTimersByTimeAsync(100);
    expect(await parked).toMatchObject({ kind: "input_required" });
    const other = calling({ client: host, method: "completion/complete", params: {} });
    void upstream.call(other.call).catch(() => {});
    await settled();
    server.channel.say("notifications/message", { level: "error", data: "whose?" });
    expect(other.notices).toEqual([]);
    await upstream.close();
  });

  test("below the level that the client named is dropped", async () => {
    const server = logging("info");
    const { upstream } = await meet(server, over);
    const loud = calling({ logLevel: "debug" });
    const quiet = calling({ logLevel: "warning" });
    for (const { call } of [loud, quiet]) void upstream.call(call).catch(() => {});
    await settled();
    expect(loud.notices).toHaveLength(1);
    expect(quiet.notices).toHaveLength(0);
  });
});

describe("what the server asks", () => {
  test("is answered when it is a ping", async () => {
    const server = legacyServer();
    await meet(server);
    expect(await server.channel.ask("ping")).toEqual({ jsonrpc: "2.0", id: "question-1", result: {} });
  });

  test("is refused when it was not promised", async () => {
    const server = legacyServer();
    await meet(server);
    const answer = await server.channel.ask("roots/list");
    expect(answer.error?.code).toBe(-32601);
  });
});

describe("a session over HTTP", () => {
  const sessions = () => {
    const server = legacyServer();
    const initialize = server.methods.get("initialize");
    let last = 0;
    server.on("initialize", (params, asked) => {
      last += 1;
      server.responseHeaders = { "mcp-session-id": `s${last}` };
      return initialize?.(params, asked) ?? {};
    });
    const check = (headers: Readonly<Record<string, string>>): void => {
      if (headers["mcp-session-id"] !== `s${last}`) throw new HttpFailure(404, "Session not found");
    };
    server.on("tools/call", (_params, asked) => {
      check(asked.headers);
      return text(String(asked.headers["mcp-session-id"]));
    });
    server.on("ping", (_params, asked) => {
      check(asked.headers);
      return {};
    });
    return { server, forget: () => (last += 1) };
  };

  test("is named by every later message", async () => {
    const { server } = sessions();
    const { upstream } = await meet(server, over);
    await upstream.call(calling().call);
    for (const method of ["notifications/initialized", "tools/call"]) {
      expect(server.sent(method)[0]?.headers).toEqual({
        "mcp-session-id": "s1",
        "mcp-protocol-version": "2025-11-25",
      });
    }
    expect([...server.channel.listening]).toEqual([
      { "mcp-session-id": "s1", "mcp-protocol-version": "2025-11-25" },
    ]);
    await upstream.close();
    expect(server.channel.farewell).toMatchObject({ "mcp-session-id": "s1" });
  });

  test("that the server has forgotten is opened anew once, for all calls that meet the loss", async () => {
    const { server, forget } = sessions();
    const { upstream, heard } = await meet(server, over);
    forget();
    const replies = await Promise.all([1, 2, 3].map(() => upstream.call(calling().call)));
    expect(replies.map((reply) => resultOf(reply))).toEqual([text("s3"), text("s3"), text("s3")]);
    expect(server.sent("initialize")).toHaveLength(2);
    expect([...server.channel.listening].map((headers) => headers["mcp-session-id"])).toEqual(["s3"]);
    // Its lists may be others now, and what is followed may have changed.
    expect(heard).toContain("tools @shared");
  });

  test("that is opened anew may be that of a server with other abilities", async () => {
    const { server, forget } = sessions();
    const { upstream } = await meet(server, over);
    const initialize = server.methods.get("initialize");
    server.on("initialize", async (params, asked) => ({
      ...(await initialize?.(params, asked)),
      capabilities: { prompts: {} },
    }));
    forget();
    await upstream.call(calling().call);
    expect(upstream.facts?.capabilities).toEqual({ prompts: {} });
    await upstream.close();
  });

  test("is not opened anew for ever", async () => {
    const { server } = sessions();
    const { upstream } = await meet(server, over);
    server.on("tools/call", () => {
      throw new HttpFailure(404, "Session not found");
    });
    const error = await failure(upstream.call(calling().call));
    expect(error.code).toBe("upstream_unavailable");
    expect(server.sent("initialize")).toHaveLength(2);
    expect(server.sent("tools/call")).toHaveLength(2);
  });

  test("is opened anew later and later where the server refuses the request in the new one too", async () => {
    const { server, forget } = sessions();
    const { upstream } = await meet(server, over);
    const served = server.methods.get("tools/call");
    server.on("tools/call", () => {
      throw new HttpFailure(404, "Session not found");
    });
    const opened: number[] = [];
    for (let second = 0; second < 130; second += 1) {
      const before = server.sent("initialize").length;
      await Promise.all([1, 2].map(() => failure(upstream.call(calling().call))));
      if (server.sent("initialize").length > before) opened.push(second);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(opened).toEqual([0, 1, 3, 7, 15, 31, 63, 123]);
    expect(upstream.state).toBe("ready");
    // Once it is served in a new one again, the next loss is mended at once.
    await vi.advanceTimersByTimeAsync(60_000);
    server.on("tools/call", served ?? {});
    for (let loss = 0; loss < 2; loss += 1) {
      forget();
      resultOf(await upstream.call(calling().call));
    }
    await upstream.close();
  });

  test("counts as forgotten when an older server says 400 and speaks of the session", async () => {
    const { server, forget } = sessions();
    const { upstream } = await meet(server, over);
    forget();
    server.on("tools/call", (_params, asked) => {
      if (asked.headers["mcp-session-id"] === "s1") {
        throw new RpcFailure(-32000, "Bad Request: No valid session ID provided", undefined, 400);
      }
      return text("again");
    });
    expect(resultOf(await upstream.call(calling().call))).toEqual(text("again"));
  });

  test("that cannot be opened again ends the connection, and the next one is begun", async () => {
    const { server, forget } = sessions();
    const { upstream, heard } = await meet(server, over);
    forget();
    const initialize = server.methods.get("initialize");
    server.on("initialize", () => {
      throw new HttpFailure(503);
    });
    expect((await failure(upstream.call(calling().call))).message).toContain("forgotten the session");
    await settled();
    expect(upstream.state).toBe("backoff");
    expect(heard.at(-1)).toContain("unavailable");
    server.on("initialize", (params, asked) => initialize?.(params, asked) ?? {});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(upstream.state).toBe("ready");
  });
});

describe("resources that are followed", () => {
  test("are subscribed once, however many follow, and given up with the last", async () => {
    const server = legacyServer().on("resources/subscribe", {}).on("resources/unsubscribe", {});
    const { upstream, heard } = await meet(server);
    const stops = [upstream.subscribe("x:a", undefined), upstream.subscribe("x:a", client())];
    await settled();
    expect(server.sent("resources/subscribe").map(({ message }) => message.params)).toEqual([{ uri: "x:a" }]);
    server.channel.say("notifications/resources/updated", { uri: "x:a" });
    expect(heard.at(-1)).toBe("updated x:a @shared");
    stops[0]?.();
    stops[0]?.();
    await settled();
    expect(server.sent("resources/unsubscribe")).toHaveLength(0);
    stops[1]?.();
    await settled();
    expect(server.sent("resources/unsubscribe").map(({ message }) => message.params)).toEqual([
      { uri: "x:a" },
    ]);
  });

  test("are not subscribed again before the server has answered that they were given up", async () => {
    const leaving: (() => void)[] = [];
    const server = legacyServer()
      .on("resources/subscribe", {})
      .on("resources/unsubscribe", () => new Promise((answer) => leaving.push(() => answer({}))));
    const { upstream } = await meet(server, over);
    upstream.subscribe("x:a", undefined)();
    upstream.subscribe("x:a", undefined);
    upstream.subscribe("x:b", undefined);
    await settled();
    const subscribed = () => server.sent("resources/subscribe").map(({ message }) => message.params?.uri);
    expect(subscribed()).toEqual(["x:a", "x:b"]);
    for (const answer of leaving) answer();
    await settled();
    expect(subscribed()).toEqual(["x:a", "x:b", "x:a"]);
    await upstream.close();
  });

  test("are subscribed again when the server was started again, and may have changed meanwhile", async () => {
    const server = legacyServer().on("resources/subscribe", {});
    const { upstream, heard } = await meet(server);
    upstream.subscribe("x:a", undefined);
    await settled();
    server.channel.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.sent("resources/subscribe").map(({ channel }) => channel)).toEqual([0, 1]);
    expect(heard.slice(-2)).toEqual(["ready @shared", "updated x:a @shared"]);
  });

  test("are refused in the server's own words", async () => {
    const server = legacyServer().on("resources/subscribe", ({ uri }) => {
      if (uri === "x:secret") throw new RpcFailure(-32602, "not yours");
      return {};
    });
    const { upstream } = await meet(server);
    const mine = client();
    for (const uri of ["x:a", "x:secret"]) upstream.subscribe(uri, mine);
    expect(await upstream.subscriptionError?.("x:a", mine)).toBeUndefined();
    expect(await upstream.subscriptionError?.("x:secret", mine)).toEqual({
      code: -32602,
      message: "not yours",
    });
    expect(await upstream.subscriptionError?.("x:never-followed", mine)).toBeUndefined();
  });

  test("are not asked for where the server does not offer it", async () => {
    const server = legacyServer({ capabilities: { resources: {} } });
    const { upstream } = await meet(server);
    upstream.subscribe("x:a", undefined)();
    await settled();
    expect(server.sent("resources/subscribe")).toHaveLength(0);
  });
});

describe("a server that was replaced by one of 2026-07-28", () => {
  const replaced = (code: number, status: number): FakeServer =>
    legacyServer().on("tools/call", () => {
      throw new RpcFailure(code, "this is no way to ask", undefined, status);
    });

  test("is met anew, also where there was no session that it could have forgotten", async () => {
    const server = replaced(-32022, 400);
    const { upstream } = await meet(server, over);
    expect(await failure(upstream.call(calling().call))).toMatchObject({
      code: "upstream_unavailable",
      retryable: true,
    });
    await settled();
    expect(upstream.state).toBe("backoff");
    const newer = modernServer().on("tools/call", { content: [], resultType: "complete" });
    server.methods.clear();
    for (const [method, answer] of newer.methods) server.on(method, answer);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(resultOf(await upstream.call(calling().call))).toMatchObject({ content: [] });
    await upstream.close();
  });

  test.each([
    [-32022, 200],
    [-32000, 400],
  ])("is not suspected for an error of its own (%d with status %d)", async (code, status) => {
    const { upstream } = await meet(replaced(code, status), over);
    expect(await upstream.call(calling().call)).toMatchObject({ kind: "error" });
    expect(upstream.state).toBe("ready");
    await upstream.close();
  });
});
