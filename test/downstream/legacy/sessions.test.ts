/** Lifetime of legacy sessions, and their cleanup. */
import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { ANONYMOUS, type Principal } from "../../../src/core/client.js";
import {
  createLegacyEdge,
  type LegacyEdgeOptions,
  type LegacyHooks,
} from "../../../src/downstream/legacy/edge.js";
import type { Envelope } from "../../../src/wire/envelope.js";
import { type FakePortOptions, fakePort, pendingHandler, textReply } from "../../support/fake-port.js";
import { fakeTime } from "../../support/fake-time.js";
import { TAKES_ALL } from "../../support/sample.js";
import { unread } from "../../support/unread.js";
import { initializeMessage } from "./support.js";

fakeTime();

/** An edge whose hosts are met without sockets, so that time is the test's own. */
function still(options: Partial<LegacyEdgeOptions> = {}, portOptions: FakePortOptions = {}) {
  const gateway = fakePort(portOptions);
  const ends: string[] = [];
  const hooks: LegacyHooks = { sessionEnded: (why) => void ends.push(why) };
  const edge = createLegacyEdge({
    gateway,
    sessions: { max: 3, idleMs: 60_000 },
    keepAliveMs: 15_000,
    hooks,
    ...options,
  });
  let who: Principal = ANONYMOUS;
  const exchange = (headers: Record<string, string>) => {
    const response = new FakeResponse();
    return {
      out: response,
      request: { headers: { accept: "application/json, text/event-stream", ...headers } },
      response: response as unknown as ServerResponse,
      principal: who,
      endpoint: "",
      challenge: () => "Bearer",
    };
  };
  const post = async (message: unknown, headers: Record<string, string> = {}) => {
    const { out, request, ...rest } = exchange(headers);
    await edge.post({ ...rest, request: request as never, message: message as Envelope });
    return out;
  };
  return {
    port: gateway,
    edge,
    ends,
    post,
    /** From now on another principal sends the requests. */
    as(id: string) {
      who = { id, groups: [], claims: {} };
    },
    /** Opens a session and returns its id; "" where none was opened. */
    open: async (info?: object): Promise<string> => {
      const message = initializeMessage();
      const answer = await post(
        info === undefined ? message : { ...message, params: { ...message.params, clientInfo: info } },
      );
      const id = answer.headers.get("mcp-session-id") ?? "";
      if (id !== "")
        await post({ jsonrpc: "2.0", method: "notifications/initialized" }, { "mcp-session-id": id });
      return id;
    },
    listen: (id: string) => {
      const { out, request, ...rest } = exchange({ "mcp-session-id": id });
      // A promise only where a session is taken over; a refusal is thrown.
      const got = edge.get({ ...rest, request: request as never });
      expect(got).toBeUndefined();
      return out;
    },
    ping: async (id: string) =>
      (await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "mcp-session-id": id })).statusCode,
    call: (id: string, request = 1) =>
      post(
        { jsonrpc: "2.0", id: request, method: "tools/call", params: { name: "t" } },
        { "mcp-session-id": id },
      ),
  };
}

/** As much of a ServerResponse as an edge needs. */
class FakeResponse extends PassThrough {
  statusCode = 0;
  readonly headers = new Map<string, string>();
  setHeader(name: string, value: string): void {
    this.headers.set(name, value);
  }
  writeHead(status: number): this {
    this.statusCode = status;
    return this;
  }
  flushHeaders(): void {}
}

