/** What a condition may cost: whatever a caller sends, it ends soon, and against the caller. */
import { celEnv, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { describe, expect, test } from "vitest";
import { ExpressionCompiler, type Facts } from "../../../../src/features/policy/rules/expression.js";
import type { PolicyInput } from "../../../../src/features/policy/rules/policy-input.js";
import { compileRules, RuleSet } from "../../../../src/features/policy/rules/rule-set.js";
import { clientOf, routeTo, toolCall, wordOf } from "../../../support/calls.js";
import fc from "../../../support/fast-check.js";
import { sample } from "../../../support/sample.js";
import { stepsOf } from "../../../support/steps.js";
import { policyOf, rule } from "../support.js";

const compiler = new ExpressionCompiler();

const facts: Facts = {
  tool: "db__query",
  server: "db",
  target: "db__query",
  args: {},
  principal: { id: "ann", groups: [], claims: {} },
  annotations: {},
  request: {},
};
const ask = (expression: string, args: unknown) => compiler.compile(expression).evaluate({ ...facts, args });
const times = <T>(length: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length }, (_, at) => make(at));
const members = (count: number) => Object.fromEntries(times(count, (at) => [`k${at}`, at]));

const A100K = "a".repeat(100_000);
/** All of them fit into 100 to 300 KB. */
const HOSTILE: readonly (readonly [string, object])[] = [
  ["args.l.exists(x, text(args).matches('(a|b)*c'))", { l: times(500, () => 1), t: A100K }],
  ["args.l.exists(x, args.t.matches('[a-z]{3,30}@[a-z]+'))", { l: times(500, () => 1), t: A100K }],
  ["args.l.exists(x, args.t.contains(x))", { l: times(500, (at) => `${"a".repeat(100)}b${at}`), t: A100K }],
  ["args.l.exists(x, args.t.indexOf(x) == 5)", { l: times(50, () => `b${"a".repeat(2000)}`), t: A100K }],
  ["args.l.exists(x, args.t.split(x).size() == 0)", { l: times(50, () => "b"), t: A100K }],
  ["args.l.exists(x, args.t.lowerAscii() == x)", { l: times(500, () => "b"), t: A100K }],
  ["args.l.exists(x, args.t.trim() == x)", { l: times(500, () => "b"), t: " ".repeat(100_000) }],
  ["args.l.exists(x, size(args.t) == x)", { l: times(500, () => "b"), t: A100K }],
  ["args.l.exists(x, host(args.t) == x)", { l: times(500, () => "b"), t: `http://${A100K}` }],
  ["args.l.exists(x, args.t + args.t == args.t)", { l: times(500, () => "b"), t: A100K }],
  ["args.l.exists(x, bytes(args.t) == bytes(args.t + x))", { l: times(500, () => "b"), t: A100K }],
  ["args.l.exists(x, args.t < args.u)", { l: times(500, () => "b"), t: `${A100K}b`, u: `${A100K}a` }],
  ["args.l.exists(x, x in args.big)", { l: times(500, (at) => -at - 1), big: times(20_000, (at) => at) }],
  [
    "args.l.exists(x, args.a != args.b)",
    { l: times(500, () => 1), a: times(9_999, () => 1), b: times(9_999, () => 1) },
  ],
  ["args.l.exists(x, args.a != args.b)", { l: times(500, () => 1), a: members(5_000), b: members(5_000) }],
  ["args.l.exists(x, size(args.o) == x)", { l: times(500, () => -1), o: members(10_000) }],
  [
    "args.l.exists(x, args.o.exists(k, k + k + k + k == 'x' && x == 1))",
    { l: times(500, () => -1), o: members(30) },
  ],
  ["args.l.exists(x, args.l.map(y, y + x).size() == 0)", { l: times(30, () => A100K.slice(0, 9_000)) }],
  [
    "args.l.exists(x, args.l.filter(y, y == x) == args.m)",
    { l: times(30, () => times(900, () => 1)), m: [] },
  ],
  [
    "args.l.exists(x, timestamp(x).getHours('Europe/Berlin') == 99)",
    { l: times(500, () => "2024-01-01T00:00:00Z") },
  ],
  ["args.l.exists(x, text(args.l) == x)", { l: times(500, () => times(50, () => [])) }],
  ["args.l.exists(x, text(args).contains('z')) || true", { l: times(500, () => 1), t: A100K }],
];

