/** What `cardea audit verify` finds, and where. */
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { fakeShell } from "../../cli/fake-shell.js";
import { faultsOf, linesOf, newLog, writeLines } from "./logs.js";

async function verify(file: string) {
  const shell = fakeShell();
  const code = await runCommandLine(["audit", "verify", file, "--json"], shell);
  return { code, found: JSON.parse(shell.out()) as { faults: object[]; lines: number; to: number }[] };
}

test("an unchanged log verifies, also after several runs", async () => {
  const file = newLog();
  await writeLines(file, 3);
  await writeLines(file, 2);
  expect(await verify(file)).toMatchObject({ code: 0, found: [{ ok: true, lines: 5, from: 1, to: 5 }] });
});

test("a changed byte is detected with its line, number and offset", async () => {
  const file = newLog();
  await writeLines(file, 5);
  const lines = linesOf(file);
  const changed = lines.map((line, at) => (at === 2 ? line.replace('"p2"', '"p9"') : line));
  writeFileSync(file, `${changed.join("\n")}\n`);
  const byte = `${lines.slice(0, 2).join("\n")}\n`.length;
  const { code, found } = await verify(file);
  expect(code).toBe(1);
  expect(found[0]?.faults).toEqual([
    { file, line: 3, seq: 3, byte, reason: "its hash does not match its content" },
  ]);
});

test("a removed line is detected at the next line", async () => {
  const file = newLog();
  await writeLines(file, 5);
  const lines = linesOf(file);
  writeFileSync(file, `${[...lines.slice(0, 1), ...lines.slice(2)].join("\n")}\n`);
  expect((await verify(file)).found[0]?.faults).toMatchObject([
    { line: 2, seq: 3, reason: "line 3 follows 1: 1 missing before it" },
  ]);
});

test("a truncated end is detected, within a line and between two, also after the next start", async () => {
  const file = newLog();
  await writeLines(file, 5);
  const whole = readFileSync(file);
  writeFileSync(file, `${linesOf(file).slice(0, 3).join("\n")}\n`);
  expect(await faultsOf(file)).toEqual([
    "the log ends at line 3, and audit.jsonl.head says 5: 2 missing at the end",
  ]);
  writeFileSync(file, whole.subarray(0, whole.length - 10));
  expect(await faultsOf(file)).toHaveLength(2);
  writeFileSync(file, `${linesOf(file).slice(0, 3).join("\n")}\n`);
  await writeLines(file, 1);
  expect(await faultsOf(file)).toEqual(["line 6 follows 3: 2 missing before it"]);
});

test("a replaced log is detected, with as many lines or more", async () => {
  const [file, other] = [newLog(), newLog()];
  await writeLines(file, 3);
  await writeLines(other, 4);
  copyFileSync(other, file);
  expect(await faultsOf(file)).toEqual([
    "it is not the line that the head names: another log was put in its place",
  ]);
});

test("a missing log or head is a fault", async () => {
  const file = newLog();
  await writeLines(file, 3);
  const head = readFileSync(`${file}.head`);
  rmSync(`${file}.head`);
  expect(await faultsOf(file)).toHaveLength(1);
  writeFileSync(`${file}.head`, head);
  rmSync(file);
  expect(await faultsOf(file)).toEqual([
    "the log ends at line 0, and audit.jsonl.head says 3: 3 missing at the end",
  ]);
  const missing = newLog();
  expect(await runCommandLine(["audit", "verify", missing], fakeShell())).toBe(1);
});

test("the chain spans rotated files; files deleted by age are no fault, a removed one is", async () => {
  const file = newLog();
  await writeLines(file, 9, { sizeBytes: 1 });
  const rotated = () => readdirSync(dirname(file)).filter((name) => /\.\d{12}$/.test(name));
  expect(rotated()).toHaveLength(8);
  expect(await verify(file)).toMatchObject({ code: 0, found: [{ files: 9, lines: 9 }] });
  await writeLines(file, 1, { sizeBytes: 1, keep: 3 });
  expect(rotated()).toHaveLength(3);
  expect(await verify(file)).toMatchObject({ code: 0, found: [{ from: 7, to: 10 }] });
  rmSync(`${file}.000000000008`);
  expect(await faultsOf(file)).toEqual(["line 9 follows 7: 1 missing before it"]);
  rmSync(`${file}.000000000007`);
  expect(await faultsOf(file)).toEqual(["line 9 follows 6: 2 missing before it"]);
});

test("the files of all workers are verified", async () => {
  const file = newLog();
  await writeLines(file.replace(".jsonl", ".1.jsonl"), 2);
  await writeLines(file.replace(".jsonl", ".2.jsonl"), 3);
  expect(await verify(file)).toMatchObject({ code: 0, found: [{ lines: 2 }, { lines: 3 }] });
});

test("show prints the matching lines, and reports unreadable ones", async () => {
  const file = newLog();
  await writeLines(file, 3);
  const shell = fakeShell();
  expect(await runCommandLine(["audit", "show", file, "--as", "p1", "--since", "1h"], shell)).toBe(0);
  expect(shell.out().split("\n")).toHaveLength(3);
  expect(shell.out()).toMatch(/call {2,}p1 .*tools\/call .*ok/);
  const byVariables = fakeShell({ env: { CARDEA_AS: "p1", CARDEA_SINCE: "1h" } });
  expect(await runCommandLine(["audit", "show", file], byVariables)).toBe(0);
  expect(byVariables.out()).toBe(shell.out());
  const wrong = fakeShell();
  expect(await runCommandLine(["audit", "show", file, "--kind", "calls"], wrong)).toBe(2);
  expect(wrong.said.join()).toContain("--kind takes one of call, question");
});
