import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import type { Call, InputResponses, Reply } from "../../src/core/call.js";
import { concurrency, Semaphore } from "../../src/resilience/concurrency.js";
import { fakeCall, textResult } from "../support/fake-call.js";
import fc from "../support/fast-check.js";

/** A server on which every call stays until it is let go, in any order. */
function busyServer() {
  const running = new Map<Call, (reply: Reply) => void>();
  return {
    handler: (call: Call) => new Promise<Reply>((resolve) => void running.set(call, resolve)),
    get running() {
      return [...running.keys()];
    },
    async finish(call: Call) {
      running.get(call)?.(textResult("done"));
      running.delete(call);
      await settled();
    },
  };
}

const settled = () => new Promise((resolve) => void setImmediate(resolve));

function place(places: number, room: number) {
  const semaphore = new Semaphore(places, room);
  const server = busyServer();
  const handle = concurrency({ semaphore, server: "files" })(server.handler);
  return { line: semaphore, server, handle };
}

describe("a server with a concurrency limit of two", () => {
  test("works on two calls; the third goes in when one is done, in order of arrival", async () => {
    const { server, handle, line } = place(2, 10);
    const calls = Array.from({ length: 4 }, () => fakeCall());
    const replies = calls.map(handle);
    expect(server.running).toEqual(calls.slice(0, 2));
    expect([line.running, line.queued]).toEqual([2, 2]);
    await server.finish(calls[1] as Call);
    expect(server.running).toEqual([calls[0], calls[2]]);
    await server.finish(calls[0] as Call);
    await server.finish(calls[2] as Call);
    await server.finish(calls[3] as Call);
    await expect(Promise.all(replies)).resolves.toHaveLength(4);
    expect([line.running, line.queued]).toEqual([0, 0]);
  });

  test("lets calls that return with answers skip the full queue", async () => {
    const { server, handle, line } = place(2, 10);
    const calls = Array.from({ length: 4 }, () => fakeCall());
    const round = { id: "1", isFirst: true };
    const back = Array.from({ length: 3 }, () => fakeCall({ inputResponses: { responses: {}, round } }));
    const replies = [...calls, ...back].map(handle);
    expect(server.running).toEqual([...calls.slice(0, 2), ...back.slice(0, 2)]);
    expect([line.running, line.queued]).toEqual([4, 3]);
    // The third of them comes before those who waited longer; these come when there is a place as there ever was.
    await server.finish(back[0] as Call);
    expect(server.running).toEqual([...calls.slice(0, 2), ...back.slice(1)]);
    await server.finish(back[1] as Call);
    await server.finish(back[2] as Call);
    expect([server.running, line.queued]).toEqual([calls.slice(0, 2), 2]);
    await server.finish(calls[0] as Call);
    expect(server.running).toEqual([calls[1], calls[2]]);
    for (const call of calls.slice(1)) await server.finish(call);
    await expect(Promise.all(replies)).resolves.toHaveLength(7);
    expect([line.running, line.queued]).toEqual([0, 0]);
  });

  test.each<[string, InputResponses]>([
    ["answers without a state", { responses: {} }],
    ["answers to made-up questions", { responses: { a: { action: "accept" } } }],
    ["a state that was used before", { responses: {}, round: { id: "1", isFirst: false } }],
  ])("lets a call with %s wait like any other", async (_, inputResponses) => {
    const { server, handle, line } = place(2, 10);
    const calls = Array.from({ length: 3 }, () => fakeCall());
    const pretended = fakeCall({ inputResponses });
    const replies = [...calls, pretended].map(handle);
    expect([server.running, line.queued]).toEqual([calls.slice(0, 2), 2]);
    for (const call of [...calls, pretended]) await server.finish(call);
    await Promise.all(replies);
  });

  test("refuses at once when its queue is full, with text and details", async () => {
    const { handle } = place(2, 1);
    for (let i = 0; i < 3; i += 1) void handle(fakeCall());
    await expect(handle(fakeCall())).rejects.toMatchObject({
      code: "queue_full",
      message: '"files" is busy: 2 calls are running and 1 are waiting',
      retryable: true,
      options: { retryAfterMs: 1000, server: "files" },
    });
  });

  test("a cancelled call leaves the queue at once, and no other call loses its place", async () => {
    const { server, handle, line } = place(1, 10);
    const first = fakeCall();
    const controller = new AbortController();
    const last = fakeCall();
    const done = [handle(first)];
    const given = handle(fakeCall({ signal: controller.signal }));
    done.push(handle(last));
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "cancelled" });
    expect(line.queued).toBe(1);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    await server.finish(first);
    expect(server.running).toEqual([last]);
    await server.finish(last);
    await Promise.all(done);
  });

  test("a call that was cancelled before it arrived does not wait", async () => {
    const { handle, line } = place(1, 10);
    void handle(fakeCall());
    await expect(handle(fakeCall({ signal: AbortSignal.abort() }))).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(line.queued).toBe(0);
  });

  test("a call that got in leaves no listener on its signal", async () => {
    const { server, handle } = place(1, 10);
    const { signal } = new AbortController();
    const [first, second] = [fakeCall(), fakeCall({ signal })];
    const replies = [handle(first), handle(second)];
    await server.finish(first);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    await server.finish(second);
    await Promise.all(replies);
  });

  test("a failing call releases its slot", async () => {
    const semaphore = new Semaphore(1, 0);
    const handle = concurrency({ semaphore, server: "files" })(() => Promise.reject(new Error("broken")));
    await expect(handle(fakeCall())).rejects.toThrow("broken");
    await expect(handle(fakeCall())).rejects.toThrow("broken");
    expect(semaphore.running).toBe(0);
  });
});

