/** When the connections of a server begin and end that is started on demand (docs/on-demand.md). */
import { describe, expect, test, vi } from "vitest";
import type { ServerConfig } from "../../src/config/config.js";
import type { Client, ClientChannel, ClientDirectory } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import type { StartableUpstream } from "../../src/upstream/upstream.js";
import type { JsonObject } from "../../src/wire/json.js";
import { type FakeServer, legacyServer, modernServer, SILENCE } from "../support/fake-channel.js";
import { fakeTime } from "../support/fake-time.js";
import {
  calling,
  client,
  failure,
  meet,
  settled,
  type TestOptions,
  upstreamFor,
} from "../support/met-upstream.js";
import { advertised, channelOf, echoing, SAMPLING, session } from "./lease-support.js";

fakeTime();

const never = (): AbortSignal => new AbortController().signal;
const LINGER_MS = 5_000;
const IDLE_MS = 600_000;

/** The hosts with a session, each there or away since a time. */
class Hosts implements ClientDirectory {
  readonly #channels = new Map<string, ClientChannel>();

  arrive(host: Client): Client {
    this.#set(host, undefined);
    return host;
  }

  /** Its last stream closes; its session continues. */
  leave(host: Client): void {
    this.#set(host, performance.now());
  }

  find(affinity: string): ClientChannel | undefined {
    return this.#channels.get(affinity);
  }

  #set(host: Client, idleSince: number | undefined): void {
    const request = () => Promise.reject(new Error("no question is expected"));
    this.#channels.set(host.affinity, { client: host, idleSince, request });
  }
}

const open = ({ channels }: FakeServer): readonly number[] =>
  channels.flatMap(({ isGone, isClosed, number }) => (isGone || isClosed ? [] : [number]));

/** An upstream on demand that knows the server from an earlier process. */
async function known(
  server: FakeServer,
  options: TestOptions = {},
  config: Partial<ServerConfig> = {},
): Promise<StartableUpstream> {
  const before = await meet(legacyOrModern(server));
  const { upstream } = upstreamFor(
    server,
    { start: "demand", ...config },
    {
      memory: before.upstream.memory(),
      ...options,
    },
  );
  await before.upstream.close();
  upstream.start();
  await settled();
  return upstream;
}

/** Another server of the same era, so that the one under test has no connections yet. */
const legacyOrModern = ({ methods }: FakeServer): FakeServer =>
  methods.has("server/discover") ? modernServer() : legacyServer();

const counting = (): FakeServer =>
  modernServer().on("tools/call", (_, { channel }) => ({
    resultType: "complete",
    channel: channel.number,
  }));

