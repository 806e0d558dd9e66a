import { getEventListeners } from "node:events";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Call, Notice, Reply } from "../../src/core/call.js";
import { deadline } from "../../src/resilience/deadline.js";
import { fakeCall, textResult } from "../support/fake-call.js";
import { fakeTime } from "../support/fake-time.js";

fakeTime();

const settings = { server: "files", timeoutMs: 5000, capMs: 12_000 };

/** A server that answers on demand. */
function patientServer() {
  let seen: Call | undefined;
  let answer: (reply: Reply) => void = () => undefined;
  const handler = (call: Call): Promise<Reply> => {
    seen = call;
    return new Promise((resolve, reject) => {
      answer = resolve;
      call.signal.addEventListener("abort", () => reject(call.signal.reason as Error));
    });
  };
  return {
    handler,
    answer: (reply: Reply) => answer(reply),
    progress: () => seen?.notify({ method: "notifications/progress" }),
    get signal() {
      return seen?.signal;
    },
  };
}

/** How many there are a moment later. */
async function timersLeft(): Promise<number> {
  await vi.advanceTimersByTimeAsync(1_000);
  return vi.getTimerCount();
}

/** How a reply turned out so far. */
function watch(reply: Promise<Reply>) {
  const state: { reply?: Reply; error?: unknown } = {};
  reply.then(
    (value) => {
      state.reply = value;
    },
    (error: unknown) => {
      state.error = error;
    },
  );
  return state;
}

