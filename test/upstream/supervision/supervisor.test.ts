/** A supervised connection: opened at the start, reopened after a loss, without delaying other servers. */
import { beforeEach, describe, expect, test, vi } from "vitest";
import { GatewayError, signInRequired } from "../../../src/core/errors.js";
import { SILENT } from "../../../src/core/logger.js";
import type { RestartReason } from "../../../src/core/upstream.js";
import { HTTP, legacyServer, modernServer, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import {
  calling,
  client,
  failure,
  meet,
  resultOf,
  settled,
  upstreamFor,
} from "../../support/met-upstream.js";

fakeTime();

const never = (): AbortSignal => new AbortController().signal;
const down = new GatewayError(
  "upstream_unavailable",
  "upstream",
  "files cannot be started: no such command",
  {
    retryable: true,
  },
);

describe("a server that cannot be connected", () => {
  test("is retried after 1, 2, 4 … 60 s", async () => {
    const server = legacyServer();
    server.refusal = down;
    const open = vi.fn(server.openChannel);
    const restarts: RestartReason[] = [];
    const { upstream } = upstreamFor(
      server,
      {},
      { openChannel: open, onRestart: (reason) => restarts.push(reason) },
    );
    upstream.start();
    await settled();
    const gaps: number[] = [];
    let before = performance.now();
    for (let attempts = 1; attempts < 9; attempts += 1) {
      await vi.advanceTimersToNextTimerAsync();
      gaps.push(performance.now() - before);
      before = performance.now();
    }
    expect(gaps.map((gap) => Math.round(gap / 1_000))).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(open).toHaveBeenCalledTimes(9);
    expect(restarts).toEqual(Array.from({ length: 8 }, () => "failed_start"));
  });

  test.each([
    [0, 800],
    [0.999_999, 1_199],
  ])("is retried with jitter: at random %d after about %i ms", async (random, expected) => {
    const server = legacyServer();
    server.refusal = down;
    const { upstream } = upstreamFor(server, {}, { random: () => random });
    upstream.start();
    await settled();
    const before = performance.now();
    await vi.advanceTimersToNextTimerAsync();
    expect(Math.round(performance.now() - before)).toBe(expected);
  });

  test("refuses calls at once, with a reason and retryAfterMs", async () => {
    const server = legacyServer();
    server.refusal = down;
    const { upstream, heard } = upstreamFor(server);
    upstream.start();
    await settled();
    const error = await failure(upstream.call(calling().call));
    expect(error).toMatchObject({ code: "upstream_unavailable", source: "upstream", retryable: true });
    expect(error.message).toBe("files is not available: files cannot be started: no such command");
    expect(error.options).toMatchObject({ server: "files", retryAfterMs: 1_000 });
    expect(heard).toEqual(["unavailable: files cannot be started: no such command"]);
  });

  test("is warned of once for each reason, and again after a successful connection", async () => {
    const server = legacyServer();
    server.refusal = down;
    const told: string[] = [];
    const tell = (level: string) => (_: object, sentence: string) => void told.push(`${level}: ${sentence}`);
    const log = { error: tell("error"), warn: tell("warn"), info: tell("info"), debug: () => {} };
    const { upstream } = upstreamFor(server, {}, { log });
    upstream.start();
    await settled();
    await vi.advanceTimersByTimeAsync(1_000);
    server.refusal = new GatewayError("upstream_unavailable", "upstream", "files exited with code 1");
    await vi.advanceTimersByTimeAsync(2_000);
    server.refusal = undefined;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(told).toEqual([
      "warn: files cannot be started: no such command; the next attempt is in 1 s",
      "info: files cannot be started: no such command; the next attempt is in 2 s",
      "warn: files exited with code 1; the next attempt is in 4 s",
      "info: connected",
    ]);
  });

  test.each([
    ["assumed", { isAssumed: true } as const, [1, 2, 4, 8, 16, 16]],
    ["configured", {}, []],
  ])("for an %s sign-in is retried after minutes", async (_, assumed, minutes) => {
    const server = legacyServer();
    server.refusal = signInRequired("files");
    const auth = {
      type: "oauth",
      as: "shared",
      hasPrincipals: false,
      quirks: {},
      allowHosts: [],
      ...assumed,
    } as const;
    const { upstream } = upstreamFor(server, { auth });
    upstream.start();
    await settled();
    const gaps: number[] = [];
    while (vi.getTimerCount() > 0 && gaps.length < 6) {
      const before = performance.now();
      // A call in between makes an attempt of its own.
      await failure(upstream.call(calling().call));
      await vi.advanceTimersToNextTimerAsync();
      gaps.push((performance.now() - before) / 60_000);
    }
    expect(gaps.map(Math.floor)).toEqual(minutes);
    expect(upstream.state).toBe("needs_sign_in");
    server.refusal = undefined;
    if (minutes.length === 0) return;
    await vi.advanceTimersToNextTimerAsync();
    expect(upstream.state).toBe("ready");
  });

  test("is retried only after its own Retry-After", async () => {
    const server = legacyServer();
    server.refusal = new GatewayError("upstream_unavailable", "upstream", "busy", { retryAfterMs: 7_000 });
    const { upstream } = upstreamFor(server);
    upstream.start();
    await settled();
    const before = performance.now();
    await vi.advanceTimersToNextTimerAsync();
    expect(performance.now() - before).toBe(7_000);
  });

  test("over HTTP is retried early by a call, but not before half of the backoff", async () => {
    const server = modernServer();
    server.refusal = down;
    const open = vi.fn(server.openChannel);
    const { upstream } = upstreamFor(server, { transport: HTTP }, { openChannel: open });
    upstream.start();
    await settled();
    await vi.advanceTimersByTimeAsync(7_500);
    // At 0, 1, 3 and 7 s; the next is due at 15 s.
    expect(open).toHaveBeenCalledTimes(4);
    await failure(upstream.list("tools", undefined, never()));
    expect(open).toHaveBeenCalledTimes(4);
    await vi.advanceTimersByTimeAsync(3_000);
    await failure(upstream.list("tools", undefined, never()));
    expect(open).toHaveBeenCalledTimes(4);
    await vi.advanceTimersByTimeAsync(500);
    await Promise.all([1, 2, 3].map(() => failure(upstream.list("tools", undefined, never()))));
    expect(open).toHaveBeenCalledTimes(5);
    await failure(upstream.list("tools", undefined, never()));
    expect(open).toHaveBeenCalledTimes(5);
    server.refusal = undefined;
    server.on("tools/list", { tools: [], resultType: "complete" });
    await vi.advanceTimersByTimeAsync(8_000);
    await upstream.list("tools", undefined, never());
    expect(upstream.state).toBe("ready");
  });

  test("over HTTP is retried a few times in minutes, however often it is called", async () => {
    const server = modernServer();
    server.refusal = down;
    const open = vi.fn(server.openChannel);
    const { upstream } = upstreamFor(server, { transport: HTTP }, { openChannel: open });
    upstream.start();
    for (let second = 0; second < 240; second += 1) {
      await failure(upstream.call(calling().call));
      await upstream.connectNow?.();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(open.mock.calls.length).toBeLessThan(16);
  });

  test("on a pipe is not started by calls", async () => {
    const server = legacyServer();
    server.refusal = down;
    const open = vi.fn(server.openChannel);
    const { upstream } = upstreamFor(server, {}, { openChannel: open });
    upstream.start();
    await settled();
    await vi.advanceTimersByTimeAsync(5_000);
    const before = open.mock.calls.length;
    await failure(upstream.call(calling().call));
    expect(open).toHaveBeenCalledTimes(before);
  });
});

describe("a server that is lost", () => {
  test("is reconnected after a second, and then a call succeeds", async () => {
    const server = legacyServer().on("tools/call", { content: [] });
    const restarts: RestartReason[] = [];
    const { upstream, heard } = await meet(server, {}, { onRestart: (reason) => restarts.push(reason) });
    await vi.advanceTimersByTimeAsync(6_000);
    server.channel.end("was ended by SIGKILL");
    await settled();
    expect(upstream.state).toBe("backoff");
    expect(upstream.lastError).toBe("the server was ended by SIGKILL");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(resultOf(await upstream.call(calling().call))).toEqual({ content: [] });
    expect(heard).toEqual(["ready @shared", "unavailable: the server was ended by SIGKILL", "ready @shared"]);
    expect(restarts).toEqual(["lost"]);
  });

  test("repeatedly, soon after it connected, is retried with backoff", async () => {
    const server = legacyServer();
    await meet(server);
    const gaps: number[] = [];
    for (let crash = 0; crash < 4; crash += 1) {
      const before = performance.now();
      server.channel.end();
      const { length } = server.channels;
      await settled();
      while (server.channels.length === length) await vi.advanceTimersByTimeAsync(100);
      gaps.push(Math.round((performance.now() - before) / 1_000));
    }
    expect(gaps).toEqual([1, 2, 4, 8]);
  });

  test("lets a call wait for the running attempt", async () => {
    const server = legacyServer().on("tools/call", { content: [] });
    const initialize = server.methods.get("initialize");
    const { upstream } = await meet(server);
    server.on("initialize", async (params, asked) => {
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      return initialize?.(params, asked) ?? {};
    });
    server.channel.end();
    await vi.advanceTimersByTimeAsync(1_500);
    const reply = upstream.call(calling().call);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(resultOf(await reply)).toEqual({ content: [] });
  });
});

describe("a ping", () => {
  test("is pinged only after a long silence", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", { content: [] }));
    await vi.advanceTimersByTimeAsync(50_000);
    await upstream.call(calling().call);
    await vi.advanceTimersByTimeAsync(50_000);
    expect(server.sent("ping")).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.sent("ping")).toHaveLength(1);
  });

  test("is not pinged during a call: the server may be busy with it", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", () => SILENCE));
    const { call, giveUp } = calling();
    const reply = failure(upstream.call(call));
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect(server.sent("ping")).toHaveLength(0);
    giveUp();
    await reply;
  });

  test("without a response ends the connection, and a new one is opened", async () => {
    const server = legacyServer().on("ping", () => SILENCE);
    const restarts: RestartReason[] = [];
    const { upstream } = await meet(server, {}, { onRestart: (reason) => restarts.push(reason) });
    await vi.advanceTimersByTimeAsync(75_000);
    expect(upstream.lastError).toBe("files did not answer a health check");
    expect(server.channels[0]?.isClosed).toBe(true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(upstream.state).toBe("ready");
    expect(restarts).toEqual(["unresponsive"]);
  });

  test("of a modern server is server/discover", async () => {
    const server = modernServer();
    await meet(server);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.sent("server/discover")).toHaveLength(2);
  });

  test("is pinged immediately when a call could not reach the server", async () => {
    const server = modernServer().on("tools/call", () => {
      throw new GatewayError("upstream_unavailable", "upstream", "connection refused");
    });
    const { upstream } = await meet(server, { transport: HTTP });
    server.on("server/discover", () => {
      throw new GatewayError("upstream_unavailable", "upstream", "connection refused");
    });
    await failure(upstream.call(calling().call));
    await settled();
    expect(upstream.state).toBe("backoff");
  });
});

