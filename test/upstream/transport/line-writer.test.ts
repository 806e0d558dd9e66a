/** When lines are written to a pipe, and backpressure while its reader does not read. */
import { PassThrough, Writable } from "node:stream";
import { expect, test } from "vitest";
import { LineWriter } from "../../../src/upstream/transport/line-writer.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A pipe whose reader reads on demand. */
function pipe(highWaterMark = 100) {
  const writes: string[] = [];
  let read: (() => void) | undefined;
  const writable = new Writable({
    highWaterMark,
    write(chunk: Buffer, _encoding, done) {
      writes.push(chunk.toString("utf8"));
      read = done;
    },
  });
  return { writable, writes, read: () => read?.() };
}

test("lines written in one turn of the event loop leave at once", async () => {
  const { writable, writes } = pipe();
  const writer = new LineWriter(writable);
  for (const line of ["a", "b", "c"]) expect(writer.write(line)).toBe(true);
  expect(writes).toEqual([]);
  await turn();
  expect(writes).toEqual(["a\nb\nc\n"]);
});

test("nothing is written to a full pipe, and all of it in order after drain", async () => {
  const { writable, writes, read } = pipe(4);
  const writer = new LineWriter(writable);
  writer.write("first");
  await turn();
  for (const line of ["second", "third"]) writer.write(line);
  await turn();
  await turn();
  expect(writes).toEqual(["first\n"]);
  read();
  await turn();
  expect(writes).toEqual(["first\n", "second\nthird\n"]);
});

test("long lines leave one by one, each when the one before it was read", async () => {
  const { writable, writes, read } = pipe();
  const writer = new LineWriter(writable);
  const lines = ["a", "b", "c"].map((letter) => letter.repeat(1_000_000));
  for (const line of [...lines, "short"]) writer.write(line);
  await turn();
  expect(writes).toEqual([`${lines[0]}\n`]);
  for (const _ of lines) {
    read();
    await turn();
  }
  expect(writes).toEqual([`${lines[0]}\n`, `${lines[1]}\n`, `${lines[2]}\nshort\n`]);
});

test("the buffer is bounded", async () => {
  const { writable } = pipe(1);
  const writer = new LineWriter(writable, 10);
  expect(writer.write("gone")).toBe(true);
  await turn();
  expect(writer.write("12345678901")).toBe(true);
  expect(writer.write("x")).toBe(false);
});

test("flushing writes the buffer before the end of the pipe", async () => {
  const through = new PassThrough();
  const writer = new LineWriter(through);
  writer.write("last");
  writer.flush();
  through.end();
  expect(await through.setEncoding("utf8").toArray()).toEqual(["last\n"]);
});