describe.each([
  ["legacy", echoing],
  ["modern", counting],
] as const)("a known %s server on demand", (_, make) => {
  test("is idle until a call starts it", async () => {
    const server = make();
    const upstream = await known(server);
    expect([upstream.state, open(server)]).toEqual(["idle", []]);
    expect(await channelOf(upstream, client())).toBe(0);
    expect([upstream.state, open(server)]).toEqual(["ready", [0]]);
    await upstream.close();
  });

  test("stops at the idle timeout after the last call of a host without a session, and the next call starts it again", async () => {
    const server = make();
    const upstream = await known(server);
    await channelOf(upstream, client());
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1_000);
    await channelOf(upstream, client());
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1_000);
    expect(open(server)).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([upstream.state, open(server)]).toEqual(["idle", []]);
    expect(await channelOf(upstream, client())).toBe(1);
    await upstream.close();
  });

  test("does not end while a call is running", async () => {
    const server = make().on("tools/call", () => SILENCE);
    const upstream = await known(server, {}, { idleTimeoutMs: 60_000 });
    const { call, giveUp } = calling();
    const failed = failure(upstream.call(call));
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    expect(open(server)).toEqual([0]);
    giveUp();
    await failed;
    await vi.advanceTimersByTimeAsync(120_000);
    expect(open(server)).toEqual([]);
    await upstream.close();
  });

  test("stops at the idle timeout after a long call, whatever health checks come in between", async () => {
    const server = make();
    let answer: (result: JsonObject) => void = () => {};
    server.on("tools/call", () => new Promise((resolve) => (answer = resolve)));
    const upstream = await known(server);
    const reply = upstream.call(calling().call);
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1_000);
    answer({ resultType: "complete", content: [] });
    await reply;
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1_000);
    expect(open(server)).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(open(server)).toEqual([]);
    await upstream.close();
  });

  test("starts once for concurrent calls", async () => {
    const server = make();
    const upstream = await known(server);
    expect(await Promise.all([1, 2, 3].map(() => channelOf(upstream, client())))).toEqual([0, 0, 0]);
    await upstream.close();
  });

  test("has exited before the next call starts it, so that there are never two processes", async () => {
    const server = make();
    server.endsAfterMs = 2_000;
    const upstream = await known(server);
    await channelOf(upstream, client());
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    const second = channelOf(upstream, client());
    await vi.advanceTimersByTimeAsync(1_900);
    expect(server.channels).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await second).toBe(1);
    server.endsAfterMs = 0;
    await upstream.close();
  });

  test("runs while a host with a session that used it is connected, and stops soon after that session", async () => {
    const server = make();
    const hosts = new Hosts();
    const upstream = await known(server, { directory: hosts });
    const [user, reader] = [1, 2].map(() => hosts.arrive(session({ capabilities: {} }))) as [Client, Client];
    await channelOf(upstream, user);
    await upstream.list("tools", reader, never());
    await vi.advanceTimersByTimeAsync(10 * IDLE_MS);
    expect(open(server)).toEqual([0]);
    upstream.releaseClient(user.affinity);
    await vi.advanceTimersByTimeAsync(LINGER_MS);
    expect(open(server)).toEqual([]);
    await upstream.close();
  });

  test("stops at the idle timeout after its host has disconnected without ending the session", async () => {
    const server = make();
    const hosts = new Hosts();
    const upstream = await known(server, { directory: hosts });
    const host = hosts.arrive(session({ capabilities: {} }));
    await channelOf(upstream, host);
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    hosts.leave(host);
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1_000);
    expect(open(server)).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(open(server)).toEqual([]);
    await upstream.close();
  });

  test("does not stop while a task is open", async () => {
    const server = make();
    let tasks = 1;
    const upstream = await known(server, { hasOpenTask: () => tasks > 0 });
    await channelOf(upstream, client());
    await vi.advanceTimersByTimeAsync(3 * IDLE_MS);
    expect(open(server)).toEqual([0]);
    tasks = 0;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(open(server)).toEqual([]);
    await upstream.close();
  });

  test("is not restarted when its process dies while unused", async () => {
    const server = make();
    const upstream = await known(server);
    await channelOf(upstream, client());
    server.channels[0]?.end();
    await vi.advanceTimersByTimeAsync(120_000);
    expect([upstream.state, server.channels.length]).toEqual(["idle", 1]);
    expect(await channelOf(upstream, client())).toBe(1);
    await upstream.close();
  });

  test("that cannot be started fails the call with the reason, and is retried by a later call", async () => {
    const server = make();
    const upstream = await known(server);
    server.refusal = new GatewayError("upstream_unavailable", "upstream", "no such command");
    const starts = vi.spyOn(server, "openChannel");
    expect((await failure(upstream.call(calling().call))).message).toContain("no such command");
    expect(upstream).toMatchObject({
      state: "backoff",
      lastError: expect.stringContaining("no such command"),
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(upstream).toMatchObject({ state: "idle", lastError: expect.stringContaining("no such command") });
    server.refusal = undefined;
    expect(await channelOf(upstream, client())).toBe(0);
    expect(upstream).toMatchObject({ state: "ready", lastError: undefined });
    expect(starts.mock.calls.length).toBeLessThanOrEqual(2);
    await upstream.close();
  });
});

describe("a server on demand that was never connected", () => {
  test("is started for its lists, and stopped when unused", async () => {
    const { server, upstream, heard } = await meet(echoing(), { start: "demand" });
    await upstream.list("tools", undefined, never());
    await vi.advanceTimersByTimeAsync(LINGER_MS - 100);
    expect(open(server)).toEqual([0]);
    await vi.advanceTimersByTimeAsync(200);
    expect([upstream.state, open(server)]).toEqual(["idle", []]);
    expect(heard).toEqual(["ready @shared"]);
    expect(upstream.facts).toBeDefined();
  });

  test("is not stopped while a list is still loading, however slow", async () => {
    let answer = (): void => {};
    const server = legacyOrModern(legacyServer()).on(
      "tools/list",
      () =>
        new Promise((resolve) => {
          answer = () => resolve({ tools: [] });
        }),
    );
    const { upstream } = await meet(server, { start: "demand" });
    const list = upstream.list("tools", undefined, never());
    await vi.advanceTimersByTimeAsync(4 * LINGER_MS);
    expect(open(server)).toEqual([0]);
    answer();
    expect((await list).items).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(open(server)).toEqual([]);
  });

  test("is not replaced by a host's own process while its lists are being loaded", async () => {
    let answer = (): void => {};
    const server = echoing().on(
      "tools/list",
      () =>
        new Promise((resolve) => {
          answer = () => resolve({ tools: [] });
        }),
    );
    const { upstream } = await meet(server, { start: "demand" });
    const list = upstream.list("tools", undefined, never());
    await settled();
    await channelOf(upstream, session());
    answer();
    expect((await list).items).toEqual([]);
  });

  test("continues for a call that arrives in the meantime", async () => {
    const { server, upstream } = await meet(echoing(), { start: "demand" });
    await vi.advanceTimersByTimeAsync(3_000);
    await channelOf(upstream, client());
    await vi.advanceTimersByTimeAsync(60_000);
    expect(open(server)).toEqual([0]);
  });

  test("is retried in the background until it connects", async () => {
    const server = echoing();
    server.refusal = new GatewayError("upstream_unavailable", "upstream", "no such command");
    const { upstream } = upstreamFor(server, { start: "demand" });
    upstream.start();
    await vi.advanceTimersByTimeAsync(500);
    expect(upstream.state).toBe("backoff");
    server.refusal = undefined;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(upstream.state).toBe("ready");
    await upstream.close();
  });
});

