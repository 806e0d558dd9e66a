/** Rules, checks, approvals and caches evaluate exactly the numbers that the server receives. */
import { describe, expect, test } from "vitest";
import { ExpressionCompiler } from "../../src/policy/rules/expression.js";
import {
  canonicalDecimal,
  compareNumbers,
  isInteger,
  type JsonNumber,
  toBigInt,
} from "../../src/wire/decimal.js";
import { isSame, type JsonObject } from "../../src/wire/json.js";
import { canonicalText, parseJson } from "../../src/wire/json-text.js";
import { validated } from "../features/schema-checks/json-schema/support.js";
import fc from "../support/fast-check.js";
import { numberText } from "../support/number-texts.js";
import { clientOf, policyOf, toolCall } from "./support.js";

const compiler = new ExpressionCompiler();

const parsed = (text: string): JsonNumber => parseJson(text) as JsonNumber;

describe("a condition", () => {
  const principal = { id: "ann", groups: [], claims: {} };
  const facts = { tool: "t", server: "s", target: "t", principal, annotations: {}, request: {} };
  const ask = (expression: string, n: string) =>
    compiler.compile(expression).evaluate({ ...facts, args: parseJson(`{"n":${n},"list":[${n},"x"]}`) });

  test.each([
    ["args.n == 9007199254740993", "9007199254740993", "yes"],
    ["args.n == 9007199254740993", "9007199254740993.0", "yes"],
    ["args.n == 9007199254740993", "9007199254740992", "no"],
    ["args.n == 9007199254740993", "9007199254740994", "no"],
    ["args.n == 9007199254740992", "9007199254740993", "no"],
    ["args.n > 9007199254740992", "9007199254740993", "yes"],
    ["args.n in [9007199254740993]", "9007199254740993", "yes"],
    ["args.list.exists(x, x == 9007199254740993)", "9007199254740993", "yes"],
    ["args.n == -9223372036854775807 - 1", "-9223372036854775808", "yes"],
    ["args.n > 9223372036854775807", "9223372036854775808", "yes"],
    ["args.n >= 9007199254740993", "9007199254740992", "no"],
    ["args.n < 9007199254740993", "9007199254740992", "yes"],
    ["9007199254740993 > args.n", "9007199254740992", "yes"],
    ["args.n > 9007199254740993.5", "9007199254740994", "no"],
    ["args.n > 5", "1e400", "yes"],
    ["args.n < 5", "-1e400", "yes"],
    ["args.n == 1 && args.n + 1 == 2", "1.0", "yes"],
    ["args.n == 100000", "1E5", "yes"],
    ["args.n == 0", "-0.0", "yes"],
    ["args.n + 1 == 9007199254740994", "9007199254740993", "yes"],
    ["text(args).contains('9007199254740993')", "9007199254740993", "yes"],
  ])("%s of %s: %s", (expression, n, answer) => {
    expect(ask(expression, n)).toBe(answer);
  });
});

