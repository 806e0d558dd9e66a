/** Which era a server turns out to belong to, and how many processes it takes to find out. */
import { describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import {
  FakeServer,
  HTTP,
  HttpFailure,
  legacyServer,
  type Method,
  modernServer,
  ProcessEnd,
  RpcFailure,
  SILENCE,
} from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { client, failure, meet, settled, upstreamFor } from "../../support/met-upstream.js";

fakeTime();

const ways = (server: FakeServer): readonly string[] => server.channels.map(({ way }) => way);
const methods = (server: FakeServer): readonly (string | undefined)[] =>
  server.received.map(({ message }) => message.method).filter((method) => method !== "subscriptions/listen");

describe("a server on a pipe", () => {
  test("that answers server/discover is modern, in one process", async () => {
    const { server, upstream } = await meet(modernServer({ instructions: "be nice" }));
    expect(ways(server)).toEqual(["stdio"]);
    expect(methods(server)).toEqual(["server/discover"]);
    expect(upstream.facts).toMatchObject({ serverInfo: { name: "new" }, instructions: "be nice" });
  });

  test.each([-32601, -32602, -32600, -32000, -1])(
    "that answers with error %i is legacy, in the same process",
    async (code) => {
      const server = legacyServer().on("server/discover", () => {
        throw new RpcFailure(code, "what?");
      });
      const { upstream } = await meet(server);
      expect(ways(server)).toEqual(["stdio"]);
      expect(methods(server)).toEqual(["server/discover", "initialize", "notifications/initialized"]);
      expect(upstream.facts?.serverInfo).toEqual({ name: "old", version: "1" });
    },
  );

  test("that answers anything at all to anything is legacy", async () => {
    const server = legacyServer().on("server/discover", {});
    await meet(server);
    expect(server.sent("initialize")).toHaveLength(1);
  });

  test("that is silent gets initialize after a while, in the same process", async () => {
    const server = legacyServer().on("server/discover", () => SILENCE);
    const meeting = meet(server);
    await vi.advanceTimersByTimeAsync(2_900);
    expect(server.sent("initialize")).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(200);
    await meeting;
    expect(ways(server)).toEqual(["stdio"]);
  });

  test("that is modern and slow to start is still detected as modern, although initialize was sent by then", async () => {
    const server = modernServer();
    const discovery = server.methods.get("server/discover");
    server.on("server/discover", async (params, asked) => {
      await new Promise((resolve) => setTimeout(resolve, 8_000));
      return discovery?.(params, asked) ?? {};
    });
    server.on("initialize", async () => {
      await new Promise((resolve) => setTimeout(resolve, 5_100));
      throw new RpcFailure(-32601, "initialize is not known");
    });
    const meeting = meet(server);
    await vi.advanceTimersByTimeAsync(8_200);
    const { upstream } = await meeting;
    expect(upstream.facts?.serverInfo).toEqual({ name: "new", version: "2" });
    expect(ways(server)).toEqual(["stdio"]);
  });

  describe("that serves both eras, by the first message it takes after server/discover, and is slow to start", () => {
    /** Answers 4 s after its process was started; `handshake`: what it answers to `initialize` then. */
    function slow(handshake: Method): FakeServer {
      const server = modernServer();
      const discovery = server.methods.get("server/discover") as Method;
      const afterStart =
        (answer: Method): Method =>
        async (params, asked) => {
          await new Promise((resolve) => setTimeout(resolve, 4_000));
          return answer(params, asked);
        };
      return server.on("server/discover", afterStart(discovery)).on("initialize", afterStart(handshake));
    }
    const accept = legacyServer().methods.get("initialize") as Method;

    test.each([
      ["accepts", accept],
      ["never answers", () => SILENCE],
    ])("and %s initialize, is started again, and that process gets no initialize", async (_, handshake) => {
      const server = slow(handshake);
      const meeting = meet(server);
      await vi.advanceTimersByTimeAsync(15_000);
      const { upstream } = await meeting;
      expect(upstream.facts?.serverInfo).toEqual({ name: "new", version: "2" });
      expect(server.channels.map(({ isClosed }) => isClosed)).toEqual([true, false]);
      expect(server.sent("initialize").map(({ channel }) => channel)).toEqual([0]);
    });

    test("gets no initialize at later starts", async () => {
      const server = slow(accept);
      const meeting = meet(server);
      await vi.advanceTimersByTimeAsync(15_000);
      const { upstream } = await meeting;
      server.channel.end();
      await vi.advanceTimersByTimeAsync(15_000);
      expect(upstream.state).toBe("ready");
      expect(ways(server)).toHaveLength(3);
      expect(server.sent("initialize")).toHaveLength(1);
    });

    test("and for whose second start the time of the first attempt is too short, is served by the next attempt", async () => {
      const server = slow(accept);
      const { upstream } = upstreamFor(server, { connectTimeoutMs: 9_500 });
      upstream.start();
      await vi.advanceTimersByTimeAsync(25_000);
      expect(upstream.state).toBe("ready");
      expect(upstream.facts?.serverInfo).toEqual({ name: "new", version: "2" });
      expect(server.sent("initialize")).toHaveLength(1);
    });

    test("and became a legacy one meanwhile, which is silent before initialize, is served after one timeout", async () => {
      const server = slow(accept);
      const meeting = meet(server, { connectTimeoutMs: 20_000 });
      await vi.advanceTimersByTimeAsync(15_000);
      const { upstream } = await meeting;
      server.on("server/discover", () => SILENCE);
      server.channel.end();
      await vi.advanceTimersByTimeAsync(40_000);
      expect(upstream.state).toBe("ready");
      expect(upstream.facts?.serverInfo).toEqual({ name: "old", version: "1" });
    });
  });

  test("that exits when it is probed is restarted and gets initialize", async () => {
    const server = legacyServer().on("server/discover", () => {
      throw new ProcessEnd();
    });
    await meet(server);
    expect(ways(server)).toEqual(["stdio", "stdio"]);
    expect(
      server.received.filter(({ channel }) => channel === 1).map(({ message }) => message.method),
    ).toEqual(["initialize", "notifications/initialized"]);
  });

  test("that was modern and exits once is probed again, without initialize", async () => {
    const { server, upstream } = await meet(modernServer());
    const discovery = server.methods.get("server/discover") as Method;
    server.on("server/discover", () => {
      server.on("server/discover", discovery);
      throw new ProcessEnd();
    });
    server.channel.end();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(upstream.state).toBe("ready");
    expect(server.sent("initialize")).toHaveLength(0);
  });

  test("that always exits is started once per attempt after it was assumed to be legacy", async () => {
    const server = new FakeServer();
    server.on("server/discover", () => {
      throw new ProcessEnd();
    });
    server.on("initialize", () => {
      throw new ProcessEnd();
    });
    const { upstream } = upstreamFor(server);
    upstream.start();
    await settled();
    expect(upstream.state).toBe("backoff");
    expect(ways(server)).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ways(server)).toHaveLength(3);
  });

  test("that refuses our revision and names an older one is opened with that one", async () => {
    const server = legacyServer().on("server/discover", () => {
      throw new RpcFailure(-32022, "unsupported", { supported: ["2025-06-18"], requested: "2026-07-28" });
    });
    await meet(server);
    expect(server.params("initialize").protocolVersion).toBe("2025-06-18");
  });

  test("that rejects our revision and names it in the same error is retried once, immediately", async () => {
    const discovery = { supportedVersions: ["2026-07-28"], capabilities: {} };
    let refusals = 0;
    const server = new FakeServer().on("server/discover", () => {
      refusals += 1;
      if (refusals > 1) return discovery;
      throw new RpcFailure(-32022, "unsupported", { supported: ["2026-07-28"], requested: "2026-07-28" });
    });
    await meet(server);
    expect(methods(server)).toEqual(["server/discover", "server/discover"]);
  });

  test("that keeps rejecting the revision it names is not retried a third time", async () => {
    const server = legacyServer().on("server/discover", () => {
      throw new RpcFailure(-32022, "unsupported", { supported: ["2026-07-28"] });
    });
    const { upstream } = upstreamFor(server);
    upstream.start();
    await settled();
    expect(upstream.lastError).toContain("refuses 2026-07-28, which it names as supported");
    expect(methods(server)).toEqual(["server/discover", "server/discover"]);
  });

  test("that is modern with unknown revisions only gets no initialize", async () => {
    const server = legacyServer().on("server/discover", () => {
      throw new RpcFailure(-32022, "unsupported", { supported: ["2027-01-01"] });
    });
    const { upstream } = upstreamFor(server);
    upstream.start();
    await settled();
    expect(upstream.lastError).toContain("2027-01-01");
    expect(server.sent("initialize")).toHaveLength(0);
  });

  test("that never answers fails after the connect timeout, with its stderr", async () => {
    const server = new FakeServer();
    server.stderr = "loading\nwaiting for the database\n";
    server.on("server/discover", () => SILENCE).on("initialize", () => SILENCE);
    const { upstream } = upstreamFor(server, { connectTimeoutMs: 10_000 });
    upstream.start();
    const call = failure(upstream.list("tools", client(), new AbortController().signal));
    await vi.advanceTimersByTimeAsync(10_000);
    const error = await call;
    expect(error.code).toBe("upstream_unavailable");
    expect(error.message).toBe("files did not answer within 10 s; last output: waiting for the database");
    expect(server.channel.isClosed).toBe(true);
  });

  test("whose package is fetched has longer for its first start, and no longer than others after it", async () => {
    const server = legacyServer().on("server/discover", () => SILENCE);
    let answersAfterMs = 100_000;
    server.on("initialize", async () => {
      await new Promise((resolve) => setTimeout(resolve, answersAfterMs));
      return { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "old", version: "1" } };
    });
    const transport = {
      kind: "stdio",
      command: "npx",
      args: ["-y", "@x/files@1"],
      env: {},
      cwd: "/",
    } as const;
    const { upstream } = upstreamFor(server, { transport, firstConnectTimeoutMs: 180_000 });
    upstream.start();
    await vi.advanceTimersByTimeAsync(110_000);
    expect(upstream.state).toBe("ready");
    answersAfterMs = 1_000_000;
    server.stderr = "npm warn exec The following package was not found and will be installed: @x/files@1\n";
    server.channel.end();
    await vi.advanceTimersByTimeAsync(40_000);
    expect(upstream.lastError).toMatch(
      /^files did not answer within 30 s: perhaps npx is fetching the package @x\/files@1; last output: npm warn exec/,
    );
  });

  test("that was legacy is not probed again at a reconnect, until the cached era expires", async () => {
    const server = legacyServer();
    await meet(server);
    server.channel.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.sent("server/discover")).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(61 * 60_000);
    server.channel.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.sent("server/discover")).toHaveLength(2);
  });

  test("that was legacy and refuses initialize is detected as modern in the same process", async () => {
    const { server, upstream } = await meet(legacyServer());
    const successor = modernServer();
    server.methods.clear();
    for (const [method, answer] of successor.methods) server.on(method, answer);
    server.channel.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(upstream.state).toBe("ready");
    expect(upstream.facts?.serverInfo).toEqual({ name: "new", version: "2" });
    expect(ways(server)).toHaveLength(2);
  });
});

