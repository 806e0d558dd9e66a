/** Readers that do not keep up, and logs that do not grow. */
import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { EventLog, type LoggedEvent, type LostResponse } from "../../../src/downstream/legacy/event-log.js";
import { SseConnection } from "../../../src/downstream/legacy/event-stream.js";
import { fakeTime } from "../../support/fake-time.js";
import fc from "../../support/fast-check.js";
import { unread } from "../../support/unread.js";

fakeTime();

class FakeResponse extends PassThrough {
  constructor() {
    super({ highWaterMark: 16 * 1024 });
  }
  writeHead(): this {
    return this;
  }
  flushHeaders(): void {}
}

function connection() {
  const response = new FakeResponse();
  const endings: string[] = [];
  const limits = { keepAliveMs: 15_000, maxWaitingBytes: 1024 * 1024, stallMs: 30_000 };
  const open = new SseConnection(
    response as unknown as ServerResponse,
    limits,
    (why) => void endings.push(why),
  );
  return { response, open, endings };
}

const KIB = "x".repeat(1024);

describe("an event stream", () => {
  test("that is not read is cut when more waits than the budget", () => {
    const { response, open, endings } = connection();
    let written = 0;
    while (open.isOpen && written < 5000) {
      open.write(KIB);
      written += 1;
    }
    expect(endings).toEqual(["over_budget"]);
    expect(response.destroyed).toBe(true);
    expect(written).toBeLessThan(1100);
  });

  test("takes one event that is bigger than the budget, or it could never be delivered", async () => {
    const { response, open, endings } = connection();
    open.write("x".repeat(5 * 1024 * 1024));
    expect(endings).toEqual([]);
    response.resume();
    await vi.advanceTimersByTimeAsync(60_000);
    open.write(KIB);
    expect([endings, open.isOpen]).toEqual([[], true]);
  });

  test("with a reader that takes nothing is disconnected after the stall timeout, and not before", async () => {
    const { open, endings } = connection();
    for (let i = 0; i < 100; i += 1) open.write(KIB);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(endings).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(endings).toEqual(["stalled"]);
  });

  test("with a reader that resumes in time continues", async () => {
    const { response, open, endings } = connection();
    for (let i = 0; i < 100; i += 1) open.write(KIB);
    await vi.advanceTimersByTimeAsync(20_000);
    response.resume();
    await vi.advanceTimersByTimeAsync(100_000);
    expect([endings, open.isOpen]).toEqual([[], true]);
    open.end();
    expect(endings).toEqual(["ended"]);
  });

  test("is kept alive with comments, which do not pile up where nothing is read", async () => {
    const { response, open } = connection();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(unread(response)).toMatch(/^(:[^\n]*\n\n){2}$/);
    for (let i = 0; i < 40; i += 1) open.write(KIB);
    const before = response.writableLength;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(response.writableLength).toBe(before);
  });

  test("that was ended while it is not read is closed after a timeout", async () => {
    const { response, open, endings } = connection();
    for (let i = 0; i < 100; i += 1) open.write(KIB);
    open.end();
    await vi.advanceTimersByTimeAsync(30_000);
    expect([endings, response.destroyed]).toEqual([["ended"], true]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the event log", () => {
  const limits = { maxLength: 40, maxEvents: 6 };
  const added = fc.record({
    stream: fc.nat(2),
    length: fc.integer({ min: 1, max: 60 }),
    kind: fc.constantFrom("notice", "sent", "unsent"),
  });
  const isKept = (event: LoggedEvent | LostResponse): event is LoggedEvent => "data" in event;

  test("keeps what there is room for, gives back exactly what came after an event, and knows the responses it has lost", () => {
    fc.assert(
      fc.property(fc.array(added, { maxLength: 40 }), (events) => {
        const log = new EventLog(limits);
        const all: LoggedEvent[] = [];
        for (const { stream, length, kind } of events) {
          const seq = all.length + 1;
          const notice = { stream, seq, data: "x".repeat(length), sent: kind === "sent" };
          const event = kind === "notice" ? notice : { ...notice, responseTo: seq };
          all.push(event);
          log.append(event);
        }
        const known = [0, 1, 2].flatMap((stream) => log.after(stream, 0)).sort((a, b) => a.seq - b.seq);
        const kept = known.filter(isKept);
        expect(kept).toEqual(all.filter((event) => kept.includes(event)));
        const length = kept.reduce((sum, { data }) => sum + data.length, 0);
        expect(log.length).toBe(length);
        const fits = length <= limits.maxLength && kept.length <= limits.maxEvents;
        expect(kept.length <= 1 || fits).toBe(true);
        // Each response is kept, or known to be lost.
        expect(known.flatMap(({ responseTo }) => responseTo ?? [])).toEqual(
          all.flatMap(({ responseTo }) => responseTo ?? []),
        );
        const third = known[2];
        if (third !== undefined) {
          expect(log.after(third.stream, third.seq)).toEqual(
            known.slice(3).filter(({ stream }) => stream === third.stream),
          );
        }
        log.forget(1);
        expect([log.has(1), log.after(1, 0).filter(isKept)]).toEqual([false, []]);
        expect(log.after(1, 0).map(({ seq }) => seq)).toEqual(
          all
            .filter(({ stream, responseTo }) => stream === 1 && responseTo !== undefined)
            .map(({ seq }) => seq),
        );
      }),
    );
  });

  test("evicts notifications before responses, and sent events before unsent ones", () => {
    const log = new EventLog(limits);
    const seqs = () =>
      log
        .after(1, 0)
        .filter(isKept)
        .map(({ seq }) => seq);
    const append = (seq: number, more: object = {}) =>
      log.append({ stream: 1, seq, data: "x".repeat(15), ...more });
    append(1, { responseTo: "a" });
    append(2, { responseTo: "b", sent: true });
    append(3);
    expect(seqs()).toEqual([1, 3]);
    append(4);
    expect(seqs()).toEqual([1, 4]);
    append(5, { responseTo: "c" });
    expect(seqs()).toEqual([1, 5]);
    for (let seq = 6; seq < 20; seq += 1) append(seq);
    expect(seqs()).toEqual([1, 5]);
    append(20, { responseTo: "d" });
    expect(seqs()).toEqual([5, 20]);
  });

  test("remembers at most a hundred evicted responses", () => {
    const log = new EventLog(limits);
    for (let seq = 1; seq <= 300; seq += 1)
      log.append({ stream: 1, seq, data: "x".repeat(41), responseTo: seq });
    expect(log.after(1, 0)).toHaveLength(101);
  });
});
