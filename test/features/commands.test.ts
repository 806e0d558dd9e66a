/** Commands that read a config or the file of a host know the sections of features. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import { fakeShell } from "../cli/fake-shell.js";
import { testOf } from "../support/features.js";

function folderWith(name: string, content: object): string {
  const folder = mkdtempSync(join(tmpdir(), "cardea-features-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), JSON.stringify(content));
  return folder;
}

const CHECKED = { mcpServers: { a: { command: "node", checks: { arguments: true } } } };

testOf("audit")("check accepts the section of a feature", async () => {
  const cwd = folderWith("cardea.json", { mcpServers: {}, audit: { file: "audit.jsonl" } });
  const shell = fakeShell({ cwd });
  expect(await runCommandLine(["check", "--config", "cardea.json"], shell), shell.said.join("\n")).toBe(0);
});

testOf("schema-checks")("check keeps the section of a feature in a server of a host's file", async () => {
  const shell = fakeShell({ cwd: folderWith(".mcp.json", CHECKED) });
  expect(await runCommandLine(["check", "--config", ".mcp.json", "--strict"], shell)).toBe(0);
  expect(shell.out()).not.toContain("ignored");
});

testOf("schema-checks")("import keeps it, without a warning", async () => {
  const shell = fakeShell({ cwd: folderWith(".mcp.json", CHECKED) });
  expect(await runCommandLine(["import", ".mcp.json"], shell)).toBe(0);
  expect(shell.out()).toContain('"checks"');
  expect(shell.said.filter((line) => line.startsWith("warn"))).toEqual([]);
});
