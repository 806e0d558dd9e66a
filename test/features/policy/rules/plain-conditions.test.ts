import { describe, expect, test } from "vitest";
import { loadLibrary } from "../../../../src/features/policy/rules/cel.js";
import {
  type ConditionResult,
  ExpressionCompiler,
  type Facts,
} from "../../../../src/features/policy/rules/expression.js";
import { plainCondition } from "../../../../src/features/policy/rules/plain-conditions.js";
import { compilePattern } from "../../../../src/patterns/re2.js";
import { ExactNumber } from "../../../../src/wire/json.js";
import fc from "../../../support/fast-check.js";

const { cel } = loadLibrary();
const compiler = new ExpressionCompiler();
const plain = (text: string) => plainCondition(cel.parse(text).expr, compilePattern);

const facts = (args: unknown): Facts => ({
  ...{ tool: "db__query", server: "db", target: "db__query", args, request: {} },
  principal: { id: "ann", groups: ["dev", "ops"], claims: {} },
  annotations: { readOnlyHint: true, title: "é😀" },
});

/** Sentences about failures may differ. */
const kindOf = (answer: ConditionResult) => (typeof answer === "string" ? answer : "failed");

/** Only the library evaluates a conditional expression, here with the value of its condition. */
const byLibrary = (text: string, given: Facts) =>
  compiler.compile(`(${text}) ? true : false`).evaluate(given);

const words = ["a", "ab", "prod", "PROD", "é😀", "", "db__query", "ann", "ops"];
const word = fc.constantFrom(...words);
const literal = word.map((text) => JSON.stringify(text));
const member = fc.constantFrom(
  "args.x",
  "args['y']",
  "request.x",
  "annotations.readOnlyHint",
  "annotations.title",
);
const read = fc.oneof(member, fc.constantFrom("tool", "server", "target", "principal.id"));
const number = fc.constantFrom("0", "2", "-1", "7.5", "9007199254740993");
const comparison = fc.constantFrom("<", "<=", ">", ">=");

const simple = fc.oneof(
  fc.tuple(read, fc.constantFrom("==", "!="), literal).map((parts) => parts.join(" ")),
  fc.tuple(literal, fc.constantFrom("==", "!="), member).map((parts) => parts.join(" ")),
  fc
    .tuple(member, fc.constantFrom("==", "!="), fc.constantFrom("true", "false", "2", "7.5"))
    .map((parts) => parts.join(" ")),
  fc
    .tuple(read, fc.constantFrom("startsWith", "endsWith", "contains"), literal)
    .map(([of, name, part]) => `${of}.${name}(${part})`),
  fc
    .tuple(read, fc.constantFrom("(?i)prod", "^a", "b$", "["))
    .filter(([, pattern]) => pattern !== "[")
    .map(([of, pattern]) => `${of}.matches('${pattern}')`),
  fc.tuple(member, comparison, number).map((parts) => parts.join(" ")),
  fc.tuple(read, comparison, number).map(([of, than, size]) => `size(${of}) ${than} ${size}`),
  fc.tuple(member, comparison, number).map(([of, than, size]) => `${of}.size() ${than} ${size}`),
  fc.tuple(read, fc.array(literal, { maxLength: 3 })).map(([of, list]) => `${of} in [${list.join(", ")}]`),
  literal.map((group) => `${group} in principal.groups`),
  member,
);
const condition = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    simple,
    tie("any").map((inner) => `!(${inner})`),
    fc.tuple(tie("any"), fc.constantFrom("&&", "||"), tie("any")).map(([a, op, b]) => `(${a}) ${op} (${b})`),
  ),
})).any;

const value = fc.oneof(
  word,
  fc.constantFrom<unknown>(0, 2, 7.5, -1, 2 ** 53, true, false, null, [], ["a"], {}, { x: 1 }),
  fc.constantFrom<unknown>(new ExactNumber("9007199254740993"), "x".repeat(5000)),
);
const args = fc.oneof(
  { weight: 8, arbitrary: fc.dictionary(fc.constantFrom("x", "y", "X", "__proto__"), value) },
  { weight: 1, arbitrary: value },
);

describe("a condition that needs no library", () => {
  test("has the answer that the library gives", () => {
    fc.assert(
      fc.property(
        condition,
        args,
        fc.dictionary(fc.constantFrom("x", "z"), value),
        (text, given, request) => {
          const about = { ...facts(given), request };
          expect(kindOf(compiler.compile(text).evaluate(about))).toBe(kindOf(byLibrary(text, about)));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["args.env == 'prod'", true],
    ["'prod' != args['env']", false],
    ["args.env.matches('(?i)PROD') && size(args.env) <= 4", true],
    ["args.none.startsWith('x') || tool.endsWith('query')", true],
    ["args.n > 5 && args.n < 100", true],
    ["!('admin' in principal.groups)", true],
    ["principal.id in ['ann', 'bob']", true],
    ["annotations.readOnlyHint", true],
  ])("%s", (text, answer) => {
    expect(plain(text)?.(facts({ env: "prod", n: 7 }))).toBe(answer);
  });

  test.each([
    ["args.list.exists(x, x == 1)", { list: [1] }],
    ["args.a.b == 'x'", { a: { b: "x" } }],
    ["args.env == 'prod'", { env: ["prod"] }],
    ["args.env == 'prod'", ["prod"]],
    ["args.env.contains('prod')", { env: "x".repeat(5000) }],
    ["args.n > 5", { n: new ExactNumber("9007199254740993") }],
    ["args.n > 5", { n: "7" }],
    ["has(args.env)", { env: "prod" }],
  ])("is none: %s of %j", (text, given) => {
    expect(plain(text)?.(facts(given))).toBeUndefined();
  });
});
