/** The program ends as it should: calls finished, streams closed, no process left behind, exit code 0. */
import "../features/admin/needed.js";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN, serve, serveAtOnce, writeConfig } from "../support/cardea.js";
import { type Fixture, startFixture } from "../support/fixture.js";
import { openLegacy, openModern, processWire } from "../support/peers/raw.js";
import { descendantsOf, isAlive, type Started, start } from "../support/processes.js";
import { sample } from "../support/sample.js";
import { until } from "../support/until.js";
import { realServers } from "./servers.js";

const folder = mkdtempSync(join(tmpdir(), "cardea-shutdown-"));
let old: Fixture;
let young: Fixture;
let config: { readonly mcpServers: Readonly<Record<string, object>> };
beforeAll(async () => {
  [old, young] = await Promise.all([startFixture("legacy", "stdio"), startFixture("modern", "stdio")]);
  const real = realServers(folder);
  for (const server of real) server.reset();
  const entries = real.map(({ name, place }) => [name, place] as const);
  config = {
    mcpServers: {
      ...Object.fromEntries(entries),
      old: { ...old.entry, required: true },
      young: young.entry,
    },
  };
});
/** The server has some seconds to appear, during which the other tests run. */
const missing = writeConfig({
  mcpServers: { gone: { command: "/nowhere/to/be/found", required: true } },
});
let withoutRequired: Started;
beforeAll(() => {
  const ports = ["--port", "0", "--admin-port", "0"];
  withoutRequired = start(process.execPath, [MAIN, "serve", "--config", missing.file, ...ports]);
});
afterAll(async () => {
  await withoutRequired.stop("SIGKILL");
  await missing.remove();
});

afterAll(async () => {
  await Promise.all([old.stop(), young.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** The ids of all child processes, as soon as there is at least one for every server. */
const childrenOf = (pid: number): Promise<readonly number[]> =>
  until("a process for every server", () => {
    const pids = descendantsOf(pid);
    return pids.length >= Object.keys(config.mcpServers).length && pids;
  });

// A drain lingers for seconds when readiness was polled.
describe.concurrent.each(sample("signals", ["SIGTERM", "SIGINT"] as const, 1))("on %s", (signal) => {
  test("the drain answers open calls, ends streams and child processes, and exits with 0", async () => {
    const gateway = await serve(config);
    // A polling load balancer sees the stop before the listener closes.
    expect((await fetch(`${gateway.admin}/readyz`)).status).toBe(200);
    const hosts = [await openLegacy({ url: gateway.url }), await openModern({ url: gateway.url })];
    for (const host of hosts) await host.follow({ toolsListChanged: true }, () => {});
    const children = await childrenOf(gateway.process.pid);

    const label = (era: string): string => `${signal} ${era}`;
    const answers = hosts.map((host) =>
      host.send(1, "tools/call", {
        name: "old__work",
        arguments: { label: label(host.era), steps: 10, stepMs: 50 },
      }),
    );
    await until("both calls at work", () =>
      hosts.every(({ era }) => old.ledger().some((entry) => entry.label === label(era))),
    );
    const exit = gateway.process.stop(signal);
    for (const [index, answer] of (await Promise.all(answers)).entries()) {
      const text = `${label(hosts[index]?.era ?? "")} took 10 steps`;
      expect(answer).toMatchObject({ result: { content: [{ text }] } });
    }
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(children.filter(isAlive)).toEqual([]);
    await gateway.stop();
  });
});

test.concurrent("during a drain with a running call both listeners report it, even without an earlier health check", async () => {
  const gateway = await serveAtOnce({ mcpServers: { old: old.entry } });
  await until("the server", async () => {
    const rows = (await (await fetch(`${gateway.admin}/api/v1/servers`)).json()) as { state: string }[];
    return rows[0]?.state === "ready";
  });
  const host = await openLegacy({ url: gateway.url });
  const letGo = join(folder, "let-go");
  const args = { label: "asked late", steps: 10_000, stepMs: 20, until: letGo };
  const answer = host.send(1, "tools/call", { name: "old__work", arguments: args });
  await until("the call at work", () => old.ledger().some(({ label }) => label === "asked late"));
  const exit = gateway.process.stop("SIGTERM");
  await gateway.process.says(/no new calls/);
  for (const origin of [gateway.admin, new URL(gateway.url).origin]) {
    expect((await fetch(`${origin}/readyz`)).status).toBe(503);
  }
  writeFileSync(letGo, "");
  expect(await answer).toMatchObject({ result: { content: [{ text: "asked late was let go" }] } });
  expect(await exit).toEqual({ code: 0, signal: null });
  await gateway.stop();
});

describe.concurrent("cardea stdio", () => {
  test("exits with 0 and without child processes when stdin ends, and writes only JSON-RPC to stdout", async () => {
    const { file, remove } = writeConfig(config);
    const wire = processWire({ command: process.execPath, args: [MAIN, "stdio", "--config", file] });
    await wire.exchange({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    });
    const children = await childrenOf(wire.process.pid);
    await wire.close();
    expect(await wire.process.exited).toEqual({ code: 0, signal: null });
    expect(children.filter(isAlive)).toEqual([]);
    expect(wire.junk).toEqual([]);
    await remove();
  });
});

describe.concurrent("a failed start", () => {
  test("exits with 78 for a config with an unknown key, and prints its line and column", async () => {
    const { file, remove } = writeConfig({ mcpServers: {}, listne: {} });
    const program = start(process.execPath, [MAIN, "serve", "--config", file]);
    expect(await program.exited).toEqual({ code: 78, signal: null });
    expect(program.stderr()).toMatch(/cardea\.json:\d+:\d+/);
    await remove();
  });

  test("exits with 2 for an unknown flag", async () => {
    const program = start(process.execPath, [MAIN, "serve", "--prot", "1"]);
    expect(await program.exited).toEqual({ code: 2, signal: null });
  });

  test("exits with 69 for a required server that is unavailable", async () => {
    expect(await withoutRequired.exited).toEqual({ code: 69, signal: null });
    expect(withoutRequired.stderr()).toContain("gone");
  });
});
