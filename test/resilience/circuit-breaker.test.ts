import { describe, expect, test, vi } from "vitest";
import { type ErrorCode, GatewayError, type GatewayErrorOptions } from "../../src/core/errors.js";
import { CircuitBreaker, circuitBreaker } from "../../src/resilience/circuit-breaker.js";
import { fakeCall, rawResult, textResult } from "../support/fake-call.js";
import { fakeTime } from "../support/fake-time.js";
import fc from "../support/fast-check.js";

fakeTime();

function guarded() {
  const breaker = new CircuitBreaker();
  let calls = 0;
  let answer = async () => textResult("fine");
  const handle = circuitBreaker(
    breaker,
    "files",
  )(() => {
    calls += 1;
    return answer();
  });
  return {
    breaker,
    get calls() {
      return calls;
    },
    async run(times: number, next: typeof answer = async () => textResult("fine")) {
      answer = next;
      const outcomes = await Promise.allSettled(Array.from({ length: times }, () => handle(fakeCall())));
      return outcomes.map((outcome) => (outcome.status === "fulfilled" ? "reply" : outcome.reason));
    },
    handle: () => handle(fakeCall()),
  };
}

const failed = (code: ErrorCode, options: GatewayErrorOptions = {}): Promise<never> =>
  Promise.reject(new GatewayError(code, "upstream", "no", options));

const failing = async () => {
  throw new GatewayError("upstream_closed", "upstream", "gone");
};

describe("a closed breaker", () => {
  test("opens at half of twenty calls, and then fails at once without calling the server", async () => {
    const server = guarded();
    await server.run(10);
    await server.run(9, failing);
    expect(server.breaker.state).toBe("closed");
    await server.run(1, failing);
    expect(server.breaker.state).toBe("open");
    const [error] = await server.run(1);
    expect(error).toMatchObject({
      code: "upstream_unavailable",
      retryable: true,
      options: { server: "files", retryAfterMs: 10_000 },
    });
    expect(server.calls).toBe(20);
  });

  test("does not open for a few failures, however bad the share", async () => {
    const server = guarded();
    await server.run(19, failing);
    expect(server.breaker.state).toBe("closed");
  });

  test("forgets failures that are older than its window", async () => {
    const server = guarded();
    await server.run(19, failing);
    vi.advanceTimersByTime(11_000);
    await server.run(19, failing);
    expect(server.breaker.state).toBe("closed");
  });

  test.each<[string, () => Promise<never> | Promise<ReturnType<typeof textResult>>]>([
    ["a tool's own error", async () => rawResult('{"isError":true}')],
    ["a server's own error", async () => ({ kind: "error", error: { code: -32603, message: "no" } })],
    ["a refusal", () => Promise.reject(new GatewayError("queue_full", "gateway", "busy"))],
    ["a client that gives up", () => Promise.reject(new GatewayError("cancelled", "downstream", "bored"))],
    ["a fault of ours", () => Promise.reject(new TypeError("oops"))],
    ["a request that the server turned down", () => failed("upstream_rejected", { answered: true })],
    ["an answer that cannot be read", () => failed("upstream_closed", { answered: true })],
    ["a connection that is being opened again", () => failed("upstream_closed", { supervised: true })],
    [
      "a connection that is not yet open again",
      () => failed("upstream_unavailable", { supervised: true, retryAfterMs: 900 }),
    ],
  ])("%s says nothing about the way to the server", async (_, answer) => {
    const server = guarded();
    await server.run(50, answer);
    expect(server.breaker.state).toBe("closed");
  });
});

