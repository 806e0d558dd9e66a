/** A gateway that stops while calls run: their hosts receive an error before the connections close. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { countOf } from "../support/scripted/ledger.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { until } from "../support/until.js";
import { type Calling, HOSTS, openHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const REFUSAL = { "cardea/refusal": { code: "outcome_unknown", retryable: false } };

afterEach(() => void vi.useRealTimers());

const KINDS = Object.values(HOSTS);

/** Calls of a host of each kind to each server, which works on them until they are cancelled. */
async function working(stage: Stage): Promise<readonly (readonly [host: string, calling: Calling])[]> {
  const calls: (readonly [string, Calling])[] = [];
  for (const kind of KINDS) {
    const host = await openHost(stage, kind);
    for (const { key } of UPSTREAMS) {
      const accept = () => ({ action: "accept", content: {} });
      calls.push([kind.key, host.call(`${key}__ask_and_work`, { label: kind.key }, accept)]);
    }
  }
  await until("all calls at work", () =>
    UPSTREAMS.every((upstream) => {
      const ledger = stage.upstream(upstream).ledger();
      return KINDS.every(({ key }) => countOf(ledger, "working", key) === 1);
    }),
  );
  return calls;
}

async function expectCutOff(calls: Awaited<ReturnType<typeof working>>): Promise<void> {
  for (const [host, { outcome }] of calls)
    expect([host, await outcome]).toMatchObject([host, { result: { isError: true, _meta: REFUSAL } }]);
}

describe("hosts of every kind", () => {
  test("receive outcome_unknown for calls that an immediate stop cuts off", async () => {
    const stage = await openStage(UPSTREAMS);
    const calls = await working(stage);
    await stage.close();
    await expectCutOff(calls);
    expect(stage.hasCutOff()).toBe(true);
  });

  test("receive it for calls that have not ended after a drain of 24.5 s", async () => {
    const stage = await openStage(UPSTREAMS);
    const calls = await working(stage);
    let ended = 0;
    for (const [, { outcome }] of calls) outcome.then(() => (ended += 1)).catch(() => {});
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const stopped = stage.close({ drains: true });
    await vi.advanceTimersByTimeAsync(24_499);
    expect(ended).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await expectCutOff(calls);
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
