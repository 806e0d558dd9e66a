import { expect, test } from "vitest";
import { MonotonicMetrics } from "../../src/workers/monotonic-metrics.js";

const calls = (count: number): string =>
  `# HELP calls_total Words.\n# TYPE calls_total counter\ncalls_total ${count}\n# HELP sessions Words.\n# TYPE sessions gauge\nsessions ${count}\n`;
const valuesOf = (text: string): readonly string[] => text.split("\n").filter((line) => /^[a-z]/.test(line));

test("the counts of a worker that died stay in the sum; what it held is gone", () => {
  const metrics = new MonotonicMetrics();
  const second = { worker: 2, pid: 12, text: calls(1) };
  metrics.merged([{ worker: 1, pid: 11, text: calls(5) }, second], []);
  expect(valuesOf(metrics.merged([second], []))).toEqual(["calls_total 6", "sessions 1"]);
  const next = { worker: 1, pid: 13, text: calls(2) };
  expect(valuesOf(metrics.merged([next, second], []))).toEqual(["calls_total 8", "sessions 3"]);
  // And once only, however often somebody looks.
  expect(valuesOf(metrics.merged([next, second], []))).toEqual(["calls_total 8", "sessions 3"]);
});

test("a worker that does not answer is taken at its last word, so that no count goes back", () => {
  const metrics = new MonotonicMetrics();
  metrics.merged([{ worker: 1, pid: 11, text: calls(5) }], []);
  const silent = { worker: 1, pid: 11, text: undefined };
  expect(valuesOf(metrics.merged([silent], []))).toEqual(["calls_total 5", "sessions 5"]);
  expect(valuesOf(metrics.merged([{ ...silent, text: calls(7) }], []))).toEqual([
    "calls_total 7",
    "sessions 7",
  ]);
});

test("one that never said anything says nothing, and others are added", () => {
  const metrics = new MonotonicMetrics();
  const told = [{ worker: 1, pid: 11, text: undefined }];
  expect(valuesOf(metrics.merged(told, [calls(2), calls(3)]))).toEqual(["calls_total 5", "sessions 5"]);
});