describe("an idle session", () => {
  test("ends after its idle time, with everything that was kept for it", async () => {
    const { edge, port, open, ping, ends } = still();
    const id = await open();
    await vi.advanceTimersByTimeAsync(59_000);
    expect(await ping(id)).toBe(200);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(await ping(id)).toBe(200);
    await vi.advanceTimersByTimeAsync(91_000);
    expect(await ping(id)).toBe(404);
    expect([port.forgotten, port.interests, edge.sessions(), ends]).toEqual([[id], [], [], ["idle"]]);
    await edge.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("expires after two minutes if its host has never sent a request", async () => {
    const { edge, open, ping } = still({ sessions: { max: 3, idleMs: 3_600_000 } });
    const [used, unused] = [await open(), await open()];
    expect(await ping(used)).toBe(200);
    await vi.advanceTimersByTimeAsync(119_000);
    expect(edge.sessions()).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(32_000);
    expect(edge.sessions()).toHaveLength(1);
    expect([await ping(used), await ping(unused)]).toEqual([200, 404]);
    await edge.close();
  });

  test("does not end while its stream is read, however silent it is, and does so afterwards", async () => {
    const { edge, open, listen, ping } = still();
    const id = await open();
    const stream = listen(id);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(edge.sessions()).toHaveLength(1);
    stream.destroy();
    await vi.advanceTimersByTimeAsync(91_000);
    expect(await ping(id)).toBe(404);
    await edge.close();
  });

  test("does not end while a call of it runs", async () => {
    const pending = pendingHandler();
    const { edge, open, call, ping } = still({}, { handlers: { "tools/call": pending.handler } });
    const id = await open();
    const answer = call(id);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(edge.sessions()).toMatchObject([{ inFlight: 1 }]);
    pending.answer(textReply("at last"));
    await answer;
    expect(await ping(id)).toBe(200);
    await edge.close();
  });

  test("ends although a server keeps sending to it", async () => {
    const { edge, open, ends } = still();
    const id = await open();
    for (let minute = 0; minute < 3; minute += 1) {
      await vi.advanceTimersByTimeAsync(30_000);
      edge.directory.find(id)?.notify?.({ method: "notifications/message", params: { level: "info" } });
    }
    await vi.advanceTimersByTimeAsync(30_000);
    expect(ends).toEqual(["idle"]);
    await edge.close();
  });

  test("over a pipe lives as long as the pipe", async () => {
    const { edge, port } = still();
    const lines: string[] = [];
    const pipe = edge.pipe({
      principal: ANONYMOUS,
      endpoint: "",
      send: (text) => void lines.push(String(text)),
    });
    await pipe.receive(initializeMessage());
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(edge.sessions()).toMatchObject([{ transport: "pipe", client: "test-host" }]);
    await pipe.close();
    expect([edge.sessions(), port.forgotten.length]).toEqual([[], 1]);
    await edge.close();
  });
});

describe("when there are as many sessions as may be", () => {
  test("the least recently used is evicted, but never a busy one", async () => {
    const { edge, open, listen, ping, ends } = still();
    const [busy, used, idle] = [await open(), await open(), await open()];
    listen(busy);
    await vi.advanceTimersByTimeAsync(10);
    await ping(used);
    const fourth = await open();
    expect([await ping(idle), await ping(busy), await ping(used), await ping(fourth)]).toEqual([
      404, 200, 200, 200,
    ]);
    expect(ends).toEqual(["displaced"]);
    await edge.close();
  });

  test("and all are busy, a further one is refused with 503", async () => {
    const { edge, open, listen, post } = still();
    for (let i = 0; i < 3; i += 1) listen(await open());
    expect((await post(initializeMessage())).statusCode).toBe(503);
    expect(edge.sessions()).toHaveLength(3);
    await edge.close();
  });
});

describe("a session that is still being opened", () => {
  test("can be asked by servers that are connected for it", async () => {
    const port = fakePort();
    let found: unknown;
    const edge = createLegacyEdge({
      gateway: {
        ...port,
        describe: async (client) => {
          found = edge.directory.find(client.affinity);
          return port.describe(client);
        },
      },
      sessions: { max: 3, idleMs: 60_000 },
      keepAliveMs: 15_000,
    });
    const pipe = edge.pipe({ principal: ANONYMOUS, endpoint: "", send: () => {} });
    await pipe.receive(initializeMessage());
    expect(found).toBeDefined();
    await edge.close();
  });

  test("is removed when the response to initialize fails", async () => {
    const port = fakePort();
    const edge = createLegacyEdge({
      gateway: { ...port, describe: () => Promise.reject(new Error("broken")) },
      sessions: { max: 3, idleMs: 60_000 },
      keepAliveMs: 15_000,
    });
    const lines: string[] = [];
    const pipe = edge.pipe({
      principal: ANONYMOUS,
      endpoint: "",
      send: (text) => void lines.push(String(text)),
    });
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await pipe.receive(initializeMessage());
      expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ id: "init", error: { code: -32603 } });
      expect([edge.sessions(), port.forgotten.length]).toEqual([[], attempt]);
    }
    expect(lines.join()).not.toContain("broken");
    await edge.close();
  });
});