test("never more calls run than the limit, and all slots are released", async () => {
  const step = fc.oneof(
    fc.constant("arrive" as const),
    fc.constant("finish" as const),
    fc.constant("give up" as const),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      async (steps, places) => {
        const { server, handle, line } = place(places, 5);
        const waiting: AbortController[] = [];
        const replies: Promise<unknown>[] = [];
        for (const step of steps) {
          if (step === "arrive") {
            const controller = new AbortController();
            const ahead = line.queued;
            replies.push(handle(fakeCall({ signal: controller.signal })).catch(() => undefined));
            if (line.queued > ahead) waiting.push(controller);
          } else if (step === "finish") {
            const [running] = server.running;
            if (running !== undefined) await server.finish(running);
          } else waiting.shift()?.abort();
          expect(server.running.length).toBe(line.running);
          expect(line.running).toBeLessThanOrEqual(places);
          expect(line.queued).toBeLessThanOrEqual(5);
          // No call waits while a slot is free.
          expect(line.queued === 0 || line.running === places).toBe(true);
        }
        while (server.running.length > 0) await server.finish(server.running[0] as Call);
        await Promise.all(replies);
        expect([line.running, line.queued]).toEqual([0, 0]);
      },
    ),
  );
});

test("a limit of 0 is refused when it is created", () => {
  expect(() => new Semaphore(0, 1)).toThrow(RangeError);
  expect(() => new Semaphore(1, -1)).toThrow(RangeError);
});

describe("slots of a server are shared fairly between principals", () => {
  const of = (id: string): Call =>
    fakeCall({ client: { ...fakeCall().client, principal: { id, groups: [], claims: {} } } });

  test("one whose calls never end leaves slots and queue space for others", async () => {
    const { server, handle, line } = place(8, 16);
    const greedy = Array.from({ length: 40 }, () => of("ann"));
    const outcomes = greedy.map((call) => handle(call).catch((error: { code: string }) => error.code));
    expect(server.running).toHaveLength(6);
    expect([line.running, line.queued]).toEqual([6, 12]);
    const others = ["bob", "cid"].map(of);
    const replies = others.map(handle);
    expect(server.running).toEqual([...greedy.slice(0, 6), ...others]);
    for (const call of others) await server.finish(call);
    await Promise.all(replies);
    // No call of the first principal gets a reserved slot; its own slots are reused.
    expect(server.running).toEqual(greedy.slice(0, 6));
    for (const call of greedy.slice(0, 18)) await server.finish(call);
    expect(await Promise.all(outcomes.slice(18))).toEqual(Array.from({ length: 22 }, () => "queue_full"));
    await Promise.all(outcomes);
    expect([line.running, line.queued]).toEqual([0, 0]);
  });

  test("one that fills the line gives way to others, its youngest first, until they have as much of it", async () => {
    const { server, handle, line } = place(8, 16);
    const told = new Map<Call, string>();
    const call = (id: string) => {
      const made = of(id);
      void handle(made).catch(({ code }: { code: string }) => told.set(made, code));
      return made;
    };
    const greedy = Array.from({ length: 18 }, () => call("ann"));
    // One of his runs, and of the line, where twelve of hers wait, he gets as much as is left to her.
    const bobs = Array.from({ length: 7 }, () => call("bob"));
    await settled();
    expect([...told]).toEqual([17, 16, 15, 14, 13].map((at) => [greedy[at], "queue_full"]));
    expect([line.running, line.queued]).toEqual([7, 13]);
    expect(getEventListeners(greedy[17]?.signal as AbortSignal, "abort")).toHaveLength(0);
    const [extra, hers] = [call("bob"), call("ann")];
    await settled();
    expect([told.get(extra), told.get(hers)]).toEqual(["queue_full", "queue_full"]);
    for (const one of [...greedy, ...bobs]) await server.finish(one);
    await settled();
    expect([line.running, line.queued]).toEqual([0, 0]);
  });
});
