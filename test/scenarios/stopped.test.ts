/** A gateway that stops while calls run: their hosts receive an error before the connections close. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { until } from "../support/until.js";
import { type Calling, HOSTS, type HostKind, openHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const CUT_OFF = {
  result: { isError: true, _meta: { "cardea/refusal": { code: "outcome_unknown", retryable: false } } },
};

afterEach(() => void vi.useRealTimers());

/** A call to each server, which works on it until it is cancelled. */
async function working(stage: Stage, kind: HostKind): Promise<readonly Calling[]> {
  const host = await openHost(stage, kind);
  const calls = UPSTREAMS.map(({ key }) =>
    host.call(`${key}__ask_and_work`, { label: "stopped" }, () => ({ action: "accept", content: {} })),
  );
  await until("all calls at work", () =>
    UPSTREAMS.every((upstream) =>
      stage
        .upstream(upstream)
        .ledger()
        .some(({ event, label }) => event === "working" && label === "stopped"),
    ),
  );
  return calls;
}

describe.each(Object.values(HOSTS).map((kind) => [kind.name, kind] as const))("%s", (_name, kind) => {
  test("receives outcome_unknown for calls that an immediate stop cuts off", async () => {
    const stage = await openStage(UPSTREAMS);
    const calls = await working(stage, kind);
    await stage.close();
    for (const { outcome } of calls) expect(await outcome).toMatchObject(CUT_OFF);
    expect(stage.hasCutOff()).toBe(true);
  });

  test("receives it for calls that have not ended after a drain of 24.5 s", async () => {
    const stage = await openStage(UPSTREAMS);
    const calls = await working(stage, kind);
    let ended = 0;
    for (const { outcome } of calls) outcome.then(() => (ended += 1)).catch(() => {});
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const stopped = stage.close({ drains: true });
    await vi.advanceTimersByTimeAsync(24_499);
    expect(ended).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    for (const { outcome } of calls) expect(await outcome).toMatchObject(CUT_OFF);
    expect(stage.hasCutOff()).toBe(true);
    await vi.advanceTimersByTimeAsync(500);
    vi.useRealTimers();
    await stopped;
  });
});

test("a stop without running calls cuts none off", async () => {
  const stage = await openStage([]);
  await stage.close({ drains: true });
  expect(stage.hasCutOff()).toBe(false);
});
