/** One process at a time writes an audit log, whichever process held its lock before. */
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { takeLock } from "../../../src/features/audit/lock.js";
import { inRepository } from "../../support/cardea.js";
import { start } from "../../support/processes.js";
import { newLog } from "./logs.js";

/** A process that takes and releases locks; each command resolves to its answer. */
function contender() {
  const { child, stop } = start(process.execPath, [
    inRepository("test/features/audit/support/lock-contender.mjs"),
  ]);
  onTestFinished(async () => void (await stop()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (command: string): Promise<string> => {
    child.stdin.write(`${command}\n`);
    return String((await lines.next()).value);
  };
}

test("of two processes that find the lock of one that has ended, one gets it", async () => {
  const contenders = [contender(), contender()];
  for (let round = 0; round < 40; round += 1) {
    const file = newLog();
    writeFileSync(`${file}.lock`, "1 not the start of process 1\n");
    const outcomes = await Promise.all(contenders.map((tell) => tell(file)));
    expect(outcomes.filter((outcome) => outcome === "held")).toHaveLength(1);
    expect(
      outcomes.filter((outcome) => /^refused: process \d+ writes it already/.test(outcome)),
    ).toHaveLength(1);
    await Promise.all(contenders.map((tell) => tell("release")));
    expect(existsSync(`${file}.lock`)).toBe(false);
  }
});

test("the lock of another container holds as long as it is renewed", async () => {
  const file = newLog();
  const lock = `${file}.lock`;
  writeFileSync(lock, `${process.pid} 12345 ${"0".repeat(16)}\n`);
  await expect(takeLock(file)).rejects.toThrow(
    `process ${process.pid} of another container writes it already`,
  );
  utimesSync(lock, 0, 0);
  const release = await takeLock(file);
  expect(readFileSync(lock, "utf8")).not.toContain("0".repeat(16));
  await release();
  expect(existsSync(lock)).toBe(false);
});

test("a release leaves the lock of another process alone", async () => {
  const file = newLog();
  const release = await takeLock(file);
  const other = `1 2 ${"0".repeat(16)}\n`;
  writeFileSync(`${file}.lock`, other);
  await release();
  expect(readFileSync(`${file}.lock`, "utf8")).toBe(other);
});