describe("the end", () => {
  test("closes the connection, and opens none", async () => {
    const { server, upstream } = await meet(legacyServer());
    await upstream.close();
    expect(server.channel.isClosed).toBe(true);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(server.channels).toHaveLength(1);
    expect(upstream.state).toBe("stopped");
    expect((await failure(upstream.call(calling({ client: client() }).call))).message).toBe(
      "files was stopped",
    );
  });

  test("in the middle of an attempt leaves no process running", async () => {
    const server = legacyServer().on("initialize", () => SILENCE);
    const { upstream } = upstreamFor(server);
    upstream.start();
    await settled();
    await upstream.close();
    expect(server.channels.every(({ isClosed }) => isClosed)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("leaves no timer running", async () => {
    const { upstream } = await meet(modernServer());
    await upstream.close();
    await settled();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("a server that hangs does not delay another one", async () => {
  const hanging = legacyServer()
    .on("server/discover", () => SILENCE)
    .on("initialize", () => SILENCE);
  const slow = upstreamFor(hanging, { name: "slow" });
  slow.upstream.start();
  const { upstream } = await meet(legacyServer());
  expect(upstream.state).toBe("ready");
  expect(slow.upstream.state).toBe("starting");
  await slow.upstream.close();
});

describe("a bug of the gateway", () => {
  const faults: string[] = [];
  const log = { ...SILENT, error: (_: object, sentence: string) => void faults.push(sentence) };
  const broken = (): never => {
    throw new TypeError("a fault");
  };
  beforeEach(() => {
    faults.length = 0;
  });

  test("during a ping ends neither the gateway nor the supervision of that server", async () => {
    const server = modernServer({ capabilities: { tools: { listChanged: true } } });
    const { upstream } = await meet(server, { transport: HTTP }, { log });
    let capabilities = 0;
    server.on("server/discover", () => {
      capabilities += 1;
      return {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { x: { capabilities } },
      };
    });
    const stop = upstream.watch({ listChanged: broken });
    await vi.advanceTimersByTimeAsync(61_000);
    expect(faults).toEqual([expect.stringContaining("checking the health of a connection")]);
    expect(upstream.state).toBe("ready");
    stop();
    await vi.advanceTimersByTimeAsync(61_000);
    expect(capabilities).toBeGreaterThanOrEqual(2);
    expect(faults).toHaveLength(1);
  });

  test("when a server is lost does not keep clients from its reconnect", async () => {
    const { server, upstream } = await meet(legacyServer(), {}, { log });
    const stop = upstream.watch({ unavailable: broken });
    server.channel.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(faults).toEqual([expect.stringContaining("handling the loss of a connection")]);
    stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(upstream.state).toBe("ready");
  });

  test("when observers are notified of missed changes ends nothing", async () => {
    const { server, upstream } = await meet(legacyServer(), {}, { log });
    upstream.resources.subscribe("x:a", client());
    upstream.watch({ resourceUpdated: broken });
    server.channel.end();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(faults).toEqual([expect.stringContaining("notifying missed resource updates")]);
    expect(upstream.state).toBe("ready");
  });
});
