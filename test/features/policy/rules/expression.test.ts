import { describe, expect, test } from "vitest";
import { ExpressionError } from "../../../../src/features/policy/rules/cel.js";
import { ExpressionCompiler, type Facts } from "../../../../src/features/policy/rules/expression.js";
import fc from "../../../support/fast-check.js";
import { stepsOf } from "../../../support/steps.js";

const compiler = new ExpressionCompiler();

const facts: Facts = {
  tool: "db__query",
  server: "db",
  target: "db__query",
  args: {
    env: "prod",
    n: 7,
    list: [{ y: 1 }, { y: 2 }],
    words: ["a", "b"],
    flag: true,
    text: "é😀",
    nil: null,
  },
  principal: { id: "ann", groups: ["dev", "ops"], claims: { scope: "read write" } },
  annotations: { readOnlyHint: true },
  request: { message: "Your PassWord?", url: "https://Evil.example:444/x" },
};

const ask = (expression: string, changes: Partial<Facts> = {}) =>
  compiler.compile(expression).evaluate({ ...facts, ...changes });

describe("an expression", () => {
  test.each([
    ["args.env == 'prod'", "yes"],
    ["args['env'] == 'test'", "no"],
    ["args.env in ['prod', 'stage']", "yes"],
    ["tool.startsWith('db__') && server == 'db' && target == tool", "yes"],
    ["request.message.matches('(?i)password')", "yes"],
    ["host(request.url) == 'evil.example'", "yes"],
    ["host(args.env) == ''", "yes"],
    ["principal.groups.exists(g, g == 'ops')", "yes"],
    ["'ops' in principal.groups", "yes"],
    ["principal.id == 'ann'", "yes"],
    ["principal.claims.scope.split(' ').exists(s, s == 'write')", "yes"],
    ["annotations.readOnlyHint", "yes"],
    ["args.list.all(x, x.y < 3)", "yes"],
    ["args.list.exists(x, args.words.exists(w, w == 'b' && x.y == 2))", "yes"],
    ["args.list[1].y == 2 && args.words[0] == 'a'", "yes"],
    ["args.list.map(x, x.y).exists(y, y == 2)", "yes"],
    ["args.words.filter(w, w != 'a').size() == 1", "yes"],
    ["args.n > 5 && args.n + 1 == 8 && args.n / 2 == 3.5 && int(args.n) == 7", "yes"],
    ["size(args.text) == 2 && size(args.words) == 2 && size(args) == 7", "yes"],
    ["args.exists(key, key == 'flag')", "yes"],
    ["'flag' in args && !('flags' in args)", "yes"],
    ["has(args.env) && !has(args.envs)", "yes"],
    ["text(args.list).contains('\"y\":2')", "yes"],
    ["args.flag ? args.env == 'prod' : false", "yes"],
    ["args.env == 'prod' || args.n.nonsense == 1", "yes"],
    ["tool.upperAscii().trim().lowerAscii() == tool", "yes"],
  ])("%s: %s", (expression, answer) => {
    expect(ask(expression)).toBe(answer);
  });

  test.each([
    ["args.gone == 'prod'", "no"],
    ["args.gone != 'prod'", "yes"],
    ["args.gone.deeper.still == 1", "no"],
    ["has(args.gone.deeper)", "no"],
    ["args.gone.startsWith('/etc')", "no"],
    ["!args.gone.startsWith('/home')", "yes"],
    ["args.gone.matches('x')", "no"],
    ["args.gone > 5", "no"],
    ["!(args.gone <= 5)", "yes"],
    ["args.gone in ['a']", "no"],
    ["'a' in args.gone", "no"],
    ["args.gone.exists(x, true)", "no"],
    ["args.gone.all(x, false)", "yes"],
    ["args.gone", "no"],
    ["!args.gone", "yes"],
    ["args.gone && true", "no"],
    ["args.flag && !args.gone", "yes"],
    ["args.list[99].y == 1", "no"],
    ["args.gone[0] == 1", "no"],
    ["size(args.gone) == 0", "yes"],
    ["args.nil == null && args.gone == null", "yes"],
  ])("of something that is not there, %s: %s", (expression, answer) => {
    expect(ask(expression)).toBe(answer);
  });

  test.each([
    "args.env",
    "args.env && true",
    "args.env.exists(x, true)",
    "args.env.deeper == 1",
    "args.n.startsWith('a')",
    "args.env > 5",
    "args.env + 1 == 2",
    "args.env ? true : false",
    "host('https://good.example\\\\@evil.example/') == 'good.example'",
  ])("%s cannot be evaluated", (expression) =>
    expect(ask(expression)).toEqual({ failed: expect.any(String) }),
  );
});

