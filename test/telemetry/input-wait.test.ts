/** How long calls wait for input. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Reply } from "../../src/core/call.js";
import { inputWait } from "../../src/telemetry/input-wait.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { Payload } from "../../src/wire/payload.js";
import { fakeCall } from "../support/fake-upstream.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const route = { upstream: "quiz", target: "start", exposed: "quiz__start", kind: "tools" } as const;
const asks = (method: string, state: string): Reply => ({
  kind: "input_required",
  requests: { q: { method, params: {} } },
  state,
});
const done: Reply = { kind: "result", result: Payload.ofObject({ content: [] }) };

test("the time between a question and its answer is counted for the server and the kind of question", async () => {
  const metrics = new Metrics({ version: "1", process: false });
  const replies = [asks("elicitation/create", "one"), done];
  const handle = inputWait(metrics)(async () => replies.shift() ?? done);
  await handle(fakeCall("tools/call", { name: "quiz__start" }, { route }));
  vi.advanceTimersByTime(4_000);
  await handle(
    fakeCall("tools/call", { name: "quiz__start" }, { route, answers: { responses: {}, state: "one" } }),
  );
  const text = await metrics.text();
  expect(text).toContain('cardea_input_wait_seconds_sum{server="quiz",kind="elicitation"} 4');
  expect(text).toContain('cardea_input_wait_seconds_count{server="quiz",kind="elicitation"} 1');
});

test("an answer to a question that was never asked here is not counted", async () => {
  const metrics = new Metrics({ version: "1", process: false });
  const handle = inputWait(metrics)(async () => done);
  await handle(
    fakeCall("tools/call", { name: "quiz__start" }, { route, answers: { responses: {}, state: "other" } }),
  );
  expect(await metrics.text()).not.toContain("cardea_input_wait_seconds_count{");
});