describe("an open breaker", () => {
  async function opened() {
    const server = guarded();
    await server.run(20, failing);
    expect(server.breaker.state).toBe("open");
    return server;
  }

  test("lets one call through after ten seconds, and only one", async () => {
    const server = await opened();
    vi.advanceTimersByTime(9999);
    expect(server.breaker.state).toBe("open");
    vi.advanceTimersByTime(1);
    expect(server.breaker.state).toBe("half_open");
    const outcomes = await server.run(5);
    expect(outcomes.filter((outcome) => outcome === "reply")).toHaveLength(1);
  });

  test("closes after three successes in a row", async () => {
    const server = await opened();
    vi.advanceTimersByTime(10_000);
    await server.run(1);
    await server.run(1);
    expect(server.breaker.state).toBe("half_open");
    await server.run(1);
    expect(server.breaker.state).toBe("closed");
    await server.run(19, failing);
    expect(server.breaker.state).toBe("closed");
  });

  test("opens again when the probe fails, for the whole time", async () => {
    const server = await opened();
    vi.advanceTimersByTime(10_000);
    await server.run(2);
    await server.run(1, failing);
    expect(server.breaker.state).toBe("open");
    expect(server.breaker.retryAfterMs).toBe(10_000);
    vi.advanceTimersByTime(10_000);
    await server.run(2);
    expect(server.breaker.state).toBe("half_open");
  });

  test("a probe that times out makes room for the next", async () => {
    const server = await opened();
    vi.advanceTimersByTime(10_000);
    await server.run(1, () => Promise.reject(new GatewayError("cancelled", "downstream", "bored")));
    expect(server.breaker.state).toBe("half_open");
    expect(await server.run(1)).toEqual(["reply"]);
  });

  test("waits two seconds for a call that tries it, and then lets another through as well", async () => {
    const server = await opened();
    vi.advanceTimersByTime(10_000);
    let end = (_: ReturnType<typeof textResult>): void => {};
    const first = server.run(
      1,
      () =>
        new Promise((resolve) => {
          end = resolve;
        }),
    );
    vi.advanceTimersByTime(1999);
    const [refused] = await server.run(1);
    expect(refused).toMatchObject({ code: "upstream_unavailable" });
    vi.advanceTimersByTime(1);
    expect(await server.run(3)).toEqual(["reply", expect.any(GatewayError), expect.any(GatewayError)]);
    await server.run(1);
    await server.run(1);
    expect(server.breaker.state).toBe("closed");
    end(textResult("late"));
    expect(await first).toEqual(["reply"]);
    expect(server.breaker.state).toBe("closed");
  });

  test("a request that the server turned down is a sign of life", async () => {
    const server = await opened();
    vi.advanceTimersByTime(10_000);
    for (let at = 0; at < 3; at += 1) await server.run(1, () => failed("upstream_rejected"));
    expect(server.breaker.state).toBe("closed");
  });

  test("closes at once when the server was restarted", async () => {
    const server = await opened();
    server.breaker.reset();
    expect(server.breaker.state).toBe("closed");
    expect(await server.run(3)).toEqual(["reply", "reply", "reply"]);
  });

  test("a call from before it opened does not count afterwards", async () => {
    const server = guarded();
    const early = server.breaker.tryAcquire();
    await server.run(20, failing);
    vi.advanceTimersByTime(10_000);
    early?.("failure");
    expect(server.breaker.state).toBe("half_open");
  });
});

test("it behaves like a model that keeps the whole history", () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("success", "failure", "none") },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 12_000 }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const breaker = new CircuitBreaker();
      // The model keeps everything and reckons again each time.
      let history: { readonly second: number; readonly failed: boolean }[] = [];
      let openUntil: number | undefined;
      let passed = 0;
      const open = () => {
        history = [];
        passed = 0;
        openUntil = performance.now() + 10_000;
      };
      for (const step of steps) {
        if (typeof step === "number") vi.advanceTimersByTime(step);
        else {
          const leave = breaker.tryAcquire();
          const mayCall = openUntil === undefined || performance.now() >= openUntil;
          expect(leave !== undefined).toBe(mayCall);
          leave?.(step);
          if (mayCall && step !== "none") {
            const failed = step === "failure";
            const second = Math.floor(performance.now() / 1000);
            if (openUntil === undefined) {
              history.push({ second, failed });
              const recent = history.filter((entry) => entry.second > second - 10);
              const failures = recent.filter((entry) => entry.failed).length;
              if (failed && recent.length >= 20 && failures * 2 >= recent.length) open();
            } else if (failed) open();
            else {
              passed += 1;
              if (passed === 3) openUntil = undefined;
            }
          }
        }
        const now = performance.now();
        const expected = openUntil === undefined ? "closed" : now < openUntil ? "open" : "half_open";
        expect(breaker.state).toBe(expected);
      }
    }),
    { numRuns: 300 },
  );
});
