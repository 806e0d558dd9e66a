import { expect, test } from "vitest";
import { PAGE } from "../../../src/features/token-counts/admin.js";

test("the calls of a tool are those of all workers, counted since the last of them started", () => {
  const report = (calls: readonly (number | undefined)[], seconds: number) => ({
    endpoints: [{ name: "", tokens: 30 }],
    tools: calls.map((count, at) => ({
      name: `t${at}`,
      tokens: 10,
      ...(count !== undefined && { calls: count }),
    })),
    savings: [],
    counted: { since: `${seconds} s ago`, seconds },
  });
  const answers = [
    { worker: 1, body: report([2, 0, 1], 90) },
    { worker: 2, body: report([3, 0, undefined], 60) },
  ] as const;
  expect(PAGE.merge?.(answers, new URLSearchParams())).toEqual(report([5, 0, undefined], 60));
});

test("savings in results are those of all workers, savings in lists those of one", () => {
  const list = { key: "schemas.compact", value: true, tokens: 700 };
  const inResults = (tokens: number, results: number) => ({
    key: "mcpServers.crm.results.maxTokens",
    ...{ value: 5_000, tokens, results, of: "export" },
  });
  const report = (...savings: readonly object[]) => ({ endpoints: [], tools: [], savings });
  const answers = [
    { worker: 1, body: report(list) },
    { worker: 2, body: report(list, inResults(400, 2)) },
    { worker: 3, body: report(list, inResults(100, 1)) },
  ] as const;
  expect(PAGE.merge?.(answers, new URLSearchParams())).toMatchObject({ savings: [list, inResults(500, 3)] });
});
