/** Rules, checks, approvals and caches evaluate exactly the numbers that the server receives. */
import { describe, expect, test } from "vitest";
import { ExpressionCompiler } from "../../../src/features/policy/rules/expression.js";
import {
  canonicalDecimal,
  compareNumbers,
  isInteger,
  type JsonNumber,
  toBigInt,
} from "../../../src/wire/decimal.js";
import { isSame, type JsonObject } from "../../../src/wire/json.js";
import { canonicalText, parseJson } from "../../../src/wire/json-text.js";
import { clientOf, toolCall } from "../../support/calls.js";
import fc from "../../support/fast-check.js";
import { numberText } from "../../support/number-texts.js";
import { policyOf } from "./support.js";

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
