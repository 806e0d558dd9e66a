/** The lines of a log after one of them, in batches, while the log is written and rotated. */
import { appendFileSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { ChainFile } from "../../../../src/features/audit/chain-file.js";
import { CHAIN_START, type ChainPosition } from "../../../../src/features/audit/line.js";
import { LogTail } from "../../../../src/features/audit/sink/log-tail.js";
import { linesOf, NO_ROTATION, newLog, writeLines } from "../logs.js";

/** All lines after `sent`, batch by batch, and the last one. */
async function allAfter(tail: LogTail, sent: ChainPosition = CHAIN_START) {
  const batches: number[] = [];
  const lines: string[] = [];
  let last = sent;
  for (;;) {
    const batch = await tail.after(last);
    if (batch === undefined) return { batches, lines, last };
    batches.push(batch.lines.length);
    lines.push(...batch.lines);
    last = batch.to;
  }
}

test("all lines come once and as they are written, 500 at a time", async () => {
  const file = newLog();
  await writeLines(file, 1_100);
  const { batches, lines, last } = await allAfter(new LogTail(file));
  expect(batches).toEqual([500, 500, 100]);
  expect(lines).toEqual(linesOf(file));
  expect(last.seq).toBe(1_100);
});

test("another tail continues after a line, and finds what is written later", async () => {
  const file = newLog();
  await writeLines(file, 3);
  const { last } = await allAfter(new LogTail(file));
  const tail = new LogTail(file);
  expect(await tail.after(last)).toBeUndefined();
  await writeLines(file, 2);
  expect(await tail.after(last)).toMatchObject({ from: 4, to: { seq: 5 } });
});

test("lines of rotated files come before those of the file", async () => {
  const file = newLog();
  const tail = new LogTail(file);
  await writeLines(file, 2);
  const first = await allAfter(tail);
  const chain = await ChainFile.open({ file, rotate: NO_ROTATION });
  chain.append([{ kind: "admin" }]);
  await chain.rotate();
  chain.append([{ kind: "admin" }, { kind: "admin" }]);
  await chain.rotate();
  chain.append([{ kind: "stop" }]);
  await chain.close();
  const rest = await allAfter(tail, first.last);
  expect(rest.batches).toEqual([1, 2, 1]);
  expect(rest.lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([3, 4, 5, 6]);
});

test("an incomplete last line waits for its end, and a line that is no JSON is a text", async () => {
  const file = newLog();
  await writeLines(file, 1);
  const tail = new LogTail(file);
  const { last } = await allAfter(tail);
  appendFileSync(file, "by hand");
  expect(await tail.after(last)).toBeUndefined();
  appendFileSync(file, "\n");
  const batch = await tail.after(last);
  expect(batch).toMatchObject({ lines: ['"by hand"'], from: 2, to: { seq: 1 } });
  const again = await tail.after(last);
  expect(again).toEqual(batch);
  const sent = again?.to ?? last;
  expect(await tail.after(sent)).toBeUndefined();
  await writeLines(file, 1);
  expect(await tail.after(sent)).toMatchObject({ from: 2, to: { seq: 2 } });
});

test("a large line comes alone", async () => {
  const file = newLog();
  const chain = await ChainFile.open({ file, rotate: NO_ROTATION });
  const large = { kind: "call", arguments: { text: "x".repeat(3_000_000) } } as const;
  chain.append([{ kind: "start" }, large, { kind: "stop" }]);
  await chain.close();
  expect((await allAfter(new LogTail(file))).batches).toEqual([1, 1, 1]);
});

test("another log instead of the one that was read is read from its beginning", async () => {
  const file = newLog();
  await writeLines(file, 3);
  const { last } = await allAfter(new LogTail(file));
  rmSync(file);
  rmSync(`${file}.head`);
  const chain = await ChainFile.open({ file, rotate: NO_ROTATION });
  for (let n = 0; n < 5; n += 1) chain.append([{ kind: "admin", target: `other ${n}` }]);
  await chain.close();
  const { lines } = await allAfter(new LogTail(file), last);
  expect(lines).toEqual(linesOf(file));
});
