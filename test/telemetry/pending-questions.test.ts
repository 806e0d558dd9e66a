/** How long calls wait for input. */
import { describe, expect, test, vi } from "vitest";
import { observerMiddleware, type Reply } from "../../src/core/call.js";
import { Stop } from "../../src/core/stop.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { PendingQuestions } from "../../src/telemetry/pending-questions.js";
import { Payload } from "../../src/wire/payload.js";
import { fakeTime } from "../support/fake-time.js";
import { fakeCall, fakeClient } from "../support/fake-upstream.js";
import { heapUsed } from "../support/heap.js";

fakeTime();

const route = { upstream: "quiz", target: "start", exposed: "quiz__start", kind: "tools" } as const;
const asks = (method: string, state: string): Reply => ({
  kind: "input_required",
  requests: { q: { method, params: {} } },
  sealedState: state,
});
const done: Reply = { kind: "result", result: Payload.ofObject({ content: [] }) };

test("the time between a question and its answer is counted for the server and the kind of question", async () => {
  const metrics = new Metrics({ version: "1", process: false });
  const replies = [asks("elicitation/create", "one"), done];
  const handle = observerMiddleware([new PendingQuestions(metrics).observer])(
    async () => replies.shift() ?? done,
  );
  await handle(fakeCall("tools/call", { name: "quiz__start" }, { route }));
  vi.advanceTimersByTime(4_000);
  await handle(
    fakeCall(
      "tools/call",
      { name: "quiz__start" },
      { route, inputResponses: { responses: {}, sealedState: "one" } },
    ),
  );
  const text = await metrics.text();
  expect(text).toContain('cardea_input_wait_seconds_sum{server="quiz",kind="elicitation"} 4');
  expect(text).toContain('cardea_input_wait_seconds_count{server="quiz",kind="elicitation"} 1');
});

test("an answer to a question that was never asked here is not counted", async () => {
  const metrics = new Metrics({ version: "1", process: false });
  const handle = observerMiddleware([new PendingQuestions(metrics).observer])(async () => done);
  await handle(
    fakeCall(
      "tools/call",
      { name: "quiz__start" },
      { route, inputResponses: { responses: {}, sealedState: "other" } },
    ),
  );
  expect(await metrics.text()).not.toContain("cardea_input_wait_seconds_count{");
});

describe("the questions that are open", () => {
  const waiting = () => new PendingQuestions(new Metrics({ version: "1", process: false }));
  const session = () => fakeClient({ session: true, affinity: "s" });
  /** A round that tells when its questions want no answer any longer. */
  const watched = (state: string) => {
    const hearers = new Set<(key: string) => void>();
    const reply: Reply = {
      kind: "input_required",
      requests: { a: { method: "roots/list" }, b: { method: "sampling/createMessage" } },
      sealedState: state,
      open: {
        watch(gone) {
          hearers.add(gone);
          return () => hearers.delete(gone);
        },
      },
    };
    return { reply, hearers, gone: (key: string) => [...hearers].forEach((hear) => void hear(key)) };
  };

  test("are listed by server, kind, principal and time, without their text", async () => {
    vi.setSystemTime("2026-11-20T08:00:00Z");
    const waits = waiting();
    const handle = observerMiddleware([waits.observer])(async () => asks("elicitation/create", "one"));
    await handle(fakeCall("tools/call", { name: "quiz__start" }, { route }));
    expect(waits.list()).toEqual([
      { server: "quiz", kind: "elicitation", principal: "anonymous", since: "2026-11-20T08:00:00.000Z" },
    ]);
  });

  test("take little memory, however large the state of their servers", async () => {
    const waits = waiting();
    const states = Array.from({ length: 50 }, (_, at) => String(at).padEnd(1024 * 1024, "x"));
    const handle = observerMiddleware([waits.observer])(async () =>
      asks("elicitation/create", states.pop() ?? ""),
    );
    const before = heapUsed();
    while (states.length > 0) await handle(fakeCall("tools/call", {}, { route }));
    expect(waits.list()).toHaveLength(50);
    expect(heapUsed() - before).toBeLessThan(10 * 1024 * 1024);
  });

  test("are open until they are answered", async () => {
    const waits = waiting();
    const replies = [asks("elicitation/create", "one"), done];
    const handle = observerMiddleware([waits.observer])(async () => replies.shift() ?? done);
    await handle(fakeCall("tools/call", {}, { route }));
    await handle(
      fakeCall("tools/call", {}, { route, inputResponses: { responses: {}, sealedState: "one" } }),
    );
    expect(waits.list()).toEqual([]);
  });

  test("are closed one by one when their calls end", async () => {
    const waits = waiting();
    const { reply, gone, hearers } = watched("one");
    await observerMiddleware([waits.observer])(async () => reply)(fakeCall("tools/call", {}, { route }));
    gone("a");
    expect(waits.list().map(({ kind }) => kind)).toEqual(["sampling"]);
    gone("b");
    expect(waits.list()).toEqual([]);
    expect(hearers.size).toBe(0);
  });

  test("end with the cancelled request of a session, and not with that of a client without one", async () => {
    for (const [client, left] of [
      [session(), 0],
      [fakeClient(), 1],
    ] as const) {
      const waits = waiting();
      const stop = new Stop();
      const call = fakeCall("tools/call", {}, { route, client, signal: stop.signal });
      await observerMiddleware([waits.observer])(async () => asks("roots/list", "one"))(call);
      stop.abort();
      expect(waits.list()).toHaveLength(left);
    }
  });

  test("are kept for as long as they can be answered", async () => {
    const waits = new PendingQuestions(new Metrics({ version: "1", process: false }), () => 7_200_000);
    vi.advanceTimersByTime(1);
    await observerMiddleware([waits.observer])(async () => asks("roots/list", "one"))(
      fakeCall("tools/call", {}, { route }),
    );
    vi.advanceTimersByTime(3_600_001);
    expect(waits.list()).toHaveLength(1);
    vi.advanceTimersByTime(3_600_001);
    expect(waits.list()).toEqual([]);
  });

  test("are dropped after an hour, when no state is valid any longer", async () => {
    const waits = waiting();
    vi.advanceTimersByTime(1);
    await observerMiddleware([waits.observer])(async () => asks("roots/list", "one"))(
      fakeCall("tools/call", {}, { route }),
    );
    vi.advanceTimersByTime(3_600_001);
    expect(waits.list()).toEqual([]);
  });
});
