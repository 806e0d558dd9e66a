/** The built program with an audit log: no answer without its line, whatever happens to the process or the log. */
import "../admin/needed.js";
import { readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { allMet, inRepository, type Serving, startServing, writeConfig } from "../../support/cardea.js";
import { until } from "../../support/until.js";
import { faultsOf, linesOf, newLog } from "./logs.js";

const SERVER = inRepository("test/support/scripted/stdio.mjs");
const SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/** A gateway with the log `file`. */
async function audited(file: string, audit: object = {}) {
  const servers = { every: { command: process.execPath, args: [SERVER, "modern", "/dev/null"] } };
  const config = writeConfig({ mcpServers: servers, audit: { file, required: true, ...audit } });
  const args = ["serve", "--config", config.file, "--port", "0", "--admin-port", "0"];
  const gateway = await startServing(args, config.remove);
  onTestFinished(async () => void (await gateway.end()));
  await until("the server", () => allMet(gateway.admin));
  return gateway;
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "host", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** The text of the tool's answer. @throws the error of the connection */
async function echo({ url }: Serving, message: string): Promise<string> {
  const name = "every__echo";
  const params = { name, arguments: { text: message, token: SECRET }, _meta: META };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const text = await response.text();
  const answer = JSON.parse(text) as { result: { content: [{ text: string }] } };
  return answer.result.content[0].text;
}

test("kill -9 under load loses no line of a call whose response the host has, and the chain continues", async () => {
  const file = newLog();
  const gateway = await audited(file, { arguments: "full" });
  const answered: string[] = [];
  let next = 0;
  const host = async (): Promise<void> => {
    for (;;) {
      const message = `m${next++}`;
      // The killed gateway ends the loop.
      const text = await echo(gateway, message).catch(() => undefined);
      if (text === undefined) return;
      answered.push(message);
      if (answered.length === 200) process.kill(gateway.process.pid, "SIGKILL");
    }
  };
  await Promise.all(Array.from({ length: 16 }, host));
  const written = new Set(
    linesOf(file).map((line) => (JSON.parse(line) as { arguments?: { text?: string } }).arguments?.text),
  );
  expect(answered.length).toBeGreaterThanOrEqual(200);
  expect(answered.filter((message) => !written.has(message))).toEqual([]);
  expect(readFileSync(file, "utf8")).not.toContain(SECRET);

  const again = await audited(file);
  await echo(again, "after");
  await again.stop();
  expect(await faultsOf(file)).toEqual([]);
  expect(JSON.parse(linesOf(file).at(-1) ?? "")).toMatchObject({ kind: "stop" });
});

test("calls are refused while the log cannot be written, /readyz reports it, and both recover", async () => {
  const file = newLog();
  const folder = dirname(file);
  const gateway = await audited(file);
  const ready = async () => (await fetch(new URL("/readyz", gateway.url))).text();
  expect(await echo(gateway, "before")).toBe("before");
  renameSync(folder, `${folder}-away`);
  rmSync(join(`${folder}-away`, "audit.jsonl"));
  expect(await echo(gateway, "lost")).toContain("the outcome is withheld");
  expect(await echo(gateway, "refused")).toContain("the audit log cannot be written, so no call is made");
  expect(await ready()).toContain("the audit log cannot be written: ENOENT");
  renameSync(`${folder}-away`, folder);
  await until("the log", async () => (await ready()).includes('"ready":true'));
  expect(await echo(gateway, "after")).toBe("after");
  const outcomes = linesOf(file).map((line) => (JSON.parse(line) as { outcome: string }).outcome);
  expect(outcomes).toEqual(["ok", "audit_unavailable", "ok"]);
});