describe("a silent server", () => {
  test("is cancelled at the server after the timeout, not before", async () => {
    const server = patientServer();
    const state = watch(deadline(settings)(server.handler)(fakeCall()));
    await vi.advanceTimersByTimeAsync(4999);
    expect(state.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(state.error).toMatchObject({ code: "timed_out", source: "upstream", retryable: false });
    expect(state.error).toHaveProperty("message", '"files" did not answer in time (5 s)');
    expect(server.signal?.aborted).toBe(true);
  });

  test("that ignores the abort does not keep the client waiting", async () => {
    const state = watch(deadline(settings)(() => new Promise(() => undefined))(fakeCall()));
    await vi.advanceTimersByTimeAsync(5000);
    expect(state.error).toMatchObject({ code: "timed_out" });
  });

  test.each([
    [{ readOnlyHint: true }, true],
    [{ idempotentHint: true }, true],
    [{ destructiveHint: true }, false],
  ])("with a tool of %j: trying again can help is %s", async (annotations, retryable) => {
    const route = { upstream: "files", target: "read", exposed: "files__read", kind: "tools" } as const;
    const call = fakeCall({ route: { ...route, item: { name: "read", annotations } } });
    const state = watch(deadline(settings)(patientServer().handler)(call));
    await vi.advanceTimersByTimeAsync(5000);
    expect(state.error).toMatchObject({ retryable });
  });
});

describe("a sign of life", () => {
  test("restarts the idle timeout and still reaches the client", async () => {
    const server = patientServer();
    const notices: string[] = [];
    const call = fakeCall({ notify: (notice) => void notices.push(notice.method) });
    const state = watch(deadline(settings)(server.handler)(call));
    await vi.advanceTimersByTimeAsync(4000);
    server.progress();
    await vi.advanceTimersByTimeAsync(4000);
    expect(state.error).toBeUndefined();
    server.answer(textResult("done"));
    await vi.advanceTimersByTimeAsync(0);
    expect(state.reply).toMatchObject({ kind: "result" });
    expect(notices).toEqual(["notifications/progress"]);
  });

  test("cannot extend a call beyond its cap", async () => {
    const server = patientServer();
    const state = watch(deadline(settings)(server.handler)(fakeCall()));
    for (let second = 0; second < 11; second += 1) {
      await vi.advanceTimersByTimeAsync(1000);
      server.progress();
    }
    await vi.advanceTimersByTimeAsync(999);
    expect(state.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(state.error).toMatchObject({ code: "timed_out" });
  });

  test("that comes too late is dropped, and starts nothing", async () => {
    const server = patientServer();
    const notices: Notice[] = [];
    const state = watch(
      deadline(settings)(server.handler)(fakeCall({ notify: (notice) => void notices.push(notice) })),
    );
    await vi.advanceTimersByTimeAsync(5000);
    server.progress();
    expect(state.error).toMatchObject({ code: "timed_out" });
    expect(notices).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("no timer remains", () => {
  test("after a reply", async () => {
    const { signal } = new AbortController();
    await deadline(settings)(async () => textResult("quick"))(fakeCall({ signal }));
    expect(await timersLeft()).toBe(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("after a failure, thrown early or late", async () => {
    const { signal } = new AbortController();
    const call = fakeCall({ signal });
    const late = deadline(settings)(() => Promise.reject(new Error("late")));
    const early = deadline(settings)(() => {
      throw new Error("early");
    });
    await expect(late(call)).rejects.toThrow("late");
    await expect(early(call)).rejects.toThrow("early");
    expect(await timersLeft()).toBe(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("a cancellation by the client", () => {
  test("reaches the server at once, with its reason", async () => {
    const controller = new AbortController();
    const server = patientServer();
    const state = watch(deadline(settings)(server.handler)(fakeCall({ signal: controller.signal })));
    controller.abort(new Error("bored"));
    await vi.advanceTimersByTimeAsync(0);
    expect(server.signal?.reason).toHaveProperty("message", "bored");
    expect(state.error).toHaveProperty("message", "bored");
    expect(await timersLeft()).toBe(0);
  });

  test("reaches the server also when it came before the call", async () => {
    const server = patientServer();
    const state = watch(deadline(settings)(server.handler)(fakeCall({ signal: AbortSignal.abort() })));
    expect(server.signal?.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(5000);
    expect(state.error).toMatchObject({ code: "timed_out" });
  });

  test("still reaches a call of a session that waits for input, and the timeout is paused", async () => {
    const controller = new AbortController();
    let seen: Call | undefined;
    await deadline(settings)(async (call) => {
      seen = call;
      return { kind: "input_required", requests: {} };
    })(fakeCall({ signal: controller.signal, client: { ...fakeCall().client, session: true } }));
    expect(await timersLeft()).toBe(0);
    controller.abort();
    expect(seen?.signal.aborted).toBe(true);
  });
});

test("a time-out of nothing is refused when the layer is made", () => {
  expect(() => deadline({ server: "files", timeoutMs: 0 })).toThrow(RangeError);
  expect(() => deadline({ server: "files", timeoutMs: Number.NaN })).toThrow(RangeError);
});

test("a time-out longer than a timer can run does not fire at once", async () => {
  const state = watch(deadline({ server: "files", timeoutMs: 1e12 })(patientServer().handler)(fakeCall()));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.error).toBeUndefined();
});

describe("a process that was suspended (SIGSTOP)", () => {
  /** From now on the clock is ahead of the timers by this amount. */
  function standStill(ms: number): void {
    const clock = performance.now.bind(performance);
    const spy = vi.spyOn(performance, "now").mockImplementation(() => clock() + ms);
    onTestFinished(() => spy.mockRestore());
  }

  test("accepts the response that arrived during the suspension", async () => {
    const server = patientServer();
    const state = watch(deadline(settings)(server.handler)(fakeCall()));
    await vi.advanceTimersByTimeAsync(4_000);
    standStill(3_000);
    // All timers that were due come first, and what was sent to us is read after them.
    await vi.advanceTimersByTimeAsync(1_000);
    server.answer(textResult("in time"));
    await vi.advanceTimersByTimeAsync(0);
    expect(state.reply).toMatchObject({ kind: "result" });
  });

  test("extends the timeout by the suspension, and no more", async () => {
    const server = patientServer();
    const state = watch(deadline(settings)(server.handler)(fakeCall()));
    await vi.advanceTimersByTimeAsync(4_000);
    standStill(3_000);
    await vi.advanceTimersByTimeAsync(3_999);
    expect(state.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(state.error).toMatchObject({ code: "timed_out" });
  });

  test("restarts the idle timeout at the next progress", async () => {
    const server = patientServer();
    const state = watch(deadline({ ...settings, capMs: 60_000 })(server.handler)(fakeCall()));
    await vi.advanceTimersByTimeAsync(4_000);
    standStill(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    server.progress();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(state.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(state.error).toMatchObject({ code: "timed_out" });
  });
});