describe("an expression that can never work is refused at load time", () => {
  test.each([
    ["toool == 'a'", 'there is no variable "toool"'],
    ["principal.name == 'ann'", '"principal" has no member "name"; it has id, groups, claims'],
    ["tool.startWith('a')", 'there is no function "startWith"'],
    ["tool.foo == 1", 'a value of type string has no member "foo"'],
    ["tool + 1 == 'a'", '"+" does not take string and int'],
    ["args.env.startsWith(1)", '"startsWith" does not take dyn and int'],
    ["tool == 1", "values of type string and int are never equal"],
    ["tool", "the expression gives a value of type string, not true or false"],
    ["1 + 1", "the expression gives a value of type int, not true or false"],
    ["tool && true", "a value of type string is neither true nor false"],
    ["tool.exists(x, true)", "a value of type string is no list to iterate over"],
    ["args.words.exists(w, v == 'a')", 'there is no variable "v"'],
    ["args.a.matches('(')", "the pattern is not supported by RE2"],
    ["args.a.matches('(?=x)')", "the pattern is not supported by RE2"],
    ["args.a.matches(args.b)", "the pattern of matches() must be written out as a text"],
    ["args.l.exists(x, args.l.exists(y, args.l.exists(z, true)))", "nested more than 2 deep"],
    ["{'a': 1}.a == 1", "maps and messages cannot be written here"],
    ["args.a.replace('a', args.b) == ''", 'there is no function "replace"'],
    ["args.env =", "cannot be read at line 1, column"],
    ["", "cannot be read"],
    ["@member(args, 'a') == 1", "cannot be read"],
    [`${"(".repeat(2000)}true${")".repeat(2000)}`, "nested too deep"],
    [`tool == '${"a".repeat(4096)}'`, "longer than 4096 characters"],
  ])("%s: %s", (expression, message) => {
    expect(() => compiler.compile(expression)).toThrow(ExpressionError);
    expect(() => compiler.compile(expression)).toThrow(message);
  });
});

describe("JSON from outside is JSON, whatever it is dressed up as", () => {
  test.each<[string, unknown]>([
    ["a message of the library", { $typeName: "google.protobuf.StringValue", value: "dev" }],
    ["an Any", { $typeName: "google.protobuf.Any", typeUrl: "x", value: "dev" }],
    ["something with a constructor", { constructor: { name: "Object" } }],
    ["something with a prototype", JSON.parse('{"__proto__":{"x":"dev"}}')],
    ["a list", ["dev"]],
  ])("%s is not the text it could be read as", (_, env) => {
    expect(ask("args.env == 'dev'", { args: { env } })).toBe("no");
    expect(ask("args.env != 'dev'", { args: { env } })).toBe("yes");
  });

  test("what every object inherits is not there", () => {
    for (const key of ["toString", "constructor", "hasOwnProperty", "__proto__", "valueOf"]) {
      expect(ask(`has(args.${key})`, { args: {} })).toBe("no");
      expect(ask(`args['${key}'] == null`, { args: {} })).toBe("yes");
    }
  });

  test("a key of that name is a key like any other", () => {
    const args: unknown = JSON.parse('{"__proto__":"a","constructor":"b","$typeName":"c"}');
    expect(ask("args['__proto__'] == 'a' && args.constructor == 'b' && size(args) == 3", { args })).toBe(
      "yes",
    );
  });

  test("no JSON makes it throw", () => {
    const expression = compiler.compile(
      "args.a.b == 1 || args.a.exists(x, x == args.c) || args.d.matches('e')",
    );
    fc.assert(
      fc.property(fc.jsonValue(), (args) => {
        const answer = expression.evaluate({ ...facts, args: args ?? {} });
        expect(answer === "yes" || answer === "no" || "failed" in answer).toBe(true);
      }),
    );
  });
});

describe("no caller can hold the event loop", () => {
  /** Steps: some 30 ms of work. Without bounds it would be billions. */
  const MOST = 10_000_000;
  const long = Array.from({ length: 200_000 }, (_, at) => at);
  test.each<[string, string, unknown]>([
    ["a list that is too long is not walked through", "args.l.exists(x, x == -1)", { l: long }],
    ["nor is one inside another", "args.l.exists(x, args.m.exists(y, x == y))", { l: [1], m: long }],
    ["a text that is too long is not searched", "args.t.matches('(a+)+$')", { t: "a".repeat(1_000_000) }],
    ["nor written out", "text(args).contains('x')", { l: long }],
  ])("%s", (_, expression, args) => {
    const compiled = compiler.compile(expression);
    const steps = stepsOf(() => {
      expect(compiled.evaluate({ ...facts, args })).toEqual({ failed: expect.any(String) });
    });
    expect(steps).toBeLessThan(MOST);
  });

  test("the most expensive allowed expression stays within the budget", () => {
    const args = { l: long.slice(0, 500), m: long.slice(0, 30), t: "a".repeat(131_072) };
    for (const worst of [
      "args.l.exists(x, args.m.exists(y, x + y == -1))",
      "args.l.map(x, x + 1).exists(y, y == -1)",
      "args.t.matches('(a+)+b')",
    ]) {
      const compiled = compiler.compile(worst);
      compiled.evaluate({ ...facts, args });
      const steps = stepsOf(() => {
        expect(compiled.evaluate({ ...facts, args })).toBe("no");
      });
      expect(steps).toBeLessThan(MOST);
    }
  });
});