describe("a condition that a caller makes take long", () => {
  /** Steps of V8. What native searches and comparisons take is in the fault row L17. */
  const MOST = 60_000_000;

  test.each(sample("hostile conditions", HOSTILE, 4))("is too much work: %s", (expression, args) => {
    const compiled = compiler.compile(expression);
    compiled.evaluate({ ...facts, args });
    const steps = stepsOf(() => {
      expect(compiled.evaluate({ ...facts, args })).toEqual({
        failed: expect.stringContaining("work budget"),
      });
    });
    expect(steps).toBeLessThan(MOST);
  });

  test.each(
    sample<readonly [string, Record<string, unknown>]>(
      "hostile operations",
      [
        ["int(args.t) == 1", { t: "9".repeat(1_000_000) }],
        ["uint(args.t) == 1u", { t: "9".repeat(1_000_000) }],
        ["timestamp(args.t) == timestamp('2024-01-01T00:00:00Z')", { t: "2024".repeat(100_000) }],
        ["duration(args.t) == duration('1s')", { t: "1h".repeat(100_000) }],
        ["args.t.contains(args.s)", { t: "a".repeat(4_000_000), s: `b${"a".repeat(2_000_000)}` }],
        ["args.t == args.s", { t: times(200_000, () => []), s: times(200_000, () => []) }],
      ],
      3,
    ),
  )("so is a single one: %s", (expression, args) => {
    const steps = stepsOf(() => {
      expect(ask(expression, args)).toEqual({ failed: expect.any(String) });
    });
    expect(steps).toBeLessThan(MOST);
  });

  test.each([
    ["args.t.contains(args.s)", { t: `${"ab".repeat(50_000)}abb`, s: `${"ab".repeat(20_000)}b` }, "yes"],
    ["args.t.contains(args.s)", { t: A100K, s: `b${"a".repeat(50_000)}` }, "no"],
    ["text(args).matches('AKIA[0-9A-Z]{16}|sk-[A-Za-z0-9]{20,}')", { t: A100K }, "no"],
    [
      "args.l.exists(x, args.m.exists(y, x + y == -1))",
      { l: times(500, (at) => at), m: times(30, (at) => at) },
      "no",
    ],
    ["args.a == args.b", { a: members(9_000), b: members(9_000) }, "yes"],
  ])("and others are answered: %s", (expression, args, answer) => {
    expect(ask(expression, args)).toBe(answer);
  });
});

describe("functions that count their work do what CEL's do", () => {
  const env = celEnv({ variables: {}, funcs: [...strings] });
  const cel = (expression: string): unknown => plan(env, parse(expression))();
  const quoted = (text: string): string => JSON.stringify(text);
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "A", " ", ",", "é", "😀"), maxLength: 12 });
  const json = fc.jsonValue({ maxDepth: 3 });

  test("on texts", () => {
    fc.assert(
      fc.property(letters, letters, (text, part) => {
        const [t, p] = [quoted(text), quoted(part)];
        for (const expression of [
          `${t}.contains(${p})`,
          `${t}.startsWith(${p})`,
          `${t}.endsWith(${p})`,
          `${t}.indexOf(${p}) == ${text.indexOf(part)}`,
          `${t}.lowerAscii() == ${p}`,
          `${t}.upperAscii() == ${p}`,
          `${t}.trim() == ${p}`,
          `${t}.split(${p}).size() == 2`,
          `${t}.split(${p}, 1).size() == 1`,
          `${t}.split(${p}, 0).size() == 0`,
          `${t}.split(${p}, -1).size() == 2`,
          `${t} < ${p}`,
          `${t} >= ${p}`,
          `${t} + ${p} == ${quoted(text + part)}`,
        ]) {
          expect([expression, ask(expression, {})]).toEqual([
            expression,
            cel(expression) === true ? "yes" : "no",
          ]);
        }
      }),
    );
  });

  test("contains finds what is there, however it repeats", () => {
    const part = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 33, maxLength: 60 });
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 400 });
    fc.assert(
      fc.property(text, part, fc.boolean(), (t, s, isThere) => {
        const whole = isThere ? `${t}${s}${t}` : t;
        expect(ask("args.t.contains(args.s)", { t: whole, s })).toBe(whole.includes(s) ? "yes" : "no");
      }),
    );
  });

  test("on values of all kinds, alike or not", () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
        expect(ask("args.a == args.b", { a, b })).toBe(same ? "yes" : "no");
        expect(ask("args.a != args.b", { a, b })).toBe(same ? "no" : "yes");
        expect(ask("args.a == args.b", { a, b: structuredClone(a) })).toBe("yes");
        expect(ask("args.a in args.l", { a, l: [b, structuredClone(a)] })).toBe("yes");
      }),
    );
  });
});

/** Members in one order, and no -0. */
const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .map(([key, inner]) => [key, sorted(inner)] as const)
            .sort(),
        )
      : value === 0
        ? 0
        : value;

describe("rules whose conditions are too expensive", () => {
  const [when, args] = HOSTILE[0] as (typeof HOSTILE)[0];
  const call = () => toolCall("db", "query", { ...args });

  test("deny the call, with the reason", async () => {
    const denying = policyOf({ rules: [{ effect: "deny", when: `!(${when})` }] });
    expect(wordOf(await denying.handle(call()))).toBe("denied");
    expect(denying.policy.decisions()).toMatchObject([{ failed: expect.stringContaining("work budget") }]);
    const allowing = policyOf({ default: "deny", rules: [{ effect: "allow", when: `!(${when})` }] });
    expect(wordOf(await allowing.handle(call()))).toBe("denied");
    expect(allowing.calls).toEqual([]);
  });

  test("end, however many there are, without blocking other calls", async () => {
    const rules = times(200, () => ({
      effect: "deny" as const,
      when: `args.heavy == true && ${MANY}`,
    }));
    const { rules: compiled } = compileRules(rules.map(rule));
    const book = new RuleSet(compiled, "allow");
    const matter = (given: object): PolicyInput => ({
      on: "call",
      route: routeTo("db", "query"),
      client: clientOf(),
      args: given,
    });
    const heavy = book.evaluateYielding(matter({ heavy: true, l: times(500, (at) => at) }));
    expect(heavy).toBeInstanceOf(Promise);
    // No other call is queued after it.
    expect(book.evaluateYielding(matter({}))).toEqual({ effect: "allow" });
    expect(await heavy).toMatchObject({ effect: "deny", failed: expect.stringContaining("together") });
  });

  const MANY = "args.l.map(x, x + 1).exists(y, y == -1)";
});
