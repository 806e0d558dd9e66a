/** The record of a call, as a gateway in front of a real server makes it. */
import { expect, test } from "vitest";
import { compose, type Handler, observerMiddleware } from "../../src/core/call.js";
import { type CallRecord, callNotes } from "../../src/core/call-record.js";
import { GatewayError } from "../../src/core/errors.js";
import { SILENT } from "../../src/core/logger.js";
import { concurrency, Semaphore } from "../../src/resilience/concurrency.js";
import { deadline } from "../../src/resilience/deadline.js";
import { errorBoundary } from "../../src/resilience/error-boundary.js";
import { CallHistory, MAX_RECENT_CALLS, RecentCalls } from "../../src/telemetry/call-history.js";
import { callRecords, policyTimed } from "../../src/telemetry/call-records.js";
import { RunningCalls } from "../../src/telemetry/live-calls.js";
import { fakeCall, textResult, unroutedCall } from "../support/fake-call.js";

/** The records of calls that go through the layers which measure, to `server`. */
function recording(server: Handler, limit = 1) {
  const records: CallRecord[] = [];
  const running = new RunningCalls();
  const observed = observerMiddleware([callRecords([(record) => records.push(record)]), running.observer]);
  const semaphore = new Semaphore(limit, 10);
  const stack = compose(
    [concurrency({ semaphore, server: "files" }), deadline({ server: "files", timeoutMs: 60_000 })],
    server,
  );
  const handle = compose([observed, errorBoundary(SILENT)], policyTimed(stack));
  return { records, running, handle: (call = fakeCall({ record: callNotes() })) => handle(call) };
}

/** A record of which only what is given matters. */
const record = (changes: Partial<CallRecord> = {}, total = 1): CallRecord => ({
  ...{
    id: 1,
    at: 0,
    principal: "ann",
    host: "",
    method: "tools/call",
    target: "t",
    server: "s",
    outcome: "ok",
  },
  ms: { total, queue: 0, policy: 0, upstream: 0, input: 0 },
  ...changes,
});

test("a record has principal, target, server and outcome", async () => {
  const { records, handle } = recording(async () => textResult("hello"));
  const client = { ...fakeCall().client, info: { name: "host", version: "2" } };
  await handle(fakeCall({ record: callNotes(), client }));
  expect(records).toMatchObject([
    { principal: "anonymous", host: "host 2", target: "files__read", server: "files", outcome: "ok" },
  ]);
});

test("the target of a call at the path of one server is recorded under its name in the gateway as a whole", async () => {
  const { records, handle } = recording(async () => textResult("hello"));
  const route = {
    upstream: "files",
    target: "read",
    exposed: "read",
    aggregateName: "files__read",
    kind: "tools",
  } as const;
  await handle(fakeCall({ record: callNotes(), params: { name: "read", arguments: {} }, route }));
  expect(records).toMatchObject([{ target: "files__read" }]);
});

test("a refused call has a record with its refusal word, and all its time is policy", async () => {
  const { records, handle } = recording(async () => textResult("hello"));
  const refused = new GatewayError("unknown_target", "downstream", "unknown tool");
  const call = { ...unroutedCall("tools/call", { name: "x".repeat(500) }), record: callNotes() };
  const seen: CallRecord[] = [];
  const observed = observerMiddleware([callRecords([(each) => seen.push(each)])]);
  await compose([observed, errorBoundary(SILENT)], () => Promise.reject(refused))(call);
  await handle();
  expect(seen).toMatchObject([{ outcome: "unknown_target", server: "", target: "x".repeat(200) }]);
  expect(seen[0]?.ms.policy).toBe(seen[0]?.ms.total);
  expect(records[0]?.ms.policy).toBeLessThan(records[0]?.ms.total ?? 0);
});

