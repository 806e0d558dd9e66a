import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import type { TokenReport } from "../../../src/features/token-counts/report.js";
import type { Gateway } from "../../../src/gateway/gateway.js";
import { fakeShell } from "../../cli/fake-shell.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-tokens-"));
  writeFileSync(join(folder, "cardea.json"), '{ "mcpServers": { "files": { "command": "x" } } }');
});
afterAll(() => rmSync(folder, { recursive: true }));

const tool = (
  server: string,
  target: string,
  tokens: number,
  calls?: number,
): TokenReport["tools"][number] => ({
  ...{ name: `${server}__${target}`, server, target, bytes: tokens * 4, tokens },
  ...(calls !== undefined && { calls }),
});

const REPORT: TokenReport = {
  endpoints: [
    {
      ...{ name: "", path: "/mcp", tools: 40, bytes: 51_234, tokens: 12_000, instructions: 600 },
      servers: [
        { server: "files", tools: 14, bytes: 12_000, tokens: 3_000, share: 0.25 },
        { server: "git\u001b[31m", tools: 26, bytes: 39_234, tokens: 8_400, share: 0.7 },
      ],
    },
    {
      ...{ name: "few", path: "/mcp/few", tools: 1, bytes: 400, tokens: 100, instructions: 0 },
      servers: [{ server: "files", tools: 1, bytes: 400, tokens: 100, share: 1 }],
    },
  ],
  tools: [tool("files", "read", 2_000), tool("files", "write", 1_000)],
  savings: [{ key: "schemas.compact", value: true, tokens: 700 }],
};

const CALLED: TokenReport = {
  ...REPORT,
  tools: [
    ...[tool("files", "read", 2_000, 7), tool("files", "write", 1_000, 0), tool("files", "move", 500, 0)],
    tool("git", "log", 900, 0),
    tool("many", "one", 100),
  ],
  counted: { since: "2026-11-20T00:00:00.000Z", seconds: 260_000 },
};

async function printed(report: TokenReport, args: readonly string[] = [], more: Partial<Gateway> = {}) {
  const asked: string[] = [];
  const page: Gateway["page"] = async (path, query) => {
    asked.push(`${path}?${query}`);
    return report;
  };
  const shell = fakeShell({ cwd: folder, gateway: { page, ...more } });
  const code = await runCommandLine(["tokens", ...args], shell);
  return { code, out: shell.out(), said: shell.said, asked };
}

test("each URL has a table, followed by the most expensive tools and the savings", async () => {
  expect((await printed(REPORT)).out).toBe(`/mcp: about 12,000 tokens (o200k)
  server          tools   bytes  tokens   share
  files              14  12,000   3,000  25.0 %
  git\\u001b[31m      26  39,234   8,400  70.0 %
  (instructions)                    600   5.0 %
  (all)              40  51,234  12,000

/mcp/few: about 100 tokens (o200k)
  server  tools  bytes  tokens    share
  files       1    400     100  100.0 %
  (all)       1    400     100

the most expensive tools:
  files__read   2,000
  files__write  1,000

Which tools are called is not known: no gateway runs with this config and counts them.

to spend less, in the config:
      700 tokens less: schemas.compact: true
`);
});

test("tools that were never called since the gateway started are proposed for tools.deny", async () => {
  const { out } = await printed(CALLED);
  expect(
    out.slice(out.indexOf("never")),
  ).toBe(`never called since the gateway started 3 d ago: 3 of 5 tools, 2,400 tokens
  files     2 of 3  1,500 tokens
  git       1 of 1    900 tokens
  many   not known

to spend less, in the config:
    1,500 tokens less: mcpServers.files.tools.deny: ["write","move"]
      900 tokens less: mcpServers.git.disabled: true
      700 tokens less: schemas.compact: true
`);
});

test("tools.deny is not proposed before a day of calls is counted", async () => {
  const { out } = await printed({ ...CALLED, counted: { since: "2026-11-20T00:00:00.000Z", seconds: 75 } });
  expect(out).toContain("never called since the gateway started 75 s ago: 3 of 5 tools");
  expect(out).toContain("(after a day of counted calls, tools.deny is proposed for them)");
  expect(out).not.toContain("tools.deny:");
});

test("--json has the same content, untruncated", async () => {
  const { out, code } = await printed(CALLED, ["--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    ...CALLED,
    savings: [
      { key: "mcpServers.files.tools.deny", value: ["write", "move"], tokens: 1_500 },
      { key: "mcpServers.git.disabled", value: true, tokens: 900 },
      ...REPORT.savings,
    ],
  });
});

test("--as reports another principal, and a missing server sets the exit code", async () => {
  expect((await printed(REPORT)).asked).toEqual(["tokens?"]);
  const missing: Gateway["missing"] = async () => [{ server: "git", ok: false, tools: 0, error: "away" }];
  const { asked, code, said } = await printed(REPORT, ["--as", "ci"], { missing });
  expect(asked).toEqual(["tokens?as=ci"]);
  expect(code).toBe(1);
  expect(said).toContain("warn: 1 server is missing: git (away); cardea doctor says what to do");
});

test("a gateway without tools has little to say", async () => {
  const empty = { name: "", path: "/mcp", tools: 0, bytes: 0, tokens: 0, instructions: 0, servers: [] };
  expect(
    (await printed({ endpoints: [empty], tools: [], savings: [] })).out,
  ).toBe(`/mcp: about 0 tokens (o200k)
  server  tools  bytes  tokens  share
  (all)       0      0       0

Which tools are called is not known: no gateway runs with this config and counts them.
`);
});

test("a saving in results says in how many, and of which tools", async () => {
  const inResults = {
    key: "mcpServers.crm.results.maxTokens",
    ...{ value: 5_000, tokens: 120_500, results: 1, of: "export" },
  };
  const report = { ...REPORT, savings: [...REPORT.savings, inResults] };
  expect((await printed(report)).out).toContain(
    "  120,500 tokens less in 1 result of export since the start: mcpServers.crm.results.maxTokens: 5000\n      700 tokens less:",
  );
  expect(JSON.parse((await printed(report, ["--json"])).out).savings).toContainEqual(inResults);
});
