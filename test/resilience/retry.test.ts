import { describe, expect, test, vi } from "vitest";
import { type Call, compose, type Reply, type Route } from "../../src/core/call.js";
import { GatewayError, type GatewayErrorOptions } from "../../src/core/errors.js";
import { CircuitBreaker, circuitBreaker } from "../../src/resilience/circuit-breaker.js";
import { RetryBudget, retry } from "../../src/resilience/retry.js";
import { fakeCall, textResult, unroutedCall } from "../support/fake-call.js";
import { fakeTime } from "../support/fake-time.js";
import fc from "../support/fast-check.js";

fakeTime();

const lost = (
  options: GatewayErrorOptions = {},
  code: "upstream_closed" | "upstream_unavailable" | "timed_out" = "upstream_closed",
) => new GatewayError(code, "upstream", "gone", options);
const tool = (annotations: object): Partial<Call> => ({
  route: {
    upstream: "files",
    target: "read",
    exposed: "files__read",
    kind: "tools",
    item: { name: "read", annotations },
  } as Route,
});
const READ_ONLY = tool({ readOnlyHint: true });

/** A server that fails this number of times with `error` before it answers, and the number of requests. */
function failing(error: unknown, times = 1, budget = new RetryBudget()) {
  let asked = 0;
  const onRetry = vi.fn();
  const handle = compose([retry({ budget, onRetry })], async (call): Promise<Reply> => {
    asked += 1;
    if (asked <= times) {
      if (error instanceof Function) return (error as (call: Call) => never)(call);
      throw error;
    }
    return textResult("ok");
  });
  return { handle, onRetry, asked: () => asked };
}

describe("a call whose connection was lost is retried", () => {
  test.each<[string, Call]>([
    ["a read-only tool", fakeCall(READ_ONLY)],
    ["an idempotent tool", fakeCall(tool({ idempotentHint: true }))],
    ["a resource", unroutedCall("resources/read", { uri: "a:b" })],
    ["a prompt", unroutedCall("prompts/get", { name: "p" })],
    ["a completion", unroutedCall("completion/complete")],
  ])("%s", async (_, call) => {
    const { handle, onRetry, asked } = failing(lost());
    expect(await handle(call)).toMatchObject({ kind: "result" });
    expect(asked()).toBe(2);
    expect(onRetry).toHaveBeenCalledOnce();
  });

  test("once, and then its error is returned", async () => {
    const { handle, asked } = failing(lost({}, "upstream_unavailable"), 9);
    await expect(handle(fakeCall(READ_ONLY))).rejects.toMatchObject({ code: "upstream_unavailable" });
    expect(asked()).toBe(2);
  });
});

describe("a call is not made again", () => {
  const aborted = new AbortController();
  aborted.abort();
  test.each<[string, Call, unknown]>([
    ["of a tool that says nothing of itself", fakeCall(), lost()],
    ["of a tool that changes things", fakeCall(tool({ readOnlyHint: false, destructiveHint: true })), lost()],
    ["of a method that nobody knows", unroutedCall("foo/bar"), lost()],
    ["that subscribes", unroutedCall("resources/subscribe", { uri: "a:b" }), lost()],
    ["with answers", fakeCall({ ...READ_ONLY, inputResponses: { responses: {} } }), lost()],
    ["that timed out", fakeCall(READ_ONLY), lost({}, "timed_out")],
    ["when it is told when to come back", fakeCall(READ_ONLY), lost({ retryAfterMs: 500 })],
    ["that the server turned down", fakeCall(READ_ONLY), lost({ answered: true }, "upstream_unavailable")],
    ["that the client cancelled", fakeCall({ ...READ_ONLY, signal: aborted.signal }), lost()],
    ["after a fault of ours", fakeCall(READ_ONLY), new TypeError("oops")],
    [
      "of which the client has heard",
      fakeCall(READ_ONLY),
      (call: Call) => {
        call.notify({ method: "notifications/progress", params: { progress: 1 } });
        throw lost();
      },
    ],
  ])("%s", async (_, call, error) => {
    const { handle, onRetry, asked } = failing(error);
    await expect(handle(call)).rejects.toThrow();
    expect(asked()).toBe(1);
    expect(onRetry).not.toHaveBeenCalled();
  });

  test("with a response of the server, including an error", async () => {
    const reply: Reply = { kind: "error", error: { code: -32603, message: "no" } };
    const call = vi.fn(async () => reply);
    const handle = compose([retry({ budget: new RetryBudget() })], call);
    expect(await handle(fakeCall(READ_ONLY))).toBe(reply);
    expect(call).toHaveBeenCalledOnce();
  });
});

