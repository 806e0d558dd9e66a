/** There is never a second holder of a lock, and the lock of a dead process is taken over. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test, vi } from "vitest";
import { ProcessLocks } from "../../../src/features/vault/process-lock.js";
import { inRepository } from "../../support/cardea.js";
import { credential, stateFolder, vaultIn } from "./credentials.js";

interface Contender {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<unknown>;
}

function contender(folder: string, times: number): Contender {
  const program = inRepository("test/features/vault/lock-contender.mjs");
  const child = spawn(process.execPath, [program, folder, String(times)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  return { child, lines, ended: once(child, "close") };
}

test("processes never hold the same lock concurrently", async () => {
  const folder = stateFolder();
  const all = [1, 2, 3, 4].map(() => contender(folder, 60));
  await Promise.all(all.map(({ ended }) => ended));
  expect(all.flatMap(({ lines }) => lines.filter((line) => line === "twice"))).toEqual([]);
  expect(readFileSync(join(folder, "counter"), "utf8")).toBe("240");
  expect(readdirSync(folder)).toEqual(["counter"]);
});

test("kill -9 at any moment releases the lock to the others, one at a time", async () => {
  const folder = stateFolder();
  const survivors = [1, 2].map(() => contender(folder, 120));
  const victims: Contender[] = [];
  for (let at = 0; at < 8; at += 1) {
    const victim = contender(folder, 1_000_000);
    victims.push(victim);
    // Each one is killed after another number of its turns.
    await vi.waitFor(() => expect(victim.lines.length).toBeGreaterThan(at), { timeout: 60_000, interval: 1 });
    victim.child.kill("SIGKILL");
    await victim.ended;
  }
  await Promise.all(survivors.map(({ ended }) => ended));
  const lines = [...survivors, ...victims].map((one) => one.lines);
  expect(lines.flat().filter((line) => line === "twice")).toEqual([]);
  const counted = lines.flat().filter((line) => line === "counted").length;
  const count = Number(readFileSync(join(folder, "counter"), "utf8"));
  // A victim may be killed between its count and its word.
  expect(count).toBeGreaterThanOrEqual(counted);
  expect(count).toBeLessThanOrEqual(counted + victims.length);
});

test("the token of a dead process does not release the next holder's lock", async () => {
  const folder = stateFolder();
  const lock = join(folder, "record.lock");
  mkdirSync(lock);
  writeFileSync(join(lock, "0011223344556677"), JSON.stringify({ pid: 4_194_304, began: "1", place: "?" }));
  const locks = new ProcessLocks(folder, { staleMs: 0, renewMs: 1_000_000 });
  const held = await locks.acquire("record");
  const [token] = readdirSync(lock);
  expect(token).not.toBe("0011223344556677");
  await held.release();
  expect(existsSync(lock)).toBe(false);
});

test("a holder on another machine that renews its token keeps the lock; the waiting process names the holder", async () => {
  const folder = stateFolder();
  const lock = join(folder, "record.lock");
  mkdirSync(lock);
  writeFileSync(join(lock, "0011223344556677"), JSON.stringify({ pid: 77, began: "1", place: "elsewhere" }));
  const locks = new ProcessLocks(folder, { staleMs: 3_600_000, waitMs: 50 });
  await expect(locks.acquire("record")).rejects.toMatchObject({
    fault: "locked",
    message: expect.stringMatching(/^process 77 has held .*record\.lock for more than/),
  });
  expect(readdirSync(folder)).toEqual(["record.lock"]);
  expect(readdirSync(lock)).toEqual(["0011223344556677"]);
});

test("a running process keeps its lock, however long ago it renewed its token", async () => {
  const folder = stateFolder();
  const held = await new ProcessLocks(folder, { renewMs: 1_000_000 }).acquire("record");
  const other = new ProcessLocks(folder, { staleMs: 0, waitMs: 50 });
  await expect(other.acquire("record")).rejects.toMatchObject({ fault: "locked" });
  await held.release();
  await (await other.acquire("record")).release();
  expect(readdirSync(folder)).toEqual([]);
});

test("tasks on one record run sequentially, also after a failure; other records do not wait", async () => {
  const vault = await vaultIn(stateFolder());
  const events: string[] = [];
  const task = (name: string) => async () => {
    events.push(`${name} begins`);
    await vault.read("linear", "ann");
    await new Promise(setImmediate);
    events.push(`${name} ends`);
    if (name === "b") throw new Error("b fails");
  };
  const results = await Promise.allSettled(
    ["a", "b", "c"].map((name) => vault.locked("linear", "ann", task(name))),
  );
  expect(events).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  await vault.locked("linear", "ann", () =>
    vault.locked("linear", "bob", () => vault.write(credential({ principal: "bob" }))),
  );
});