describe("an expression is rejected at load time", () => {
  const isRuledOut = (expression: string) => compiler.compile(expression).isRuledOut(facts);

  test.each([
    ["by who it is about", "principal.id == 'bob'", true],
    ["by its first part, whatever will be sent", "'admin' in principal.groups && args.env == 'prod'", true],
    [
      "by a later one, where none before it hangs on what is sent",
      "server == 'db' && tool == 'x' && args.n == 1",
      true,
    ],
    ["not where its parts are met", "'dev' in principal.groups && args.env == 'test'", false],
    [
      "not by a part behind one that hangs on what is sent",
      "args.gone.x == 1 && principal.id == 'bob'",
      false,
    ],
    ["not by one of two that may hold", "principal.id == 'bob' || args.env == 'test'", false],
    [
      "not where a part before it cannot be answered",
      "principal.claims.scope.x == 1 && server == 'x'",
      false,
    ],
  ])("%s", (_, expression, expected) => {
    expect(isRuledOut(expression)).toBe(expected);
  });

  test("only where its answer is no", () => {
    const parts = [
      ...["principal.id == 'ann'", "principal.id == 'bob'", "args.env == 'prod'", "args.env == 'test'"],
      ...["principal.claims.scope", "principal.claims.gone == null", "server == 'db'", "request.url == ''"],
      ...["principal.groups.x == 1", "args.env.x == 1", "annotations.readOnlyHint"],
    ];
    const expression = fc.letrec<{ whole: string; part: string }>((tie) => ({
      part: fc.constantFrom(...parts),
      whole: fc.oneof(
        { depthSize: "small" },
        tie("part"),
        fc
          .tuple(tie("whole"), fc.constantFrom("&&", "&&", "||"), tie("whole"))
          .map(([left, sign, right]) => `(${left} ${sign} ${right})`),
      ),
    })).whole;
    fc.assert(
      fc.property(expression, (text) => {
        fc.pre(compiles(text));
        const compiled = compiler.compile(text);
        if (compiled.isRuledOut(facts)) expect(compiled.evaluate(facts)).toBe("no");
      }),
      { numRuns: 500 },
    );
  });
});

function compiles(text: string): boolean {
  try {
    compiler.compile(text);
    return true;
  } catch {
    return false;
  }
}

describe("a member that a reader which ignores case takes for the one that is asked for", () => {
  const yes = "args.body.env == 'prod'";
  test.each([
    ["decides like it, where both readings agree", yes, { ENV: "dev" }, "no"],
    ["has no part in other names", yes, { ENVS: "prod", env_: "prod" }, "no"],
    ["is unclear where they differ", yes, { ENV: "prod" }, "failed"],
    ["is unclear beside it, too", yes, { env: "dev", Env: "prod" }, "failed"],
    ["is unclear where it would allow", "args.body.env == 'test'", { env: "test", eNv: "prod" }, "failed"],
    ["is found in full width", yes, { ｅnv: "prod" }, "failed"],
    ["is found with has()", "!has(args.body.dry)", { DRY: true }, "failed"],
    ["is found by an index", "args.body['env'] == 'prod'", { Env: "prod" }, "failed"],
    ["is found in lists", "args.body.l.exists(x, x.env == 'prod')", { l: [{ Env: "prod" }] }, "failed"],
    [
      "is found among many",
      yes,
      { ...Object.fromEntries([...Array(900).keys()].map((n) => [`e${n}`, n])), ENV: "prod" },
      "failed",
    ],
    ["is unclear twice", yes, { Env: "dev", ENV: "dev" }, "failed"],
    ["is unclear in two objects", "args.body.a.env == 'prod'", { a: { Env: "prod" }, A: { x: 1 } }, "failed"],
  ])("%s", (_, expression, body, expected) => {
    const answer = ask(expression, { args: { body } });
    expect(typeof answer === "string" ? answer : "failed").toBe(expected);
  });

  test("is no other argument: those are read by their exact names", () => {
    expect(ask("args.env == 'prod'", { args: { env: "test", Env: "prod" } })).toBe("no");
  });
});
