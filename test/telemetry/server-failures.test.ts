/** When failures of calls to a server are a problem, and when they no longer are. */
import { expect, test } from "vitest";
import { ServerFailures } from "../../src/telemetry/server-failures.js";

const MINUTE = 60_000;

function atNoon() {
  let now = 12 * 60 * MINUTE;
  const failures = new ServerFailures(() => now);
  return {
    failures,
    pass: (ms: number) => {
      now += ms;
    },
    calls(...outcomes: readonly string[]) {
      for (const outcome of outcomes) failures.add({ server: "one", outcome, principal: "ann" });
    },
  };
}

test("a problem keeps its age while it lasts, and ends when the calls are well again", () => {
  const { failures, calls, pass } = atNoon();
  calls("ok", "ok", "tool_error", "ok", "upstream_closed", "tool_error");
  const { failed: first } = failures.of("one");
  expect(first).toMatchObject({ failed: 3, calls: 6, since: 12 * 60 * MINUTE });
  pass(5 * MINUTE);
  calls("tool_error", "ok", "ok", "ok", "ok");
  expect(failures.of("one").failed).toMatchObject({ failed: 4, calls: 11, since: first?.since });
  pass(11 * MINUTE);
  calls("ok", "ok", "ok", "ok", "ok", "ok", "ok");
  expect(failures.of("one")).toEqual({});
});

test("failures that are rare, too few or long ago are no problem", () => {
  const { failures, calls, pass } = atNoon();
  calls("tool_error", "tool_error");
  expect(failures.of("one")).toEqual({});
  pass(20 * MINUTE);
  calls("tool_error", ...Array.from({ length: 20 }, () => "ok"), "tool_error", "tool_error");
  expect(failures.of("one")).toEqual({});
  pass(20 * MINUTE);
  expect(failures.of("one")).toEqual({});
});

test("refusals of rules and limits, and cancelled calls, are not counted", () => {
  const { failures, calls } = atNoon();
  calls("denied", "rate_limited", "cancelled", "queue_full", "input_required", "timed_out");
  expect(failures.of("one")).toEqual({
    timedOut: { failed: 1, calls: 1, outcome: "timed_out", since: 12 * 60 * MINUTE },
  });
});

test("a restarted server has no failures", () => {
  const { failures, calls } = atNoon();
  calls("timed_out");
  failures.forget("one");
  expect(failures.of("one")).toEqual({});
});

test("persons who lack a sign-in are counted apart, a hundred for a server, until a call succeeds or a day has passed", () => {
  const { failures, calls, pass } = atNoon();
  const { signIns } = failures;
  calls("sign_in_required", "sign_in_required");
  pass(1);
  failures.add({ server: "one", outcome: "sign_in_required", principal: "bob" });
  expect(signIns.of("one")).toMatchObject([
    { principal: "ann", count: 2 },
    { principal: "bob", count: 1 },
  ]);
  calls("ok");
  expect(signIns.of("one")).toMatchObject([{ principal: "bob" }]);
  pass(24 * 60 * MINUTE);
  expect(signIns.of("one")).toEqual([]);
  for (let at = 0; at < 150; at += 1) signIns.refused("one", `person ${at}`);
  expect(signIns.of("one")).toHaveLength(100);
});
