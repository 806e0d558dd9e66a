import { createParser } from "eventsource-parser";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventPieces, formatComment, formatEvent, type SseEvent, SseReader } from "../../src/wire/sse.js";
import fc from "../support/fast-check.js";
import { stepsOf } from "../support/steps.js";

function read(chunks: readonly Buffer[], limit?: number) {
  const events: SseEvent[] = [];
  const retries: number[] = [];
  let tooLong = 0;
  const reader = new SseReader(
    {
      event: ({ id, event, data }) => events.push(clean(id, event, data.toString("utf8"))),
      retry: (ms) => retries.push(ms),
      tooLong: () => tooLong++,
    },
    limit,
  );
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return { events, retries, tooLong };
}

const clean = (id: string | undefined, event: string | undefined, data: string): SseEvent => ({
  ...(id !== undefined && { id }),
  ...(event !== undefined && { event }),
  data,
});

const STREAM = Buffer.from(
  '\ufeff: hello\nid: 1\nretry: 250\ndata:\n\nevent: message\r\nid: 2\r\ndata: {"text":"世界 👩‍💻"}\r\n\r\n' +
    ":\n\ndata: a\rdata: b\r\rdata\n\nunknown: x\ndata:  two spaces\n\n",
);

test("a stream split at every byte gives the same events", () => {
  const whole = read([STREAM]);
  expect(whole.retries).toEqual([250]);
  expect(whole.events).toEqual([
    { id: "1", data: "" },
    { id: "2", event: "message", data: '{"text":"世界 👩‍💻"}' },
    { data: "a\nb" },
    { data: "" },
    { data: " two spaces" },
  ]);
  for (let at = 0; at <= STREAM.length; at++) {
    expect(read([STREAM.subarray(0, at), STREAM.subarray(at)])).toEqual(whole);
  }
  expect(read([...STREAM].map((byte) => Buffer.from([byte])))).toEqual(whole);
});

test("an event that only the end of the stream ends is handed on", () => {
  expect(read([Buffer.from('data: {"a":1}')]).events).toEqual([{ data: '{"a":1}' }]);
});

test("an event over the limit is reported once, and nothing after it is read", () => {
  const { events, tooLong } = read(
    [
      Buffer.from("data: ok\n\n"),
      ...Array.from({ length: 50 }, () => Buffer.from("data: xxxxxxxxxx\n")),
      Buffer.from("\n"),
    ],
    100,
  );
  expect(events).toEqual([{ data: "ok" }]);
  expect(tooLong).toBe(1);
});

test("a large event in many chunks is read with some steps for each chunk, and copied twice at most", () => {
  const data = "x".repeat(8 * 1024 * 1024);
  const bytes = Buffer.from(`data: ${data}\n\n`);
  const chunks = Array.from({ length: Math.ceil(bytes.length / 1024) }, (_, i) =>
    bytes.subarray(i * 1024, (i + 1) * 1024),
  );
  const concat = vi.spyOn(Buffer, "concat");
  const allocated = vi.spyOn(Buffer, "allocUnsafeSlow");
  onTestFinished(() => void vi.restoreAllMocks());
  const steps = stepsOf(() => {
    expect(read(chunks).events[0]?.data).toHaveLength(data.length);
  });
  expect(steps).toBeLessThan(20 * chunks.length);
  // Room that doubles, which is four times the event in all, at most.
  expect(allocated.mock.calls.reduce((sum, [bytes]) => sum + bytes, 0)).toBeLessThan(4 * bytes.length);
  expect(concat).not.toHaveBeenCalled();
});

test("an event with an id and no data is handed on, one with neither is not", () => {
  expect(read([Buffer.from("id: 7\n\nevent: x\n\nretry: 1\n\nid: a\0b\n\nid\n\n")]).events).toEqual([
    { id: "7", data: "" },
    { id: "", data: "" },
  ]);
});

