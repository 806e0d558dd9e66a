/** Schemas and values that are made to block the event loop: no turn takes more than about 20 ms. */
import { describe, expect, test } from "vitest";
import type { Route } from "../../../src/core/call.js";
import { SILENT } from "../../../src/core/logger.js";
import { ToolSchemas } from "../../../src/features/schema-checks/schema-checks.js";
import { sample, TAKES_ALL } from "../../support/sample.js";
import { mostStepsInATurn } from "../../support/steps.js";
import { validated } from "./json-schema/support.js";

/**
 * The most steps in one turn of the event loop: some 20 ms of work. What native code takes, such as the regular
 * expressions of formats, is in the fault row L17.
 */
const TURN = 4_000_000;

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const named = <T>(count: number, make: (at: number) => T) =>
  Object.fromEntries(times(count, (at) => [`p${at}`, make(at)] as const));
const nested = (depth: number): unknown => {
  let value: unknown = {};
  for (let at = 0; at < depth; at += 1) value = { a: value };
  return value;
};
/** Goes all the way down before it fails. */
const needsX = { allOf: [{ properties: { a: { $ref: "#" } } }, { required: ["x"] }] };

const CASES: Readonly<Record<string, readonly [schema: unknown, value: unknown]>> = {
  "a pattern that backtracks": [{ pattern: "^(a+)+$" }, `${"a".repeat(5_000)}!`],
  "the same on a long text": [{ pattern: "^(a+)+$" }, `${"a".repeat(2_000_000)}!`],
  "a pattern with many optional parts": [{ pattern: `^(?:a?){300}a{300}$` }, "a".repeat(400)],
  "a pattern over all letters": [{ pattern: "^(?:\\pL|\\pN){900}$" }, "é".repeat(1_000)],
  "many patterns, each as large as it may be": [
    { allOf: times(200, (at) => ({ pattern: `^(?:\\pL{1,30}x){1,3${at % 10}}${at}$` })) },
    "é".repeat(500),
  ],
  "patterns whose repeats are inside each other": [
    { allOf: times(100, (at) => ({ pattern: `((((a{1,9}){1,9}b{1,9}){1,9}c){1,9}d){1,${at}}` })) },
    "a",
  ],
  "many patterns for many members": [
    {
      patternProperties: Object.fromEntries(times(150, (at) => [`^[a-z]+${at}$`, true])),
      additionalProperties: false,
    },
    named(20_000, () => 1),
  ],
  "alternatives that double at each level": [{ anyOf: [needsX, needsX] }, nested(60)],
  "the same without a value to go down": [
    {
      $ref: "#/$defs/d0",
      $defs: {
        ...Object.fromEntries(
          times(60, (at) => [
            `d${at}`,
            { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
          ]),
        ),
        d60: true,
      },
    },
    1,
  ],
  "a reference to itself": [{ $ref: "#" }, 1],
  "a circle of alternatives": [{ anyOf: [{ not: { $ref: "#" } }, { $ref: "#" }] }, 1],
  "a schema of 3,000 levels": [
    times(3_000, () => 0).reduce<object>((inner) => ({ properties: { a: inner } }), {}),
    {},
  ],
  "a schema of 100,000 parts": [{ properties: named(100_000, () => ({ type: "string" })) }, {}],
  "a schema of as many parts as it may have": [
    { properties: named(6_000, () => ({ type: "string", minLength: 1 })) },
    named(6_000, () => ""),
  ],
  "elements that must differ": [{ uniqueItems: true }, times(20_000, (at) => ({ a: 1, b: [at] }))],
  "elements that must differ, of some megabytes": [
    { uniqueItems: true },
    times(40, () => "x".repeat(200_000)),
  ],
  "very many values that are allowed": [
    { items: { enum: times(2_000, (at) => ({ a: { b: { c: { d: at } } } })) } },
    times(20_000, () => ({ a: { b: { c: { d: -1 } } } })),
  ],
  "one of a thousand alternatives for each of many": [
    { items: { oneOf: times(1_000, (at) => ({ const: at })) } },
    times(50_000, () => 7),
  ],
  "a search in a long list": [
    { contains: { contains: { const: 1 } } },
    times(1_000, () => times(1_000, () => 0)),
  ],
  "members that nobody has looked at": [
    {
      anyOf: times(100, (at) => ({ properties: { [`p${at}`]: true } })),
      unevaluatedProperties: { type: "string" },
    },
    named(20_000, () => "x"),
  ],
  "a value of 100,000 levels": [{ properties: { a: { $ref: "#" } } }, nested(100_000)],
  "equal values of 100,000 levels": [{ enum: [nested(20)] }, nested(100_000)],
  "a long text that is counted": [{ maxLength: 10 }, "😀".repeat(1_500_000)],
  "names of many members": [{ propertyNames: { pattern: "^[a-z]+$" } }, named(50_000, () => 1)],
};

describe("other calls do not wait for", () => {
  test.each(sample("hostile schemas", Object.entries(CASES), 8))("%s", async (_, [schema, value]) => {
    let result = "";
    const held = await mostStepsInATurn(async () => {
      result = await validated(schema, value);
    });
    expect(result).not.toBe("");
    expect(held).toBeLessThan(TURN);
  });
});

/** The most steps in one turn when this number of servers answer at once; every check is cancelled. */
async function heldBy(servers: number): Promise<number> {
  const outputSchema = { anyOf: [needsX, needsX] };
  const value = nested(60);
  const outcomes: unknown[] = [];
  const held = await mostStepsInATurn(async () => {
    const schemas = new ToolSchemas(SILENT);
    const checks = times(servers, (at) => {
      const item = { name: "t", outputSchema: { ...outputSchema, $comment: String(at) } };
      const route: Route = { upstream: `s${at}`, target: "t", exposed: "t", kind: "tools", item };
      return schemas.validate(route, "outputSchema", value);
    });
    for (const mismatch of await Promise.all(checks)) outcomes.push(mismatch?.outcome);
  });
  expect(outcomes).toEqual(times(servers, () => "too_large"));
  return held;
}

test("other calls do not wait for many hostile servers with concurrent responses", async () => {
  const one = await heldBy(1);
  expect(await heldBy(TAKES_ALL ? 100 : 25)).toBeLessThan(1.5 * one);
});