describe("a question between calls", () => {
  const ROOTS = { method: "roots/list" };
  const capable = { ...initializeMessage({ capabilities: { roots: {} } }) };

  test("fails when the client opens no stream on which it could be asked", async () => {
    const { edge, post } = still();
    const id = (await post(capable)).headers.get("mcp-session-id") ?? "";
    const asked = expect(
      edge.directory.find(id)?.request(ROOTS, new AbortController().signal),
    ).rejects.toMatchObject({
      code: "timed_out",
    });
    await vi.advanceTimersByTimeAsync(10_000);
    await asked;
    await edge.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("times out when it is not answered within the time for a person", async () => {
    const { edge, post, listen } = still();
    const id = (await post(capable)).headers.get("mcp-session-id") ?? "";
    const stream = listen(id);
    const asked = expect(
      edge.directory.find(id)?.request(ROOTS, new AbortController().signal),
    ).rejects.toMatchObject({
      code: "denied",
      message: "the client did not answer a question within 600 s",
    });
    await vi.advanceTimersByTimeAsync(600_000);
    await asked;
    expect(unread(stream)).toContain("notifications/cancelled");
    await edge.close();
  });
});

describe("an edge that is closed with a time of grace", () => {
  test("ends GET streams at once, lets calls in flight be answered, and opens nothing more", async () => {
    const pending = pendingHandler();
    const { edge, open, listen, call, post, ping } = still(
      {},
      { handlers: { "tools/call": pending.handler } },
    );
    const [busy, idle] = [await open(), await open()];
    const stream = listen(busy);
    const answer = call(busy);
    const running = await pending.called;
    const closed = edge.close(5000);
    expect([stream.writableEnded, running.signal.aborted]).toEqual([true, false]);
    expect((await post(initializeMessage())).statusCode).toBe(503);
    await vi.advanceTimersByTimeAsync(4000);
    expect(await ping(idle)).toBe(200);
    pending.answer(textReply("in time"));
    await closed;
    expect(unread(await answer)).toContain("in time");
    await vi.advanceTimersByTimeAsync(1_000);
    expect([edge.sessions(), vi.getTimerCount()]).toEqual([[], 0]);
  });

  test("aborts what is not done by then", async () => {
    const pending = pendingHandler();
    const { edge, open, call } = still({}, { handlers: { "tools/call": pending.handler } });
    const answer = call(await open());
    const running = await pending.called;
    const closed = edge.close(5000);
    await vi.advanceTimersByTimeAsync(5000);
    await closed;
    expect(running.signal.aborted).toBe(true);
    pending.answer(textReply("late"));
    expect(unread(await answer)).toContain('"code":"cancelled"');
  });

  test("leaves pipes open", async () => {
    const { edge } = still();
    const pipe = edge.pipe({ principal: ANONYMOUS, endpoint: "", send: () => {} });
    await pipe.receive(initializeMessage());
    await edge.close();
    expect(edge.sessions()).toHaveLength(1);
    await pipe.close();
    expect(edge.sessions()).toEqual([]);
  });
});

describe("after all sessions have ended", () => {
  test("no timer, subscription or session remains", async () => {
    const pending = pendingHandler();
    const { edge, port, open, listen, call } = still({}, { handlers: { "tools/call": pending.handler } });
    const ids = [await open(), await open()];
    for (const id of ids) listen(id);
    const answers = ids.map((id) => call(id));
    await pending.called;
    await edge.close();
    pending.answer(textReply("late"));
    await Promise.all(answers);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([edge.sessions(), port.interests, vi.getTimerCount()]).toEqual([[], [], 0]);
    expect([...port.forgotten].sort()).toEqual([...ids].sort());
    expect(port.calls.every(({ signal }) => signal.aborted)).toBe(true);
  });
});

describe("sessions are shared between principals", () => {
  test("sessions beyond the limit evict the oldest of their own principal, and no other principal's", async () => {
    const max = TAKES_ALL ? 10_000 : 1_000;
    const { edge, ends, as, open, ping } = still({ sessions: { max, idleMs: 3_600_000 } });
    as("bob");
    const early = await open();
    as("ann");
    const first = await open();
    for (let at = 0; at < max + 50; at += 1) expect(await open()).not.toBe("");
    expect(ends.filter((why) => why === "displaced")).toHaveLength(max + 51 - (0.75 * max - 1));
    expect(await ping(first)).toBe(404);
    as("bob");
    expect(await ping(early)).toBe(200);
    for (let at = 0; at < max / 100; at += 1) expect(await open()).not.toBe("");
    expect(await ping(early)).toBe(200);
    await edge.close();
  });

  test("a principal with only busy sessions is refused another, and no session is evicted", async () => {
    const { edge, ends, as, open, listen } = still({ sessions: { max: 8, idleMs: 3_600_000 } });
    as("bob");
    await open();
    as("ann");
    for (let at = 0; at < 5; at += 1) listen(await open());
    expect(await open()).toBe("");
    expect(ends).toEqual([]);
    as("cid");
    expect(await open()).not.toBe("");
    await edge.close();
  });

  test("the clientInfo of hosts counts by its length", async () => {
    const { edge, as, open } = still({
      sessions: { max: 1_000, idleMs: 3_600_000, maxCharacters: 100_000 },
    });
    as("ann");
    for (let at = 0; at < 20; at += 1) {
      expect(await open({ name: "host", version: "1", about: "x".repeat(20_000) })).not.toBe("");
    }
    expect(edge.sessions().length).toBeLessThan(5);
    as("bob");
    expect(await open({ name: "host", version: "1" })).not.toBe("");
    await edge.close();
  });
});
