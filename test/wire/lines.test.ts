import { expect, test } from "vitest";
import { LineSplitter } from "../../src/wire/lines.js";
import fc from "../support/fast-check.js";

function split(chunks: readonly Buffer[], limit?: number): { lines: string[]; tooLong: number } {
  const lines: string[] = [];
  let tooLong = 0;
  const splitter = new LineSplitter(
    { line: (bytes) => lines.push(bytes.toString("utf8")), tooLong: () => tooLong++ },
    limit,
  );
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return { lines, tooLong };
}

/** `bytes` cut at the given places, whichever they are. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

test("lines end with LF or CR LF, and the last one with the stream", () => {
  expect(split([Buffer.from("one\r\ntwo\nthree")]).lines).toEqual(["one", "two", "three"]);
});

test("empty lines are none", () => {
  expect(split([Buffer.from("\n\r\n\none\n\n")]).lines).toEqual(["one"]);
});

test("a byte order mark at the very beginning is not part of the first line", () => {
  const bom = Buffer.from([0xef, 0xbb, 0xbf]);
  const whole = Buffer.concat([bom, Buffer.from('{"a":1}\n'), bom, Buffer.from("x\n")]);
  expect(split([whole]).lines).toEqual(['{"a":1}', "\ufeffx"]);
  expect(split([...whole].map((byte) => Buffer.from([byte]))).lines).toEqual(['{"a":1}', "\ufeffx"]);
});

test("line and paragraph separators, form feeds and lone CRs do not end a line", () => {
  const line = "a\u2028b\u2029c\fd\re";
  expect(split([Buffer.from(`${line}\n`)]).lines).toEqual([line]);
});

test("a line over the limit is reported once and skipped, and the next one is read", () => {
  const input = Buffer.from(`short\n${"x".repeat(50)}\nnext\n`);
  for (let size = 1; size <= input.length; size++) {
    const chunks = Array.from({ length: Math.ceil(input.length / size) }, (_, i) =>
      input.subarray(i * size, (i + 1) * size),
    );
    expect(split(chunks, 10)).toEqual({ lines: ["short", "next"], tooLong: 1 });
  }
});

test("a line of exactly the limit is taken", () => {
  expect(split([Buffer.from("12345"), Buffer.from("67890\nx")], 10)).toEqual({
    lines: ["1234567890", "x"],
    tooLong: 0,
  });
});

test("a line without end does not use more memory than the limit", () => {
  const chunk = Buffer.alloc(1024 * 1024, 0x78);
  const before = process.memoryUsage().arrayBuffers;
  let tooLong = 0;
  const splitter = new LineSplitter({ line: () => {}, tooLong: () => tooLong++ }, 4 * 1024 * 1024);
  for (let i = 0; i < 500; i++) splitter.push(chunk);
  expect(tooLong).toBe(1);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
});

test("a line handed on is never written to again", () => {
  const kept: Buffer[] = [];
  const splitter = new LineSplitter({ line: (bytes) => kept.push(bytes), tooLong: () => {} });
  for (const text of ["on", "e\ntw", "o\nth", "ree\n"]) splitter.push(Buffer.from(text));
  expect(kept.map(String)).toEqual(["one", "two", "three"]);
});

test("however the bytes are cut, the lines are the same", () => {
  const line = fc.string({ unit: fc.constantFrom("a", "é", "世", "👩", "\u2028", '"', "\\", " ") });
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom("\n", "\r\n"), fc.array(fc.nat()), (lines, end, places) => {
      const bytes = Buffer.from(lines.map((text) => text + end).join(""));
      expect(split(cut(bytes, places)).lines).toEqual(lines.filter((text) => text !== ""));
    }),
  );
});

test("however bytes that are no text are cut, the lines are the same", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat()), (bytes, places) => {
      const whole = Buffer.from(bytes);
      expect(split(cut(whole, places), 20)).toEqual(split([whole], 20));
    }),
    { numRuns: 500 },
  );
});
