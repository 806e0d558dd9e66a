/** The file that is written: what a killed process left, who may write it, and what happens when it is gone. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { ChainFile } from "../../../src/features/audit/chain-file.js";
import { AuditWriter } from "../../../src/features/audit/writer.js";
import { until } from "../../support/until.js";
import { faultsOf, linesOf, NO_ROTATION, newLog, writeLines } from "./logs.js";

test("only its user may read the log and its head, even if others could before", async () => {
  const file = newLog();
  writeFileSync(file, "", { mode: 0o644 });
  await writeLines(file, 1);
  expect([file, `${file}.head`].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o600]);
});

test("an incomplete last line is saved aside, and the chain continues without a fault", async () => {
  const file = newLog();
  await writeLines(file, 3);
  appendFileSync(file, '{"seq":4,"at":"2027');
  expect(await faultsOf(file)).toEqual(["an unfinished last line of 19 bytes"]);
  const chain = await ChainFile.open({ file, rotate: NO_ROTATION });
  expect(chain.found).toBe("torn");
  chain.append([{ kind: "start" }]);
  await chain.close();
  expect(readFileSync(`${file}.torn-4`, "utf8")).toBe('{"seq":4,"at":"2027');
  expect(await faultsOf(file)).toEqual([]);
  expect(linesOf(file)).toHaveLength(4);
});

test("lines that a killed process wrote after its head are part of the chain", async () => {
  const file = newLog();
  await writeLines(file, 2);
  const head = readFileSync(`${file}.head`);
  await writeLines(file, 2);
  writeFileSync(`${file}.head`, head);
  expect(await faultsOf(file)).toEqual([]);
  const chain = await ChainFile.open({ file, rotate: NO_ROTATION });
  expect([chain.found, chain.position.seq]).toEqual(["whole", 4]);
  await chain.close();
});

test("a second process cannot write it; the lock of a dead process is taken over", async () => {
  const file = newLog();
  writeFileSync(`${file}.lock`, "1 not the start of process 1\n");
  await writeLines(file, 1);
  const startedAt = readFileSync(`/proc/${process.ppid}/stat`, "utf8");
  const start = startedAt.slice(startedAt.lastIndexOf(")") + 2).split(" ")[19];
  writeFileSync(`${file}.lock`, `${process.ppid} ${start}\n`);
  await expect(ChainFile.open({ file, rotate: NO_ROTATION })).rejects.toThrow(
    `process ${process.ppid} writes it already`,
  );
});

test.runIf(process.platform === "linux")("a zombie process holds no lock on the file", async () => {
  const file = newLog();
  // `cat` does not wait for children, as the shell before it would; its own stdin ends it.
  const parent = spawn("sh", ["-c", 'sleep 600 & echo "$!"; exec cat'], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [said] = (await once(parent.stdout, "data")) as [Buffer];
  const child = Number(String(said));
  parent.stdin.write("the shell is cat now");
  await once(parent.stdout, "data");
  const partsOf = (): readonly string[] => {
    const stat = readFileSync(`/proc/${child}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  };
  writeFileSync(`${file}.lock`, `${child} ${partsOf()[19]}\n`);
  process.kill(child, "SIGKILL");
  await until("a process that has ended", () => partsOf()[0] === "Z");
  const chain = await ChainFile.open({ file, rotate: NO_ROTATION });
  expect(chain.found).toBe("new");
  await chain.close();
});

test("a file is rotated at the configured age, also after a restart", async () => {
  const file = newLog();
  let now = Date.parse("2027-01-01T00:00:00Z");
  const open = () =>
    ChainFile.open({ file, rotate: { sizeBytes: 1e9, everyMs: 60_000 } }, () => new Date(now));
  const first = await open();
  first.append([{ kind: "start" }]);
  await first.close();
  now += 59_000;
  const second = await open();
  second.append([{ kind: "start" }]);
  expect([linesOf(file).length, second.isFull]).toEqual([2, false]);
  now += 1_000;
  expect(second.isFull).toBe(true);
  await second.rotate();
  second.append([{ kind: "start" }]);
  await second.close();
  expect(linesOf(file)).toHaveLength(1);
  expect(await faultsOf(file)).toEqual([]);
});

test("a line is in the file once it is added, and lines that arrive during a rotation follow in order", async () => {
  const file = newLog();
  const writer = new AuditWriter({ file, rotate: { sizeBytes: 1 } }, SILENT);
  await writer.open();
  expect(writer.add({ kind: "call", principal: "a" })).toBe(true);
  expect(linesOf(file)).toHaveLength(1);
  const written = ["b", "c"].map(async (principal) => writer.add({ kind: "call", principal }));
  expect(await Promise.all(written)).toEqual([true, true]);
  expect(linesOf(file).map((line) => (JSON.parse(line) as { principal: string }).principal)).toEqual([
    "b",
    "c",
  ]);
  await writer.close();
  expect(await faultsOf(file)).toEqual([]);
});

test("lines that cannot be written are buffered, and written once the log works again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const file = newLog();
  const away = `${dirname(file)}-away`;
  const writer = new AuditWriter({ file, rotate: NO_ROTATION }, SILENT);
  await writer.open();
  renameSync(dirname(file), away);
  rmSync(`${away}/${basename(file)}`);
  expect(await writer.add({ kind: "call", principal: "a" })).toBe(false);
  expect(writer.add({ kind: "call", principal: "b" })).toBe(false);
  expect(writer.problem).toContain("ENOENT");
  renameSync(away, dirname(file));
  vi.advanceTimersByTime(1_000);
  await until("the log is written again", () => writer.problem === undefined);
  await writer.close();
  expect(linesOf(file).map((line) => (JSON.parse(line) as { principal: string }).principal)).toEqual([
    "a",
    "b",
  ]);
});

test("a log that was deleted 2 ms ago is recreated, and verify reports the gap", async () => {
  const file = newLog();
  let now = 1_000;
  const writer = new AuditWriter({ file, rotate: NO_ROTATION }, SILENT, () => new Date(now));
  await writer.open();
  await writer.add({ kind: "call" });
  rmSync(file);
  now += 2;
  expect(await writer.add({ kind: "call" })).toBe(true);
  await writer.close();
  expect(await faultsOf(file)).toEqual(["line 2 follows 0: 1 missing before it"]);
});

test("a deleted log is recreated although the time of day was set back", async () => {
  const file = newLog();
  let now = 1_000;
  const writer = new AuditWriter({ file, rotate: NO_ROTATION }, SILENT, () => new Date(now));
  await writer.open();
  await writer.add({ kind: "call" });
  rmSync(file);
  now -= 500;
  expect(await writer.add({ kind: "call" })).toBe(true);
  await writer.close();
  expect(linesOf(file)).toHaveLength(1);
});
