/** Locks of very many tools, of very long definitions, and on machines whose clock is wrong. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import type { Gateway } from "../../../src/gateway/gateway.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { fakeShell } from "../../cli/fake-shell.js";
import { search } from "./support.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-scale-"));
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ mcpServers: { rows: { command: "rows" } } }));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function run(words: readonly string[], tools: readonly JsonObject[]) {
  const definitions = { start: { command: "rows" }, name: "rows", tools, isMet: true };
  const page: Gateway["page"] = async () => ({ servers: [{ server: "rows", definitions }] });
  const shell = fakeShell({ cwd: folder, gateway: { page } });
  const code = await runCommandLine([...words], shell);
  return { code, out: shell.out() };
}

const lockText = () => readFileSync(join(folder, "cardea.lock"), "utf8");

test("of 10,000 tools, `lock --check` names the three that differ", async () => {
  const tools: readonly JsonObject[] = Array.from({ length: 10_000 }, (_, at) => ({
    ...search,
    name: `search_${at}`,
  }));
  expect(await run(["lock"], tools)).toMatchObject({ code: 0, out: "rows: new, with 10000 tools\n" });
  const changed = tools
    .with(17, { ...search, name: "search_17", description: "Another one." })
    .with(4711, { ...search, name: "look_up", description: "Looks something else up, by its name." });
  const { code, out } = await run(["lock", "--check", "--json"], changed);
  expect(code).toBe(3);
  const [{ differences }] = JSON.parse(out).servers;
  expect(differences.map(({ change, name }: JsonObject) => `${change} ${name}`)).toEqual([
    "new look_up",
    "changed search_17",
    "removed search_4711",
  ]);
});

test("a definition of 1 MiB is locked, and a letter of it that changes is shown by its line alone", async () => {
  const long = "A line of the description.\n".repeat(40_000);
  await run(["lock"], [{ ...search, description: long }]);
  expect(lockText().length).toBeGreaterThan(1_048_576);
  const at = long.indexOf("description", 500_000);
  const other = `${long.slice(0, at)}D${long.slice(at + 1)}`;
  const { code, out } = await run(["lock", "--check"], [{ ...search, description: other }]);
  expect(code).toBe(3);
  expect(
    out.split("\n").filter((line) => /^ +[-+] /.test(line) && line.includes("line of the")),
  ).toHaveLength(2);
});

test.each([new Date(0), new Date("2199-01-01")])(
  "a clock at %s changes nothing in the lock",
  async (date) => {
    await run(["lock"], [search]);
    const bytes = lockText();
    rmSync(join(folder, "cardea.lock"));
    vi.useFakeTimers({ toFake: ["Date"], now: date });
    try {
      await run(["lock"], [search]);
      expect(await run(["lock", "--check"], [search])).toMatchObject({ code: 0 });
    } finally {
      vi.useRealTimers();
    }
    expect(lockText()).toBe(bytes);
  },
);
