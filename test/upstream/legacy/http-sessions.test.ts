/** Sessions of legacy servers over HTTP: lost, reopened with backoff, and servers that are replaced by modern ones. */
import { describe, expect, test, vi } from "vitest";
import {
  type FakeServer,
  HTTP,
  HttpFailure,
  legacyServer,
  modernServer,
  RpcFailure,
} from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, failure, meet, resultOf, settled } from "../../support/met-upstream.js";
import { forgetfulServer, text } from "./forgetful-server.js";

fakeTime();

const over = { transport: HTTP };

describe("a session over HTTP", () => {
  test("is named in every later message", async () => {
    const { server } = forgetfulServer();
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

  test("that the server has lost is reopened once, for all calls", async () => {
    const { server, forget } = forgetfulServer();
    const { upstream, heard } = await meet(server, over);
    forget();
    const replies = await Promise.all([1, 2, 3].map(() => upstream.call(calling().call)));
    expect(replies.map((reply) => resultOf(reply))).toEqual([text("s3"), text("s3"), text("s3")]);
    expect(server.sent("initialize")).toHaveLength(2);
    expect([...server.channel.listening].map((headers) => headers["mcp-session-id"])).toEqual(["s3"]);
    // Its lists may be others now, and what is followed may have changed.
    expect(heard).toContain("tools @shared");
  });

  test("that is reopened may have other capabilities", async () => {
    const { server, forget } = forgetfulServer();
    const { upstream } = await meet(server, over);
    const initialize = server.methods.get("initialize");
    server.on("initialize", async (params, asked) => ({
      ...(await initialize?.(params, asked)),
      capabilities: { prompts: {} },
    }));
    forget();
    await upstream.call(calling().call);
    expect(upstream.facts?.capabilities).toEqual({ prompts: {} });
  });

  test("is not reopened endlessly", async () => {
    const { server } = forgetfulServer();
    const { upstream } = await meet(server, over);
    server.on("tools/call", () => {
      throw new HttpFailure(404, "Session not found");
    });
    const error = await failure(upstream.call(calling().call));
    expect(error.code).toBe("upstream_unavailable");
    expect(server.sent("initialize")).toHaveLength(2);
    expect(server.sent("tools/call")).toHaveLength(2);
  });

  test("is reopened with backoff if the server refuses the request in the new one too", async () => {
    const { server, forget } = forgetfulServer();
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
    // Once it is served in a new one again, the next loss is fixed at once.
    await vi.advanceTimersByTimeAsync(60_000);
    server.on("tools/call", served ?? {});
    for (let loss = 0; loss < 2; loss += 1) {
      forget();
      resultOf(await upstream.call(calling().call));
    }
  });

  test("counts as lost when an older server answers 400 with the word session", async () => {
    const { server, forget } = forgetfulServer();
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

  test("that cannot be reopened ends the connection, and the next one is opened", async () => {
    const { server, forget } = forgetfulServer();
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

describe("a server that was replaced by one of 2026-07-28", () => {
  const replaced = (code: number, status: number): FakeServer =>
    legacyServer().on("tools/call", () => {
      throw new RpcFailure(code, "this is no way to ask", undefined, status);
    });

  test("is reconnected, also without a session to lose", async () => {
    const { server, upstream } = await meet(replaced(-32022, 400), over);
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
  });

  test.each([
    [-32022, 200],
    [-32000, 400],
  ])("is not probed for an error of its own (%d with status %d)", async (code, status) => {
    const { upstream } = await meet(replaced(code, status), over);
    expect(await upstream.call(calling().call)).toMatchObject({ kind: "error" });
    expect(upstream.state).toBe("ready");
  });
});