describe("a schema", () => {
  test.each([
    [{ type: "integer" }, "1.0", "fits"],
    [{ type: "integer" }, "1e2", "fits"],
    [{ type: "integer" }, "1e400", "fits"],
    [{ type: "integer" }, "1.50", "wrong"],
    [{ type: "integer" }, "1e-400", "wrong"],
    [{ type: "number" }, "9007199254740993", "fits"],
    [{ type: "object" }, "1.0", "wrong"],
    [{ type: "string" }, "1.0", "wrong"],
    [{ maximum: 9007199254740992 }, "9007199254740993", "wrong"],
    [{ maximum: 9007199254740992 }, "9007199254740992.0", "fits"],
    [{ exclusiveMinimum: 9007199254740992 }, "9007199254740993", "fits"],
    [{ exclusiveMinimum: 1 }, "1.0", "wrong"],
    [{ maximum: "1e400" }, "1e401", "wrong"],
    [{ maximum: "1e400" }, "1E400", "fits"],
    [{ minimum: "-1e400" }, "-1e401", "wrong"],
    [{ minimum: 0 }, "-1e-400", "wrong"],
    [{ multipleOf: 2 }, "9007199254740993", "wrong"],
    [{ multipleOf: 3 }, "9007199254740993", "fits"],
    [{ multipleOf: 0.01 }, "1.10", "fits"],
    [{ const: "9007199254740993" }, "9007199254740993", "fits"],
    [{ const: "9007199254740993" }, "9007199254740992", "wrong"],
    [{ const: 1 }, "1.0", "fits"],
    [{ const: "1.0" }, "1", "fits"],
    [{ enum: [1, "1e2"] }, "100", "fits"],
    [{ enum: [1, "1e2"] }, "1e3", "wrong"],
  ])("%j says of %s that it is %s", async (schema, value, expected) => {
    const exact = Object.fromEntries(
      Object.entries(schema).map(([key, given]) => {
        const read = (each: unknown) => (/^-?\d/.test(String(each)) ? parseJson(String(each)) : each);
        return [key, Array.isArray(given) ? given.map(read) : read(given)];
      }),
    );
    const said = await validated(exact, parseJson(value));
    expect(said === "fits" ? "fits" : "wrong", said).toBe(expected);
  });

  test("takes elements of equal worth for equal", async () => {
    expect(await validated({ uniqueItems: true }, parseJson("[1, 1.0]"))).toContain("no two equal");
    expect(await validated({ uniqueItems: true }, parseJson("[9007199254740992, 9007199254740993]"))).toBe(
      "fits",
    );
    expect(await validated({ uniqueItems: true }, parseJson("[1e400, 1e401]"))).toBe("fits");
  });
});

test("arguments whose numbers are written in different ways are different calls", () => {
  const texts = [
    "9007199254740992",
    "9007199254740993",
    "1",
    "1.0",
    "1e0",
    "1e400",
    "1e999",
    "null",
    "-0",
    "0",
  ];
  const keys = texts.map((text) => canonicalText(parseJson(`{"a":[${text}]}`)));
  expect(new Set(keys).size).toBe(texts.length);
  for (const one of texts) {
    for (const other of texts) {
      expect(isSame(parseJson(`[${one}]`), parseJson(`[${other}]`)), `${one} ${other}`).toBe(one === other);
    }
  }
});

test("an approval that is remembered holds for the very numbers it was given for, which are shown as they are", async () => {
  const { handle, calls } = policyOf({ rules: [{ effect: "approve", rememberMs: 60_000 }] });
  const client = clientOf({ capabilities: { elicitation: { form: {} } } });
  const call = (n: string) => toolCall("s", "t", parseJson(`{"n":${n}}`) as JsonObject, { client });
  const asked = await handle(call("9007199254740993"));
  if (asked.kind !== "input_required") throw new Error("nobody was asked");
  expect(JSON.stringify(asked.requests)).toContain('{\\"n\\":9007199254740993}');
  const inputResponses = { responses: { "cardea/approval": { action: "accept" } }, state: asked.state ?? {} };
  await handle({ ...call("9007199254740993"), inputResponses });
  expect((await handle(call("9007199254740993"))).kind).toBe("result");
  for (const other of ["9007199254740992", "9007199254740993.0", "1e400", "null"]) {
    expect((await handle(call(other))).kind, other).toBe("input_required");
  }
  expect(calls).toHaveLength(2);
});

test("numbers are compared by their worth", () => {
  fc.assert(
    fc.property(numberText(), numberText(), fc.nat({ max: 3 }), (a, b, zeros) => {
      const [one, two] = [parsed(a), parsed(b)];
      expect(Math.sign(compareNumbers(one, two)) + Math.sign(compareNumbers(two, one))).toBe(0);
      expect(compareNumbers(one, two) === 0).toBe(canonicalDecimal(one) === canonicalDecimal(two));
      // The same, written in another way.
      const [, size = "", power = "0"] = /^([^eE]*)(?:[eE](.*))?$/.exec(a) ?? [];
      const longer = `${size.includes(".") ? size : `${size}.0`}${"0".repeat(zeros)}e${Number(power)}`;
      expect(compareNumbers(one, parsed(longer))).toBe(0);
      expect(isInteger(one)).toBe(isInteger(parsed(longer)));
      const whole = toBigInt(one, 400);
      if (whole !== undefined) expect(compareNumbers(one, parsed(String(whole)))).toBe(0);
    }),
    { numRuns: 1000 },
  );
});
