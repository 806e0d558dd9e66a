/** Evaluation of the conformance run: every regression through the gateway must be a failure. */
import { describe, expect, test } from "vitest";
import { evaluate, type Results, type Status, tally } from "./verdict.mjs";

const results = (checks: Readonly<Record<string, Status>>): Results =>
  new Map([["scenario", new Map(Object.entries(checks))]]);
const verdictOf = (direct: Status | undefined, through: Status | undefined): string | undefined => {
  const run = (status: Status | undefined): Results => results(status === undefined ? {} : { check: status });
  const { evaluated } = evaluate({ direct: run(direct), through: run(through) }, ["scenario"], []);
  return evaluated[0]?.verdict;
};

describe("a check", () => {
  test.each<[Status | undefined, Status | undefined, string]>([
    ["SUCCESS", "SUCCESS", "passed"],
    ["SUCCESS", "FAILURE", "failed"],
    ["SUCCESS", "WARNING", "failed"],
    ["SUCCESS", "SKIPPED", "failed"],
    ["SUCCESS", undefined, "failed"],
    ["SUCCESS", "INFO", "failed"],
    ["INFO", "INFO", "skipped"],
    ["FAILURE", "FAILURE", "as direct"],
    ["WARNING", "FAILURE", "as direct"],
    ["FAILURE", "SUCCESS", "passed"],
    ["SKIPPED", "SKIPPED", "skipped"],
    ["SKIPPED", "FAILURE", "failed"],
    [undefined, "SUCCESS", "passed"],
    [undefined, "FAILURE", "failed"],
  ])("%s directly and %s through the gateway has %s", (direct, through, verdict) => {
    expect(verdictOf(direct, through)).toBe(verdict);
  });
});

test("a scenario without any result has failed, even without a direct run", () => {
  const { evaluated } = evaluate({ direct: new Map(), through: new Map() }, ["scenario"], []);
  expect(tally(evaluated)).toMatchObject({ failed: 1, passed: 0 });
});

describe("an excuse", () => {
  const direct = results({ one: "SUCCESS", two: "SUCCESS" });
  const reason = "it cannot be done";

  test("for one check leaves the other checks of its scenario in force", () => {
    const through = results({ one: "FAILURE", two: "FAILURE" });
    const { evaluated } = evaluate({ direct, through }, ["scenario"], [{ check: "scenario:one", reason }]);
    expect(evaluated).toMatchObject([
      { check: "one", verdict: "excused", reason },
      { check: "two", verdict: "failed" },
    ]);
  });

  test("for a scenario covers all of its checks", () => {
    const through = results({ one: "FAILURE", two: "FAILURE" });
    const { evaluated } = evaluate({ direct, through }, ["scenario"], [{ check: "scenario", reason }]);
    expect(tally(evaluated)).toMatchObject({ excused: 2, failed: 0 });
  });

  test("without a failing check is stale", () => {
    const { stale } = evaluate(
      { direct, through: direct },
      ["scenario"],
      [{ check: "scenario:one", reason }],
    );
    expect(stale).toEqual(["scenario:one"]);
  });
});
