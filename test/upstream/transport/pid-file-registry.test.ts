/** Processes that outlive the gateway that started them, and how the next one knows them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { PidFileRegistry } from "../../../src/upstream/transport/pid-file-registry.js";
import { isAlive } from "../../support/processes.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A process in a group of its own, as servers are; gone after the test. */
async function server(script = ""): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(process.execPath, ["-e", `${script}; console.log(1); setInterval(() => {}, 1000)`], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout ?? child, "data");
  if (child.pid === undefined) throw new Error("not started");
  return Object.assign(child, { pid: child.pid });
}

/** A gateway that no longer runs. */
const DEAD = { pid: 4_194_303, began: "long ago" };
const ledger = (gateway?: typeof DEAD) =>
  new PidFileRegistry({ folder, log: SILENT, ...(gateway !== undefined && { gateway }) });
/** Writes a process down on behalf of the dead gateway. */
async function noted(pid: number, server: string, command: string): Promise<() => Promise<void>> {
  const dead = ledger(DEAD);
  const forget = dead.register(pid, server, command);
  await dead.orphans();
  return forget;
}
const files = (): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json"))
    .map((name) => join(folder, name));

test("a process of a dead gateway is an orphan, with the name of its server", async () => {
  const { pid } = await server();
  await noted(pid, "files", "npx");
  expect(await ledger().orphans()).toEqual([{ pid, server: "files", command: "npx" }]);
});

test("a process of a running gateway is not an orphan", async () => {
  const { pid } = await server();
  const own = ledger();
  own.register(pid, "files", "npx");
  await own.orphans();
  expect(await ledger(DEAD).orphans()).toEqual([]);
  expect(files()).toHaveLength(1);
});

test("the entry of an exited process is deleted by any scan", async () => {
  const [first, second] = [await server(), await server()];
  const forget = await noted(first.pid, "a", "x");
  await noted(second.pid, "b", "x");
  await forget();
  expect(await ledger().orphans()).toMatchObject([{ server: "b" }]);
  second.kill("SIGKILL");
  await once(second, "exit");
  expect(await ledger().orphans()).toEqual([]);
  expect(files()).toEqual([]);
});

test("a process that reuses the pid is neither listed nor ended", async () => {
  const { pid } = await server();
  await noted(pid, "files", "npx");
  const [file = ""] = files();
  const entry = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...entry, began: "1" }));
  expect(await ledger().orphans()).toEqual([]);
  await ledger().end({ pid, server: "files", command: "npx" });
  expect(isAlive(pid)).toBe(true);
});

test("an invalid entry is deleted", async () => {
  await noted(process.pid, "self", "node");
  const [file = ""] = files();
  for (const text of ["", "{", "[]", "null", '{"pid":1,"began":"x"}', '{"pid":"12"}']) {
    writeFileSync(file, text);
    expect(await ledger().orphans()).toEqual([]);
  }
  expect(files()).toEqual([]);
});

test("an orphan is killed with its children, even if it ignores SIGTERM", async () => {
  const { pid } = await server('process.on("SIGTERM", () => {})');
  await noted(pid, "files", "npx");
  const next = ledger();
  const [orphan] = await next.orphans();
  if (orphan === undefined) throw new Error("no orphan");
  await next.end(orphan);
  expect(isAlive(pid)).toBe(false);
  expect(await next.orphans()).toEqual([]);
});

test("if no pid file can be written, there is one log line", async () => {
  const said: string[] = [];
  const blocked = join(folder, "file");
  writeFileSync(blocked, "");
  const log = { ...SILENT, debug: (_fields: object, sentence: string) => said.push(sentence) };
  const deaf = new PidFileRegistry({ folder: blocked, log });
  await deaf.register(process.pid, "a", "x")();
  await deaf.register(process.pid, "b", "x")();
  expect(said).toHaveLength(1);
  expect(await deaf.orphans()).toEqual([]);
});

test("an entry that cannot be deleted causes no error, and the next scan retries", async () => {
  const { pid } = await server();
  const forget = await noted(pid, "files", "npx");
  const [file = ""] = files();
  rmSync(file);
  mkdirSync(join(file, "in the way"), { recursive: true });
  await forget();
  expect(await ledger().orphans()).toEqual([]);
});

test("concurrent reads share one", async () => {
  const { pid } = await server();
  await noted(pid, "files", "npx");
  const one = ledger();
  const looks = [one.orphans(), one.orphans()];
  expect(looks[0]).toBe(looks[1]);
  expect((await looks[0])?.length).toBe(1);
});
