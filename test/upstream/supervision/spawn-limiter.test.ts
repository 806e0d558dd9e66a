/** Processes that start at the same time, and those that wait for their turn. */
import { expect, test, vi } from "vitest";
import { SpawnLimiter } from "../../../src/upstream/supervision/spawn-limiter.js";
import { legacyServer } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { settled, upstreamFor } from "../../support/met-upstream.js";

fakeTime();

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test("a limited number of servers starts at a time, in the order of the config", async () => {
  const spawnLimiter = new SpawnLimiter(4);
  const begun: number[] = [];
  const servers = Array.from({ length: 10 }, (_, index) => {
    const server = legacyServer();
    const greet = server.methods.get("initialize");
    server.on("initialize", async (params, asked) => {
      begun.push(index);
      await pause(100);
      return greet?.(params, asked) ?? {};
    });
    return upstreamFor(server, { name: `s${index}`, protocol: "legacy" }, { spawnLimiter }).upstream;
  });
  for (const upstream of servers) upstream.start();
  for (const expected of [4, 8, 10]) {
    await vi.advanceTimersByTimeAsync(99);
    expect(begun).toHaveLength(expected);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(servers.map(({ state }) => state)).toEqual(servers.map(() => "ready"));
  await Promise.all(servers.map((upstream) => upstream.close()));
  expect(vi.getTimerCount()).toBe(0);
});

test("a hanging one delays the others by a second, not by its whole timeout", async () => {
  const starts = new SpawnLimiter(1);
  const never = new AbortController();
  void starts.run(() => new Promise(() => {}), never.signal);
  let second = false;
  void starts.run(async () => {
    second = true;
  }, never.signal);
  await vi.advanceTimersByTimeAsync(999);
  expect(second).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(second).toBe(true);
});

test("a server that is stopped leaves the queue, and takes no slot", async () => {
  const starts = new SpawnLimiter(1);
  const never = new AbortController();
  const ends: (() => void)[] = [];
  const order: string[] = [];
  const start = (name: string) => () => {
    order.push(name);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const stop = new AbortController();
  void starts.run(start("first"), never.signal);
  void starts.run(start("stopped"), stop.signal);
  void starts.run(start("second"), never.signal);
  stop.abort();
  await settled();
  expect(order).toEqual(["first", "stopped"]);
  ends[1]?.();
  await settled();
  expect(order).toEqual(["first", "stopped"]);
  ends[0]?.();
  await settled();
  expect(order).toEqual(["first", "stopped", "second"]);
});