test("any bytes in any pieces are read as another parser reads them", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "\n",
      "\r",
      "\r\n",
      "\n\n",
      "data",
      "data:",
      "data: x",
      "event: e",
      "event:",
      "id: 1",
      "retry: 5",
    ),
    fc.constantFrom("retry: -5", ": c", ":", "dat", "datax: y", "é世👩", " ", "x", "\0", "\u2028"),
  );
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat()), (pieces, places) => {
      const text = pieces.join("");
      const bytes = Buffer.from(text);
      const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
      const chunks = [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
      const others: SseEvent[] = [];
      const retries: number[] = [];
      const other = createParser({
        onEvent: ({ id, event, data }) => others.push(clean(id, event, data)),
        onRetry: (ms) => retries.push(ms),
      });
      other.feed(text);
      // An LF to end a line that ended in CR is none of its own, so one more stands before it.
      other.feed("\n\n\n");
      const mine = read(chunks);
      expect(mine.events.filter(({ data, id }) => data !== "" || id === undefined)).toEqual(
        others.filter(({ data, id }) => data !== "" || id === undefined),
      );
      expect(mine.retries).toEqual(retries);
    }),
    { numRuns: 3000 },
  );
});

test.each([
  ["empty lines", "\n"],
  ["CRs", "\r"],
  ["a CR and many LFs", `\r${"\n".repeat(999)}`],
  ["fields that nobody knows", "x\n"],
  ["data without end", "data:\n"],
  ["ids", "id:1\n"],
  ["times", "retry:1\n"],
])("a megabyte of %s takes some steps a byte and little memory", (_, text) => {
  const chunk = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
  const chunks = Array.from({ length: 16 }, () => chunk);
  read(chunks);
  const memory = process.memoryUsage();
  const steps = stepsOf(() => {
    expect(read(chunks).tooLong).toBe(0);
  });
  expect(steps).toBeLessThan(20 * chunks.length * chunk.length);
  expect(process.memoryUsage().arrayBuffers - memory.arrayBuffers).toBeLessThan(8 * 1024 * 1024);
});

describe("what is written", () => {
  const line = fc.string({ unit: fc.constantFrom("a", ":", " ", "世", "\u2028", "\u0085", "{", '"') });
  const text = fc.array(line, { minLength: 1 }).map((lines) => lines.join("\n"));

  test("is read back, by this reader and by another one", () => {
    const event = fc.record(
      {
        id: line.filter((id) => id !== "" && !id.startsWith(" ")),
        event: fc.constantFrom("message", "endpoint"),
        data: text,
      },
      { requiredKeys: ["data"] },
    );
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const stream = events.map((one) => formatEvent(one) + formatComment("ping")).join("");
        expect(read([Buffer.from(stream)]).events).toEqual(events);
        const others: SseEvent[] = [];
        createParser({ onEvent: ({ id, event, data }) => others.push(clean(id, event, data)) }).feed(stream);
        expect(others).toEqual(events);
      }),
      { numRuns: 500 },
    );
  });

  test("has no field and no event that the caller did not ask for, whatever the data holds", () => {
    const hostile = "x\r\n\r\nevent: evil\rid: 9\n\ndata: {}\n\n";
    const { events } = read([Buffer.from(formatEvent({ data: hostile }))]);
    expect(events).toEqual([{ data: hostile.replaceAll("\r\n", "\n").replaceAll("\r", "\n") }]);
    expect(read([Buffer.from(formatComment(hostile))]).events).toEqual([]);
  });

  test.each(["a\nb", "a\rb", "a\0b"])("never is the id or the name %j", (value) => {
    expect(() => formatEvent({ id: value, data: "" })).toThrow(TypeError);
    expect(() => formatEvent({ event: value, data: "" })).toThrow(TypeError);
  });
});

test("an event in pieces is read as the same JSON as one in a string", () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.array(fc.nat(), { maxLength: 5 }),
      fc.constantFrom(0, 1, 2),
      (json, cuts, indent) => {
        const bytes = Buffer.from(JSON.stringify(JSON.parse(json), undefined, indent));
        const edges = [0, ...cuts.map((cut) => cut % bytes.length), bytes.length].sort((a, b) => a - b);
        const pieces = edges.slice(1).map((end, at) => bytes.subarray(edges[at], end));
        const written = eventPieces({ id: "7", event: "message" }, pieces);
        const { events } = read(written.map((piece) => Buffer.from(piece)));
        expect(events.map(({ data, ...rest }) => ({ ...rest, data: JSON.parse(data) }))).toEqual([
          { id: "7", event: "message", data: JSON.parse(json) },
        ]);
      },
    ),
  );
});
