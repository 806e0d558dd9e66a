/** When a connection that nothing needs ends, and how often it is looked at. */
import { expect, test, vi } from "vitest";
import type { ConnectionUse } from "../../src/upstream/leases/connection-use.js";
import { IdleTimer } from "../../src/upstream/leases/idle-timer.js";
import { fakeTime, pass } from "../support/fake-time.js";

const IDLE_MS = 600_000;

fakeTime();

/** A connection without calls that ends `IDLE_MS` after `usedAt`, unless it is held. */
function connection() {
  const state = { usedAt: performance.now(), isHeld: false, ended: 0 };
  const use: Pick<ConnectionUse, "endsAt"> = { endsAt: () => state.usedAt + IDLE_MS };
  const timer = new IdleTimer({
    supervisor: { current: undefined, isConnecting: false, isListing: false },
    use: use as ConnectionUse,
    isHeld: () => state.isHeld,
    idleTimeoutMs: () => IDLE_MS,
    end: () => {
      state.ended += 1;
    },
  });
  timer.start();
  return { state, timer };
}

test("a connection that is looked at for every session that ends has one timer", async () => {
  const { state, timer } = connection();
  const set = vi.spyOn(globalThis, "setTimeout");
  for (let look = 0; look < 1_000; look += 1) {
    await pass(100);
    timer.check();
  }
  expect(set).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(1);

  await pass(IDLE_MS - 100_000 - 1);
  expect(state.ended).toBe(0);
  await pass(1);
  expect(state.ended).toBe(1);
});

test("a connection that was used meanwhile ends when its time has passed since then", async () => {
  const { state, timer } = connection();
  await pass(IDLE_MS / 2);
  state.usedAt = performance.now();
  timer.check();
  await pass(IDLE_MS - 1);
  expect(state.ended).toBe(0);
  await pass(1);
  expect(state.ended).toBe(1);
});

test("a connection that is held ends within 30 s of when nothing holds it any longer", async () => {
  const { state, timer } = connection();
  state.isHeld = true;
  timer.check();
  await pass(IDLE_MS * 2);
  expect(state.ended).toBe(0);
  state.isHeld = false;
  await pass(30_000);
  expect(state.ended).toBe(1);
});

test("a connection whose idle timeout a new config has shortened ends when that has passed", async () => {
  const { state, timer } = connection();
  await pass(1_000);
  state.usedAt -= IDLE_MS - 10_000;
  timer.check();
  await pass(8_999);
  expect(state.ended).toBe(0);
  await pass(1);
  expect(state.ended).toBe(1);
});

test("a stopped timer ends nothing, also where it is looked at", async () => {
  const { state, timer } = connection();
  timer.stop();
  timer.check();
  await pass(IDLE_MS * 2);
  expect(state.ended).toBe(0);
});
