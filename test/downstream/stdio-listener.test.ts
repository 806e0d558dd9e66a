/** The gateway on standard streams, with both eras behind it. */
import { once } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Reply } from "../../src/core/call.js";
import { eraOfMessage, type Pipe, type PipeEdge } from "../../src/downstream/edge.js";
import { createLegacyEdge } from "../../src/downstream/legacy/edge.js";
import { createStdioListener, type StdioListenerOptions } from "../../src/downstream/stdio-listener.js";
import { type Envelope, isRequest } from "../../src/wire/envelope.js";
import { Payload } from "../../src/wire/payload.js";
import {
  type FakeHandler,
  type FakePortOptions,
  fakePort,
  pendingHandler,
  textReply,
} from "../support/fake-port.js";

afterEach(() => void vi.useRealTimers());

const MODERN = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };

/** Answers every request with its method, and records the messages. */
function modernEcho() {
  const heard: Envelope[] = [];
  let closed = 0;
  const open = (pipe: Pipe): PipeEdge => ({
    receive(message) {
      heard.push(message);
      if (isRequest(message))
        pipe.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { era: "modern" } }));
    },
    close: async () => {
      closed += 1;
    },
  });
  return { open, heard, closed: () => closed };
}

function listener(portOptions: FakePortOptions = {}, options: Partial<StdioListenerOptions> = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const gateway = fakePort(portOptions);
  const legacy = createLegacyEdge({ gateway, sessions: { max: 10, idleMs: 60_000 }, keepAliveMs: 15_000 });
  const modern = modernEcho();
  const stdio = createStdioListener({
    input,
    output,
    openEdge: { legacy: (pipe) => legacy.pipe(pipe), modern: modern.open },
    detect: (message) => eraOfMessage(message),
    ...options,
  });
  const lines: unknown[] = [];
  const waiting = new Map<number, () => void>();
  let rest = "";
  output.on("data", (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) lines.push(JSON.parse(part));
    for (const [count, wake] of waiting) if (lines.length >= count) wake();
  });
  return {
    port: gateway,
    legacy,
    modern,
    stdio,
    input,
    output,
    lines,
    send: (...messages: unknown[]) => input.write(messages.map((m) => `${JSON.stringify(m)}\n`).join("")),
    /** Waits for this number of lines. */
    async until(count: number) {
      if (lines.length < count) await new Promise<void>((wake) => waiting.set(count, wake));
      return lines;
    },
    unfinishedLine: () => rest,
  };
}

const initialize = (version = "2025-11-25", capabilities = {}) => ({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: version, capabilities, clientInfo: { name: "h", version: "1" } },
});
const INITIALIZED = { jsonrpc: "2.0", method: "notifications/initialized" };
const callTool = (id: unknown, params = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "t", ...params },
});

