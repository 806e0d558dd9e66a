import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import type { Gateway } from "../../src/gateway/gateway.js";
import { testOf } from "../support/features.js";
import { fakeShell } from "./fake-shell.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-explain-"));
  writeFileSync(join(folder, "cardea.json"), '{ "mcpServers": { "db": { "command": "x" } } }');
});
afterAll(() => rmSync(folder, { recursive: true }));

type Explained = Awaited<ReturnType<Gateway["explain"]>>;

const DENIED: Explained = {
  server: "db",
  target: "drop_table",
  principal: { id: "ann", groups: ["dev"], scopes: [] },
  effect: "deny",
  rule: "no-prod",
  message: "production is read-only",
  visible: true,
  rules: [
    {
      rule: "git",
      effect: "allow",
      on: "call",
      matches: false,
      decides: false,
      why: "it applies to other tools, prompts, resources or servers",
    },
    {
      rule: "ops",
      effect: "allow",
      on: "call",
      matches: false,
      decides: false,
      why: "it applies to other principals",
    },
    {
      rule: "no-prod",
      effect: "deny",
      on: "call",
      matches: true,
      decides: true,
      why: "it matches by its tools, when",
    },
    {
      rule: "forms",
      effect: "deny",
      on: "elicitation",
      matches: false,
      decides: false,
      why: "it applies to other traffic",
    },
    { rule: "late", effect: "hide", on: "call", matches: true, decides: false, why: "it matches every call" },
  ],
  limits: [
    { limit: "few", per: "principal", waitMs: 5_400 },
    { limit: "two-at-once", per: "all", waitMs: 0, concurrency: 2, timeoutMs: 60_000 },
  ],
};

function shellWith(explained: Explained, env = {}) {
  const explain = vi.fn(async () => explained);
  return { explain, shell: fakeShell({ cwd: folder, env, gateway: { explain } }) };
}

test("explain prints every rule that matches the call, in order, and every limit that applies", async () => {
  const { shell, explain } = shellWith(DENIED);
  const words = [
    "explain",
    "db__drop",
    '{"env":"prod"}',
    "--as",
    "ann",
    "--groups",
    "dev, qa,",
    "--scopes",
    "s",
  ];
  expect(await runCommandLine(words, shell)).toBe(0);
  expect(explain).toHaveBeenCalledWith(
    {
      name: "db__drop",
      args: { env: "prod" },
      as: "ann",
      groups: ["dev", "qa"],
      scopes: ["s"],
    },
    expect.any(Function),
  );
  expect(shell.out()).toBe(`db__drop of server db (there drop_table), called by ann (groups dev):
  it is refused: rule "no-prod" decides ("production is read-only")

rules, in order; the first that matches decides:
     ops      allow  it applies to other principals
  -> no-prod  deny   it matches by its tools, when
     late     hide   it matches every call
  (2 more apply to other targets; --json lists all)

limits that apply:
     few          per principal  the next call may start in 6 s
     two-at-once  per all        a call may start now, 2 at a time, timeout after 60 s without a sign of life
`);
  expect(shell.events).toEqual(["stop at once"]);
});

testOf("tool-definitions")(
  "explain prints what is shortened in a tool's definition, and by which key",
  async () => {
    const shortened = {
      description: { from: 2_781, to: 298 },
      inputSchema: { from: 1_203, to: 811 },
      tokens: { from: 985, to: 310 },
    };
    const { shell } = shellWith(Object.assign({}, DENIED, { shortened }));
    await runCommandLine(["explain", "db__drop"], shell);
    expect(shell.out()).toContain(
      "  hosts see it shorter: description 2781 -> 298 characters by descriptions.maxLength, input schema 1203 -> 811 characters by schemas.compact, about 985 -> 310 tokens\n",
    );
  },
);

test("explain prints the default where no rule matches", async () => {
  const { shell } = shellWith({
    server: "db",
    target: "db__drop",
    principal: { id: "anonymous", groups: [], scopes: [] },
    effect: "allow",
    rule: "default",
    visible: true,
    rules: [],
    limits: [],
    badArguments: "env must be string",
  });
  expect(await runCommandLine(["explain", "db__drop"], shell)).toBe(0);
  expect(shell.out()).toBe(`db__drop of server db, called by anonymous:
  the arguments are refused before any rule: env must be string
  it is let through: no rule decides, so policy.default does

rules: none applies

limits: none applies
`);
});

test("explain prints JSON, with flags from the environment", async () => {
  const { shell, explain } = shellWith(DENIED, { CARDEA_JSON: "1", CARDEA_AS: "bob", CARDEA_GROUPS: "ops" });
  expect(await runCommandLine(["explain", "db__drop"], shell)).toBe(0);
  expect(explain).toHaveBeenCalledWith(
    {
      name: "db__drop",
      args: {},
      as: "bob",
      groups: ["ops"],
      scopes: [],
    },
    expect.any(Function),
  );
  expect(JSON.parse(shell.out())).toEqual(DENIED);
});

test("an unknown or hidden tool is reported, with an exit code", async () => {
  const { shell } = shellWith({ unknown: "for ann there is no tool x" });
  expect(await runCommandLine(["explain", "x", "--as", "ann"], shell)).toBe(1);
  expect(shell.out()).toBe("");
  expect(shell.said).toContain("error: for ann there is no tool x");
});

test.each([["{"], ["[1]"], ["7"]])(
  "arguments of %s are a usage error before any server starts",
  async (text) => {
    const { shell } = shellWith(DENIED);
    expect(await runCommandLine(["explain", "x", text], shell)).toBe(2);
    expect(shell.configs).toEqual([]);
  },
);

test.each([
  ["--after a__read b__get db__drop env=prod", { env: "prod" }],
  ["--after a__read b__get -- db__drop env=prod", { env: "prod" }],
  ["db__drop --after a__read b__get", {}],
  ["db__drop --after a__read --after b__get", {}],
])("explain %s supposes two calls before the one", async (words, args) => {
  const { shell, explain } = shellWith(DENIED);
  expect(await runCommandLine(["explain", ...words.split(" ")], shell)).toBe(0);
  expect(explain).toHaveBeenCalledWith(
    expect.objectContaining({ name: "db__drop", args, after: ["a__read", "b__get"] }),
    expect.any(Function),
  );
});

test("explain without a tool is wrong usage", async () => {
  const { shell, explain } = shellWith(DENIED);
  expect(await runCommandLine(["explain"], shell)).toBe(2);
  expect(explain).not.toHaveBeenCalled();
});
