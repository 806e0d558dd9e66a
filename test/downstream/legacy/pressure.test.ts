/** Readers that do not keep up, and logs that do not grow. */
import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EventLog, type LoggedEvent } from "../../../src/downstream/legacy/event-log.js";
import { SseConnection } from "../../../src/downstream/legacy/sse-connection.js";
import fc from "../../support/fast-check.js";
import { unread } from "../../support/unread.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

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
  test("that nobody reads is cut once more waits than the budget", () => {
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

  test("whose reader takes nothing of what waits is cut after the stall time, and not before", async () => {
    const { open, endings } = connection();
    for (let i = 0; i < 100; i += 1) open.write(KIB);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(endings).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(endings).toEqual(["stalled"]);
  });

  test("whose reader comes back in time goes on", async () => {
    const { response, open, endings } = connection();
    for (let i = 0; i < 100; i += 1) open.write(KIB);
    await vi.advanceTimersByTimeAsync(20_000);
    response.resume();
    await vi.advanceTimersByTimeAsync(100_000);
    expect([endings, open.isOpen]).toEqual([[], true]);
    open.end();
    expect(endings).toEqual(["ended"]);
  });

  test("is kept alive with comments, which pile up in front of nobody", async () => {
    const { response, open } = connection();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(unread(response)).toMatch(/^(:[^\n]*\n\n){2}$/);
    for (let i = 0; i < 40; i += 1) open.write(KIB);
    const before = response.writableLength;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(response.writableLength).toBe(before);
  });

  test("that was ended while nobody reads does not keep its socket for ever", async () => {
    const { response, open, endings } = connection();
    for (let i = 0; i < 100; i += 1) open.write(KIB);
    open.end();
    await vi.advanceTimersByTimeAsync(30_000);
    expect([endings, response.destroyed]).toEqual([["ended"], true]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the event log", () => {
  test("keeps the newest within its budget, and gives back exactly what came after an event", () => {
    const limits = { maxLength: 40, maxEvents: 6 };
    fc.assert(
      fc.property(
        fc.array(fc.record({ stream: fc.nat(2), length: fc.integer({ min: 1, max: 60 }) }), {
          maxLength: 40,
        }),
        (added) => {
          const log = new EventLog(limits);
          const all: LoggedEvent[] = [];
          for (const { stream, length } of added) {
            const event = { stream, seq: all.length + 1, data: "x".repeat(length) };
            all.push(event);
            log.append(event);
          }
          const kept = [0, 1, 2].flatMap((stream) => log.after(stream, 0)).sort((a, b) => a.seq - b.seq);
          expect(kept).toEqual(all.slice(all.length - kept.length));
          const length = kept.reduce((sum, { data }) => sum + data.length, 0);
          expect(log.length).toBe(length);
          expect(kept.length <= 1 || (length <= limits.maxLength && kept.length <= limits.maxEvents)).toBe(
            true,
          );
          if (all.length > 0) expect(kept.at(-1)).toBe(all.at(-1));
          const third = kept[2];
          if (third !== undefined) {
            expect(log.after(third.stream, third.seq)).toEqual(
              kept.slice(3).filter(({ stream }) => stream === third.stream),
            );
          }
          log.forget(1);
          expect([log.has(1), log.after(1, 0)]).toEqual([false, []]);
        },
      ),
    );
  });
});