describe("hosts that can be asked, at a known legacy server on demand", () => {
  test("start only their own connection with a call", async () => {
    const server = echoing();
    const hosts = new Hosts();
    const upstream = await known(server, { directory: hosts });
    await channelOf(upstream, hosts.arrive(session()));
    expect(advertised(server)).toEqual([SAMPLING]);
    expect(upstream.state).toBe("idle");
    await upstream.close();
  });

  test("keep it while they are connected; a list alone keeps none", async () => {
    const server = echoing();
    const hosts = new Hosts();
    const upstream = await known(server, { directory: hosts });
    const [caller, reader] = [hosts.arrive(session()), hosts.arrive(session())];
    await upstream.list("tools", reader, never());
    await channelOf(upstream, caller);
    expect(open(server)).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(LINGER_MS);
    expect(open(server)).toEqual([1]);
    await vi.advanceTimersByTimeAsync(5 * IDLE_MS);
    expect(open(server)).toEqual([1]);
    upstream.releaseClient(caller.affinity);
    await settled();
    expect(open(server)).toEqual([]);
    await upstream.close();
  });

  test("replace the process that was started for the lists", async () => {
    const { server, upstream } = await meet(echoing(), { start: "demand" }, { directory: new Hosts() });
    server.endsAfterMs = 1_000;
    const call = channelOf(upstream, session());
    await settled();
    expect(server.channels).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await call).toBe(1);
    expect(open(server)).toEqual([1]);
    server.endsAfterMs = 0;
  });

  test("replace a process that was started for lists, also if an earlier one was used", async () => {
    const server = echoing();
    const upstream = await known(server, { directory: new Hosts() });
    await channelOf(upstream, client());
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    expect(open(server)).toEqual([]);
    await upstream.list("tools", undefined, never());
    expect(open(server)).toEqual([1]);
    expect(await channelOf(upstream, session())).toBe(2);
    expect(open(server)).toEqual([2]);
    await upstream.close();
  });

  test("a session that becomes a caller keeps the connection of its list", async () => {
    const server = echoing();
    const hosts = new Hosts();
    const upstream = await known(server, { directory: hosts });
    const host = hosts.arrive(session());
    await upstream.list("tools", host, never());
    expect(await channelOf(upstream, host)).toBe(0);
    await vi.advanceTimersByTimeAsync(2 * LINGER_MS);
    expect(open(server)).toEqual([0]);
    await upstream.close();
  });
});

test("a subscription starts a server on demand, and keeps it running until it ends", async () => {
  const server = echoing().on("resources/subscribe", {}).on("resources/unsubscribe", {});
  const upstream = await known(server);
  const stop = upstream.resources.subscribe("x:a", client());
  await vi.advanceTimersByTimeAsync(3 * IDLE_MS);
  expect(open(server)).toEqual([0]);
  server.channels[0]?.end();
  await vi.advanceTimersByTimeAsync(3 * IDLE_MS);
  expect(open(server)).toEqual([1]);
  stop();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(open(server)).toEqual([]);
  await upstream.close();
});

test("a new config changes when a server starts and ends, without a restart", async () => {
  const server = echoing();
  const upstream = await known(server);
  upstream.setLifetime({ start: "eager", idleTimeoutMs: 1_000 });
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  expect(open(server)).toEqual([0]);
  upstream.setLifetime({ start: "demand", idleTimeoutMs: 1_000 });
  await vi.advanceTimersByTimeAsync(LINGER_MS);
  expect(open(server)).toEqual([]);
  await upstream.close();
});