describe("a server over HTTP", () => {
  const over = { transport: HTTP };

  test("that answers server/discover is modern", async () => {
    const server = modernServer();
    await meet(server, over);
    expect(server.sent("server/discover")[0]?.headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "server/discover",
    });
    expect(ways(server)).toEqual(["http"]);
  });

  test.each<[string, () => never]>([
    [
      "400 with an older error",
      () => fail(new RpcFailure(-32000, "Bad Request: Server not initialized", undefined, 400)),
    ],
    ["400 with no body", () => fail(new HttpFailure(400))],
    ["404 with a page", () => fail(new HttpFailure(404, "<html>not here</html>"))],
    ["405", () => fail(new HttpFailure(405))],
    ["406", () => fail(new HttpFailure(406))],
    ["200 with -32601", () => fail(new RpcFailure(-32601, "no such method"))],
  ])("that answers %s is legacy", async (_what, answer) => {
    const server = legacyServer().on("server/discover", answer);
    await meet(server, over);
    expect(server.sent("initialize")).toHaveLength(1);
    expect(ways(server)).toEqual(["http"]);
  });

  test.each<[string, () => never]>([
    ["401", () => fail(new HttpFailure(401))],
    ["403", () => fail(new HttpFailure(403, "{}"))],
    ["500", () => fail(new HttpFailure(500))],
    ["503 with an error in it", () => fail(new RpcFailure(-32603, "busy", undefined, 503))],
    ["429", () => fail(new HttpFailure(429))],
    [
      "400 with a modern error in it",
      () =>
        fail(new HttpFailure(400, '{"jsonrpc":"2.0","error":{"code":-32020,"message":"header mismatch"}}')),
    ],
  ])("that answers %s leaves its era unknown", async (_what, answer) => {
    const server = legacyServer().on("server/discover", answer);
    const { upstream } = upstreamFor(server, over);
    upstream.start();
    await settled();
    expect(upstream.state).toBe("backoff");
    expect(server.sent("initialize")).toHaveLength(0);
  });

  test("that supports neither is tried over HTTP+SSE, which is remembered", async () => {
    const old = legacyServer();
    const server = new FakeServer();
    const refuse = (): never => fail(new HttpFailure(404));
    server.on("server/discover", refuse);
    server.on("initialize", (params, asked) => {
      if (asked.channel.way === "http") refuse();
      return old.methods.get("initialize")?.(params, asked) ?? {};
    });
    const { upstream } = await meet(server, over);
    expect(ways(server)).toEqual(["http", "sse"]);
    expect(server.channels[0]?.isClosed).toBe(true);
    server.channel.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(upstream.state).toBe("ready");
    expect(ways(server)).toEqual(["http", "sse", "sse"]);
  });

  test("that is configured as sse is tried so first, and over Streamable HTTP if there is no such stream", async () => {
    const server = legacyServer().on("server/discover", () => fail(new HttpFailure(404)));
    const initialize = server.methods.get("initialize");
    server.on("initialize", (params, asked) => {
      if (asked.channel.way === "sse") fail(new HttpFailure(405));
      return initialize?.(params, asked) ?? {};
    });
    await meet(server, { transport: { ...HTTP, sse: true } });
    expect(ways(server)).toEqual(["sse", "http"]);
  });

  test("that cannot be reached is reported, and the next call retries at once", async () => {
    const server = modernServer();
    server.refusal = new GatewayError(
      "upstream_unavailable",
      "upstream",
      "files cannot be reached: connection refused",
    );
    const { upstream } = upstreamFor(server, over);
    upstream.start();
    await settled();
    expect(upstream.lastError).toBe("files cannot be reached: connection refused");
    server.refusal = undefined;
    // The attempt has only just failed, so not yet.
    expect((await failure(upstream.list("tools", undefined, never()))).message).toContain(
      "connection refused",
    );
    vi.setSystemTime(Date.now() + 10);
    await vi.advanceTimersByTimeAsync(999);
    expect(upstream.state).toBe("backoff");
    await vi.advanceTimersByTimeAsync(1);
    server.on("tools/list", { tools: [], resultType: "complete" });
    await upstream.list("tools", undefined, never());
    expect(upstream.state).toBe("ready");
  });
});

describe("a pinned protocol", () => {
  test("a server that must be legacy is never probed", async () => {
    const server = legacyServer();
    await meet(server, { protocol: "legacy" });
    expect(methods(server)).toEqual(["initialize", "notifications/initialized"]);
    expect(server.params("initialize").protocolVersion).toBe("2025-11-25");
  });

  test("the pinned revision is offered", async () => {
    const server = legacyServer();
    await meet(server, { protocol: "2025-03-26" });
    expect(server.params("initialize").protocolVersion).toBe("2025-03-26");
  });

  test("a server that is pinned to modern and is legacy fails to connect", async () => {
    const server = legacyServer();
    const { upstream } = upstreamFor(server, { protocol: "modern" });
    upstream.start();
    await settled();
    expect(upstream.lastError).toContain("does not speak 2026-07-28");
    expect(server.sent("initialize")).toHaveLength(0);
  });
});

function fail(error: Error): never {
  throw error;
}

const never = (): AbortSignal => new AbortController().signal;