test("the wait for a place is queue, and neither policy nor another call's", async () => {
  const answers: (() => void)[] = [];
  const server: Handler = () => new Promise((resolve) => answers.push(() => resolve(textResult("done"))));
  const { records, handle } = recording(server);
  const both = [handle(), handle()];
  answers[0]?.();
  await both[0];
  answers[1]?.();
  await both[1];
  expect(records[0]?.ms.queue).toBe(0);
  expect(records[1]?.ms.queue).toBeGreaterThan(0);
});

test("a trace id is what the host sent, and nothing where that is no traceparent", async () => {
  const { records, handle } = recording(async () => textResult("hello"));
  const id = "0af7651916cd43dd8448eb211c80319c";
  const of = (traceparent: string) =>
    fakeCall({ record: callNotes(), params: { name: "files__read", _meta: { traceparent } } });
  await handle(of(`00-${id}-b7ad6b7169203331-01`));
  await handle(of("none"));
  expect(records.map(({ traceId }) => traceId)).toEqual([id, undefined]);
});

test("an operator cancels a call at its server: the host gets an error, the server a cancellation", async () => {
  let aborted = false;
  const { records, running, handle } = recording(
    (call) => new Promise(() => call.signal.addEventListener("abort", () => (aborted = true))),
  );
  const reply = handle();
  const [open] = running.list();
  expect(running.cancel(open?.id ?? 0)).toBe("cancelled");
  expect(await reply).toMatchObject({ refusal: "cancelled" });
  expect([aborted, records[0]?.outcome, running.list()]).toEqual([true, "cancelled", []]);
  expect(running.cancel(open?.id ?? 0)).toBe("unknown");
});

test("calls that end in any order leave the others in the list", async () => {
  const answers: (() => void)[] = [];
  const server: Handler = () => new Promise((resolve) => answers.push(() => resolve(textResult("done"))));
  const { running, handle } = recording(server, 3);
  const replies = [handle(), handle(), handle()];
  const ids = running.list().map(({ id }) => id);
  answers[0]?.();
  await replies[0];
  expect(new Set(running.list().map(({ id }) => id))).toEqual(new Set(ids.slice(1)));
  answers[2]?.();
  await replies[2];
  expect(running.list().map(({ id }) => id)).toEqual([ids[1]]);
  answers[1]?.();
  await replies[1];
  expect(running.list()).toEqual([]);
});

test("the last calls are kept up to a limit, the newest first, each as it was", () => {
  const recent = new RecentCalls();
  for (let id = 1; id <= MAX_RECENT_CALLS + 5; id += 1) recent.add(record({ id, rule: `r${id}` }));
  expect(recent.latest()).toHaveLength(MAX_RECENT_CALLS);
  expect(recent.latest(2)).toMatchObject([
    record({ id: MAX_RECENT_CALLS + 5, rule: `r${MAX_RECENT_CALLS + 5}` }),
    record({ id: MAX_RECENT_CALLS + 4, rule: `r${MAX_RECENT_CALLS + 4}` }),
  ]);
  expect(recent.latest(10, ({ id }) => id % 500 === 0).map(({ id }) => id)).toEqual([1000, 500]);
});

test("the history has the finished steps of an hour, with percentiles, and forgets older ones", () => {
  let now = 1_000_000_000_000;
  const history = new CallHistory(() => now);
  for (let ms = 1; ms <= 100; ms += 1) history.add(record({ outcome: ms > 90 ? "timed_out" : "ok" }, ms));
  expect(history.page().calls.at(-1)).toBe(0);
  now += 10_000;
  const page = history.page();
  expect([page.calls.at(-1), page.errors.at(-1), page.at.at(-1)]).toEqual([100, 10, 1_000_000_000_000]);
  expect(page.p50.at(-1)).toBeGreaterThan(45);
  expect(page.p50.at(-1)).toBeLessThan(56);
  expect(page.p95.at(-1)).toBeGreaterThan(85);
  expect(page.at).toHaveLength(360);
  now += 3_600_000;
  history.add(record());
  expect(history.page().calls.reduce((sum, calls) => sum + calls)).toBe(0);
});
