/** Folders for servers in a sandbox, calls of their tools, and whether this machine has sandboxes. */
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished, test } from "vitest";
import { Trial, thisMachine } from "../../../src/features/sandbox/trial.js";
import { inRepository } from "../../support/cardea.js";

const found = await new Trial(thisMachine(process.env)).found(false);
if ("obstacle" in found) console.warn(`NOT RUN: the tests with a sandbox: ${found.obstacle}`);

/** `test`, skipped on a machine without sandboxes. */
export const fencedTest = test.skipIf("obstacle" in found || process.platform !== "linux");

/** A folder with these files, by their paths in it. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "cardea-sandbox-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  copyFileSync(inRepository("test/features/sandbox/shell.mjs"), join(folder, "shell.mjs"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** A server with the tool `sh` that runs in the folder. */
export const shellIn = (cwd: string, sandbox: object, env: Readonly<Record<string, string>> = {}) => ({
  ...{ command: process.execPath, args: ["shell.mjs"], cwd, sandbox, env },
});

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "a-host", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** The text of what a tool answers. */
export async function callTool(url: string, name: string, args: object): Promise<string> {
  const headers = {
    ...HEADERS,
    ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name },
  };
  const params = { name, arguments: args, _meta: META };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const answer = await (await fetch(url, { method: "POST", headers, body })).text();
  const { result } = JSON.parse(answer) as { result?: { content?: readonly { text?: string }[] } };
  return result?.content?.[0]?.text ?? answer;
}
