import { Counter, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { LabeledMetric } from "../../src/telemetry/labeled-metrics.js";
import fc from "../support/fast-check.js";

const labels = ["method", "server", "tool"] as const;
const buckets = [0.01, 1, 10];

/** Lines in any order, their labels too: no scraper minds. */
const series = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) =>
      line.replace(/\{(.*)\}/, (_, inside: string) =>
        [...inside.matchAll(/\w+="(?:[^"\\]|\\.)*"/g)].sort().join(),
      ),
    )
    .sort();

const value = fc.oneof(
  fc.constantFrom(0, 0.01, 0.010001, 1, 10, 11),
  fc.double({ min: 0, max: 20, noNaN: true }),
);
const name = fc.oneof(
  fc.constantFrom("a", 'quo"te', "back\\slash", "line\nbreak", ""),
  fc.string({ maxLength: 4 }),
);

test("the text is what prom-client would have written, whatever was counted under whatever labels", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, name, name, value), { maxLength: 20 }), async (all) => {
      const registry = new Registry();
      const settings = { help: "Some help.", registers: [registry], labelNames: labels };
      const counter = new Counter({ ...settings, name: "count" });
      const histogram = new Histogram({ ...settings, name: "time", buckets });
      const counted = new LabeledMetric({ name: "count", help: "Some help.", labels });
      const timed = new LabeledMetric({ name: "time", help: "Some help.", labels, buckets });
      for (const [method, server, tool, seconds] of all) {
        counter.inc({ method, server, tool });
        histogram.observe({ method, server, tool }, seconds);
        counted.add(method, server, tool);
        timed.add(method, server, tool, seconds);
      }
      expect(series(counted.text + timed.text)).toEqual(series(await registry.metrics()));
    }),
  );
});