describe("messages", () => {
  test("of both eras are distinguished one by one, on the same pipe", async () => {
    const host = listener({ handlers: { "tools/call": () => textReply("legacy") } });
    host.send(initialize(), INITIALIZED, callTool(1), callTool(2, MODERN), callTool(3));
    const lines = await host.until(4);
    expect(lines).toContainEqual({ jsonrpc: "2.0", id: 2, result: { era: "modern" } });
    expect(lines).toContainEqual({
      jsonrpc: "2.0",
      id: 3,
      result: { content: [{ type: "text", text: "legacy" }] },
    });
    await host.stdio.stop();
    expect(host.modern.closed()).toBe(1);
    expect(host.port.forgotten).toHaveLength(1);
  });

  test("each are one line, whatever line breaks the upstream bytes contain", async () => {
    const text = '{\r\n "content": [],\n "x": "a\\nb"\n}';
    const handlers: Record<string, FakeHandler> = {
      "tools/call": (call) => ({
        kind: "result",
        result: Payload.ofText(call.params.name === "t" ? text : Buffer.from(text)),
      }),
    };
    const host = listener({ handlers });
    host.send(initialize(), callTool(1), callTool(2, { name: "buffer" }));
    const [, ...answers] = await host.until(3);
    expect(answers).toEqual([1, 2].map((id) => ({ jsonrpc: "2.0", id, result: { content: [], x: "a\nb" } })));
  });

  test("may come in any pieces, and several in one", async () => {
    const host = listener();
    const bytes = Buffer.from(
      `${JSON.stringify(initialize())}\n{"jsonrpc":"2.0","id":"ä","method":"ping"}\r\n\n`,
    );
    for (const byte of bytes) host.input.write(Buffer.from([byte]));
    expect(await host.until(2)).toContainEqual({ jsonrpc: "2.0", id: "ä", result: {} });
  });

  test("sent before initialize was answered are served after it, in their order", async () => {
    const host = listener({ handlers: { "tools/call": () => textReply("ok") } });
    host.send(initialize(), INITIALIZED, callTool(1), { jsonrpc: "2.0", id: 2, method: "ping" });
    const lines = (await host.until(3)) as { id: number }[];
    expect(lines.findIndex(({ id }) => id === 0)).toBeLessThan(lines.findIndex(({ id }) => id === 1));
    expect(host.port.interests).toHaveLength(1);
  });

  test("a request before initialize is refused, except a ping", async () => {
    const host = listener();
    host.send(callTool(1), { jsonrpc: "2.0", id: 2, method: "ping" });
    expect(await host.until(2)).toMatchObject([
      { id: 1, error: { code: -32600 } },
      { id: 2, result: {} },
    ]);
  });

  test("initialize twice is refused", async () => {
    const host = listener();
    host.send(initialize(), { ...initialize(), id: "again" });
    const lines = (await host.until(2)) as { id: unknown; error?: unknown }[];
    expect(lines.find(({ id }) => id === "again")).toMatchObject({ error: { code: -32600 } });
    expect(lines.find(({ id }) => id === 0)).toMatchObject({ result: {} });
  });

  test("a cancel has no era, so both edges receive it", async () => {
    const pending = pendingHandler();
    const host = listener({ handlers: { "tools/call": pending.handler } });
    host.send(initialize(), callTool(5, MODERN), callTool(6));
    const call = await pending.called;
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 6 } };
    host.send(cancelled, { jsonrpc: "2.0", id: 7, method: "ping" });
    await host.until(3);
    expect(call.signal.aborted).toBe(true);
    expect(host.modern.heard).toContainEqual(cancelled);
  });

  test("batches are answered by an array in 2025-03-26, and refused elsewhere", async () => {
    const host = listener({ handlers: { "tools/call": () => textReply("ok") } });
    host.send(
      [callTool(1)],
      initialize("2025-03-26"),
      [callTool(1), INITIALIZED, callTool(2)],
      [INITIALIZED],
    );
    const lines = await host.until(3);
    expect(lines[0]).toMatchObject({ id: null, error: { code: -32600 } });
    expect(lines[2]).toMatchObject([{ id: 1 }, { id: 2 }]);
    const newer = listener();
    newer.send(initialize(), [callTool(1)]);
    expect((await newer.until(2))[1]).toMatchObject({ id: null, error: { code: -32600 } });
  });
});

describe("many messages at once", () => {
  const note = (at: number) => ({ jsonrpc: "2.0", method: "notifications/x", params: { ...MODERN, at } });
  const numbers = (heard: readonly Envelope[]) => heard.map(({ params }) => params?.at);
  const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);

  test("are served in turns of the event loop, in their order", async () => {
    const { send, modern, until } = listener();
    send(...upTo(5_000).map(note), { jsonrpc: "2.0", id: 1, method: "ping", params: MODERN });
    await turn();
    expect(modern.heard.length).toBeLessThan(2_000);
    await until(1);
    expect(numbers(modern.heard).slice(0, 5_000)).toEqual(upTo(5_000));
  });

  test("are all served where the input ends right after them", async () => {
    const { send, modern, input, stdio } = listener();
    send(...upTo(5_000).map(note));
    input.end();
    await stdio.done;
    expect(numbers(modern.heard)).toEqual(upTo(5_000));
  });

  test("come after a long one before them, which is read in steps", async () => {
    const { send, modern, until } = listener();
    const long = {
      jsonrpc: "2.0",
      method: "notifications/x",
      params: { ...MODERN, at: 0, text: "x".repeat(2_000_000) },
    };
    send(long, note(1), { jsonrpc: "2.0", id: 1, method: "ping", params: MODERN });
    expect(modern.heard).toEqual([]);
    await until(1);
    expect(numbers(modern.heard).slice(0, 2)).toEqual([0, 1]);
  });

  test("of which one has 300,000 members get an error for that one", async () => {
    const { send, until } = listener();
    const many = Object.fromEntries(upTo(300_000).map((at) => [`k${at}`, at]));
    send({ jsonrpc: "2.0", id: 1, method: "ping", params: { ...MODERN, ...many } });
    send({ jsonrpc: "2.0", id: 2, method: "ping", params: MODERN });
    const [first, second] = await until(2);
    expect(first).toMatchObject({
      id: 1,
      error: { code: -32600, message: expect.stringContaining("16384") },
    });
    expect(second).toMatchObject({ id: 2, result: {} });
  });

  test("nested too deeply in a long line, or cut there, get an error as in a short one", async () => {
    const { input, until } = listener();
    const filler = `"x":"${"x".repeat(100_000)}"`;
    const deep = `${"[".repeat(100)}${"]".repeat(100)}`;
    input.write(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{${filler},"a":${deep}}}\n`);
    input.write(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{${filler}\n`);
    const lines = await until(2);
    expect(lines).toMatchObject([{ error: { code: -32600 } }, { error: { code: -32700 } }]);
  });
});