test("a call that cannot be retried is passed on as the same object", async () => {
  const seen: Call[] = [];
  const handle = compose([retry({ budget: new RetryBudget() })], async (call) => {
    seen.push(call);
    return textResult("ok");
  });
  const call = fakeCall();
  await handle(call);
  expect(seen[0]).toBe(call);
});

test("the circuit breaker sees each attempt, and its refusal is not retried", async () => {
  const breaker = new CircuitBreaker({ calls: 4 });
  let asked = 0;
  const handle = compose(
    [retry({ budget: new RetryBudget() }), circuitBreaker(breaker, "files")],
    async () => {
      asked += 1;
      throw lost();
    },
  );
  const call = () => handle(fakeCall(READ_ONLY)).catch((error: GatewayError) => error.code);
  expect([await call(), await call(), await call()]).toEqual([
    "upstream_closed",
    "upstream_closed",
    "upstream_unavailable",
  ]);
  expect(asked).toBe(4);
});

describe("the budget", () => {
  const drain = (budget: RetryBudget): number => {
    let taken = 0;
    while (taken < 10_000 && budget.take()) taken += 1;
    return taken;
  };

  test("is ten in a second in any case, and a fifth of all calls", () => {
    const budget = new RetryBudget();
    expect(drain(budget)).toBe(10);
    vi.advanceTimersByTime(1000);
    expect(drain(budget)).toBe(10);
    for (let at = 0; at < 100; at += 1) budget.count();
    expect(drain(budget)).toBe(20);
  });

  test("is kept for ten seconds and not longer", () => {
    const budget = new RetryBudget();
    for (let at = 0; at < 100_000; at += 1) budget.count();
    vi.advanceTimersByTime(3_600_000);
    expect(drain(budget)).toBe(100);
  });

  test("a clock that is set changes nothing", () => {
    const budget = new RetryBudget();
    drain(budget);
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(drain(budget)).toBe(0);
  });

  test("never allows more repeats than that, whatever happens when", () => {
    const steps = fc.array(fc.record({ calls: fc.nat(50), pause: fc.nat(3000), tries: fc.nat(30) }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(steps, (given) => {
        const budget = new RetryBudget();
        const start = performance.now();
        let [calls, repeats] = [0, 0];
        for (const step of given) {
          vi.advanceTimersByTime(step.pause);
          for (let at = 0; at < step.calls; at += 1) budget.count();
          calls += step.calls;
          for (let at = 0; at < step.tries; at += 1) repeats += budget.take() ? 1 : 0;
          const seconds = (performance.now() - start) / 1000;
          expect(repeats).toBeLessThanOrEqual(10 + 10 * seconds + 0.2 * calls + 1e-6);
        }
      }),
    );
  });

  test("an unreachable server gets no flood of retries", async () => {
    const { handle, onRetry } = failing(lost(), Number.POSITIVE_INFINITY);
    const calls = Array.from({ length: 500 }, () => handle(fakeCall(READ_ONLY)).catch(() => {}));
    await Promise.all(calls);
    expect(onRetry.mock.calls.length).toBeLessThanOrEqual(10 + 100);
  });
});
