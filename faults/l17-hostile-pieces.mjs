/**
 * L17: texts, schemas and conditions that are made to keep native code busy (regular expressions, searches, comparisons):
 * what one of them takes. `npm test` counts the steps of JavaScript in the same pieces, and cannot see these.
 */
import { ms, row } from "./support/row.mjs";

/** What others may have to wait, in ms. */
const AIM = 50;
/** The same for a text of 200 KB in the log and for one condition, which are not done in turns. */
const LONG_AIM = 150;

const times = (length, make) => Array.from({ length }, (_, at) => make(at));
const A100K = "a".repeat(100_000);

/** Texts in which every start of a secret, or of a format, is found repeatedly. */
const REPEATED = [
  ...["eyJ-", "-----BEGIN PRIVATE KEY-----", "sk-", "a:b@", "://a:b", '"password":"', "password=", "--a "],
  ...["Bearer ", "s.", "%3D", "aaaa", "…", "\\", "'", "token: ", "://"],
];
const FORMATS = [
  ...["date-time", "date", "time", "email", "hostname", "ipv4", "ipv6"],
  ...["uri", "uri-reference", "uuid", "json-pointer"],
];
const PARTS = ["a", "1", "/", "~0", "a-", "a.", ":", "%41", "2024-", "1:", "é", "@"];

const SCHEMAS = {
  "a pattern that backtracks": [{ pattern: "^(a+)+$" }, `${"a".repeat(2_000_000)}!`],
  "elements of some megabytes that must differ": [
    { uniqueItems: true },
    times(40, () => "x".repeat(200_000)),
  ],
  "a long text that is counted": [{ maxLength: 10 }, "😀".repeat(1_500_000)],
  "many members for many patterns": [
    { patternProperties: Object.fromEntries(times(150, (at) => [`^[a-z]+${at}$`, true])) },
    Object.fromEntries(times(20_000, (at) => [`p${at}`, 1])),
  ],
};

const CONDITIONS = [
  ["args.l.exists(x, text(args).matches('(a|b)*c'))", { l: times(500, () => 1), t: A100K }],
  ["args.l.exists(x, args.t.contains(x))", { l: times(500, (at) => `${"a".repeat(100)}b${at}`), t: A100K }],
  ["args.l.exists(x, args.t.indexOf(x) == 5)", { l: times(50, () => `b${"a".repeat(2000)}`), t: A100K }],
  ["args.l.exists(x, args.t.split(x).size() == 0)", { l: times(50, () => "b"), t: A100K }],
  ["args.l.exists(x, args.t.lowerAscii() == x)", { l: times(500, () => "b"), t: A100K }],
  ["args.l.exists(x, args.t.size() == 3)", { l: times(500, () => "b"), t: " ".repeat(100_000) }],
  ["args.l.exists(x, args.t.trim() == x)", { l: times(500, () => "b"), t: " ".repeat(100_000) }],
  ["args.l.exists(x, host(args.t) == x)", { l: times(500, () => "b"), t: `http://${A100K}` }],
  ["args.l.exists(x, args.t + args.t == args.t)", { l: times(500, () => "b"), t: A100K }],
  ["args.l.exists(x, bytes(args.t) == bytes(args.t + x))", { l: times(500, () => "b"), t: A100K }],
  ["args.t.contains(args.s)", { t: "a".repeat(4_000_000), s: `b${"a".repeat(2_000_000)}` }],
  ["int(args.t) == 1", { t: "9".repeat(1_000_000) }],
  ["timestamp(args.t) == timestamp('2024-01-01T00:00:00Z')", { t: "2024".repeat(100_000) }],
  ["duration(args.t) == duration('1s')", { t: "1h".repeat(100_000) }],
];

/** Processor time (ms) of the better of two runs of `work`: a collection of garbage that was due says nothing of it. */
function processorTime(work) {
  const once = () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  return Math.min(once(), once());
}

await row("L17", "texts, schemas and conditions that keep native code busy", async (row) => {
  const { Redactor } = await import("../build/telemetry/redact.js");
  const { compile } = await import("../build/features/schema-checks/json-schema/compile.js");
  const { ExpressionCompiler } = await import("../build/features/policy/rules/expression.js");
  const { glob } = await import("../build/patterns/globs.js");

  /** The worst of several pieces, as one figure. */
  const worst = (what, aim, pieces) => {
    let most = { took: 0, name: "none" };
    for (const [name, work] of pieces) {
      const took = processorTime(work);
      if (took >= most.took) most = { took, name };
    }
    row.timing(what, `<= ${aim} ms`, `${ms(most.took)} (${most.name})`, most.took <= aim);
  };

  const redactor = new Redactor();
  redactor.add(["a".repeat(40), "ghp_abcdefghijklmnopqrstuvwxyz0123456789"]);
  const texts = REPEATED.map((part) => [JSON.stringify(part), part.repeat(200_000 / part.length)]);
  worst(
    "secrets looked for in 200 KB, one part repeated",
    LONG_AIM,
    texts.map(([name, text]) => [name, () => redactor.text(text)]),
  );
  const formats = await Promise.all(
    FORMATS.map(async (format) => [format, await compile({ type: "string", format })]),
  );
  worst(
    "a format held against a megabyte",
    AIM,
    formats.flatMap(([format, compiled]) => {
      const fits = (text) => compiled.validate(text);
      return PARTS.flatMap((part) => {
        const text = part.repeat(1_000_000 / part.length);
        const wholes = [text, `${text}!`, `a:${text} `, `${text}@${text}`];
        return wholes.map((whole) => [`${format}: ${part}`, () => fits(whole)]);
      });
    }),
  );
  const checks = [];
  for (const [name, [schema, value]] of Object.entries(SCHEMAS)) {
    const compiled = await compile(schema);
    checks.push([name, () => compiled.validate(value)]);
  }
  worst("a schema held against a value", AIM, checks);

  const facts = { tool: "db__query", server: "db", target: "db__query", annotations: {}, request: {} };
  const principal = { id: "ann", groups: [], claims: {} };
  const compiler = new ExpressionCompiler();
  const conditions = CONDITIONS.map(([source, args]) => {
    const compiled = compiler.compile(source);
    return [source, () => compiled.evaluate({ ...facts, principal, args })];
  });
  const answered = conditions.filter(([, ask]) => ask().failed === undefined);
  row.check("conditions that are too much work and are answered", 0, answered.length, answered.length === 0);
  worst("a condition that is too much work", AIM, conditions);

  const uri = `files+file:///${"abc/{x}?".repeat(500_000)}`;
  const globs = ["files+*", "*a*b*c*", "*abc/*x*?q", `${"a*".repeat(30)}b`].map((source) => [
    source,
    glob(source),
  ]);
  worst(
    "a glob held against a URI of 4 MB",
    AIM,
    globs.map(([source, matches]) => [source, () => matches(uri)]),
  );
});