describe("what is no message", () => {
  test.each([
    ["no JSON", "{nonsense", null, -32700],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0x22]), null, -32700],
    ["not JSON-RPC", '{"jsonrpc":"1.0","id":4,"method":"ping"}', 4, -32600],
    ["an id that is none", '{"jsonrpc":"2.0","id":null,"method":"ping"}', null, -32600],
    ["an empty batch", "[]", null, -32600],
    ["nested too deeply", "[".repeat(65) + "]".repeat(65), null, -32600],
    ["too long", `"${"x".repeat(2000)}"`, null, -31413],
  ])("%s is answered with an error, and the next message is served", async (_what, line, id, code) => {
    const host = listener({}, { maxLineBytes: 1000 });
    host.input.write(line);
    host.input.write("\n");
    host.send({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect(await host.until(2)).toMatchObject([
      { jsonrpc: "2.0", id, error: { code } },
      { id: 1, result: {} },
    ]);
  });
});

describe("the end", () => {
  test("of the input lets running calls finish, and closes open streams", async () => {
    const pending = pendingHandler();
    const host = listener({ handlers: { "tools/call": pending.handler } });
    host.send(initialize(), callTool(1));
    await pending.called;
    host.input.end();
    pending.answer(textReply("in time"));
    await host.stdio.done;
    expect(host.lines).toMatchObject([{ id: 0 }, { id: 1, result: { content: [{ text: "in time" }] } }]);
    expect(host.legacy.sessions()).toEqual([]);
  });

  test("of the input cancels a call that waits for an answer of the host", async () => {
    const question = { method: "elicitation/create", params: { message: "?" } };
    const asks: Reply = { kind: "input_required", requests: { q: question }, sealedState: "s" };
    const host = listener({ handlers: { "tools/call": () => asks } });
    host.send(initialize("2025-11-25", { elicitation: {} }), callTool(1));
    await host.until(2);
    host.input.end();
    await host.stdio.done;
    expect(host.lines.at(-1)).toMatchObject({ id: 1, error: { data: { cardea: { code: "cancelled" } } } });
    expect(host.port.calls.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test("is not delayed by a call that never ends", async () => {
    vi.useFakeTimers();
    const pending = pendingHandler();
    const host = listener({ handlers: { "tools/call": pending.handler } }, { drainMs: 3000 });
    host.send(initialize(), callTool(1));
    const call = await pending.called;
    host.input.end();
    let done = false;
    void host.stdio.done.then(() => {
      done = true;
    });
    await vi.advanceTimersByTimeAsync(2999);
    expect([done, call.signal.aborted]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(1);
    await host.stdio.done;
    expect(call.signal.aborted).toBe(true);
  });

  test("is immediate at EPIPE, and nothing is thrown", async () => {
    const pending = pendingHandler();
    const output = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error("EPIPE"), { code: "EPIPE" })),
    });
    const host = listener({ handlers: { "tools/call": pending.handler } }, { output });
    host.send(initialize(), callTool(1));
    await host.stdio.done;
    expect(host.legacy.sessions()).toEqual([]);
    host.send(callTool(2));
  });

  test("by stop() reads nothing more", async () => {
    const host = listener({ handlers: { "tools/call": () => textReply("ok") } });
    host.send(initialize());
    await host.until(1);
    await host.stdio.stop();
    host.send(callTool(1));
    expect(host.port.calls).toEqual([]);
    expect(host.unfinishedLine()).toBe("");
  });

  test("by stop() without a grace time aborts all calls", async () => {
    const pending = pendingHandler();
    const host = listener({ handlers: { "tools/call": pending.handler } });
    host.send(initialize(), callTool(1));
    const call = await pending.called;
    await host.stdio.stop(0);
    expect(call.signal.aborted).toBe(true);
  });

  test("a host that does not read is not read from either (backpressure), until it reads again", async () => {
    const stuck: (() => void)[] = [];
    const output = new Writable({
      highWaterMark: 10,
      write: (_chunk, _encoding, done) => void stuck.push(done),
    });
    const big = textReply("x".repeat(5 * 1024 * 1024));
    const second = pendingHandler();
    const handler: FakeHandler = (call) => (call.params.name === "second" ? second.handler(call) : big);
    const host = listener({ handlers: { "tools/call": handler } }, { output });
    const paused = once(host.input, "pause");
    host.send(initialize());
    host.send(callTool(1));
    await paused;
    host.send(callTool(2, { name: "second" }));
    expect(host.port.calls).toHaveLength(1);
    while (output.writableLength > 0) stuck.shift()?.();
    await second.called;
  });
});
