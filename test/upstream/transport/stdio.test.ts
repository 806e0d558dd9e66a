/** A channel to a real process: messages, non-protocol output, stderr and exit. */
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import { ProcessGroups } from "../../../src/upstream/transport/process-group.js";
import {
  openStdioChannel,
  type StdioChannel,
  type StdioOptions,
} from "../../../src/upstream/transport/stdio.js";
import type { Envelope, Request } from "../../../src/wire/envelope.js";
import { MAX_LINE_BYTES } from "../../../src/wire/lines.js";
import { isAlive } from "../../support/processes.js";
import { until } from "../../support/until.js";

const SERVER = fileURLToPath(new URL("../../support/servers/stdio.mjs", import.meta.url));

const open: StdioChannel[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((channel) => channel.close()));
});

async function server(options: Partial<StdioOptions> = {}): Promise<StdioChannel> {
  const channel = await channelTo(options);
  open.push(channel);
  return channel;
}

const channelTo = (options: Partial<StdioOptions>): Promise<StdioChannel> =>
  openStdioChannel({
    name: "quiz",
    command: process.execPath,
    args: [SERVER],
    env: {},
    cwd: process.cwd(),
    graceMs: 400,
    ...options,
  });

let lastId = 0;
const request = (method: string, params = {}): Request => ({ jsonrpc: "2.0", id: ++lastId, method, params });

async function failure(promise: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GatewayError)) throw new Error(`expected a GatewayError, got ${String(error)}`);
  return error;
}

describe("an exchange", () => {
  test("resolves to the received response", async () => {
    const channel = await server();
    const answer = await channel.exchange(request("echo", { text: "世界\u2028\n", "x-unknown": [null] }));
    expect(answer.message).toMatchObject({
      jsonrpc: "2.0",
      id: lastId,
      result: { text: "世界\u2028\n", "x-unknown": [null] },
    });
    expect(answer.status).toBe(200);
    expect(answer.header("content-type")).toBeUndefined();
  });

  test("finds its own response when many are answered in another order", async () => {
    const channel = await server();
    const requests = Array.from({ length: 500 }, () => request("hold", { count: 500 }));
    const answers = await Promise.all(requests.map((one) => channel.exchange(one)));
    expect(answers.map((answer) => answer.message.result?.id)).toEqual(requests.map((one) => one.id));
  });

  test("is one line for all readers, with U+2028, U+2029 and U+0085 escaped", async () => {
    const text = "a\u2028b\u2029c\u0085d\ne\rf\u000bg\u001eh";
    const script = `read -r line; printf '%s' "$line" >&2; echo '{"jsonrpc":"2.0","id":"one","result":{}}'; cat`;
    const channel = await server({ command: "sh", args: ["-c", script] });
    await channel.exchange({ jsonrpc: "2.0", id: "one", method: "x", params: { text } });
    await channel.close();
    expect(JSON.parse(channel.stderr)).toMatchObject({ params: { text } });
    expect(channel.stderr).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
  });

  test("takes an integer id that the server returns as text", async () => {
    const stray = vi.fn<(message: Envelope) => void>();
    const channel = await server({ onUnmatchedMessage: stray });
    const text = '{"jsonrpc":"2.0","id":"71","result":{"as":"text"}}\n';
    const answer = await channel.exchange({ jsonrpc: "2.0", id: 71, method: "raw", params: { text } });
    expect(answer.message).toMatchObject({ id: 71, result: { as: "text" } });
    await channel.exchange(request("echo"));
    expect(stray.mock.calls.map(([message]) => message.id)).toEqual([71]);
  });

  test("takes no other text for an integer id", async () => {
    const stray = vi.fn<(message: Envelope) => void>();
    const channel = await server({ onUnmatchedMessage: stray });
    const text = '{"jsonrpc":"2.0","id":"071","result":{"wrong":true}}\n';
    const answer = await channel.exchange({ jsonrpc: "2.0", id: 71, method: "raw", params: { text } });
    expect(answer.message.result).toEqual({ after: "raw" });
    expect(stray).toHaveBeenCalledTimes(1);
  });

  test("takes the first of two responses; repeated, unknown and late ones are unmatched", async () => {
    const stray = vi.fn<(message: Envelope) => void>();
    const channel = await server({ onUnmatchedMessage: stray });
    const once = await channel.exchange(request("twice"));
    expect(once.message.result).toEqual({ time: 1 });
    const quitter = new AbortController();
    const hold = request("hold", { count: 2 });
    const given = failure(channel.exchange(hold, { signal: quitter.signal }));
    quitter.abort();
    expect((await given).code).toBe("cancelled");
    await channel.exchange(request("hold", { count: 2 }));
    await channel.exchange(request("raw", { text: '{"jsonrpc":"2.0","id":999999,"result":{}}\n' }));
    expect(stray.mock.calls.map(([message]) => message.id)).toEqual([once.message.id, hold.id, 999999]);
  });

  test("is not sent when it was cancelled before", async () => {
    const channel = await server();
    const heard = vi.fn<(message: Envelope) => void>();
    channel.listen(heard);
    expect((await failure(channel.exchange(request("notify"), { signal: AbortSignal.abort() }))).code).toBe(
      "cancelled",
    );
    await channel.exchange(request("echo"));
    expect(heard).not.toHaveBeenCalled();
  });

  test("may not use an id that is in flight", async () => {
    const channel = await server();
    const hang = channel.exchange({ jsonrpc: "2.0", id: "same", method: "hang" });
    await expect(channel.exchange({ jsonrpc: "2.0", id: "same", method: "echo" })).rejects.toThrow(
      "in flight",
    );
    await channel.close();
    await expect(hang).rejects.toThrow("closed by the gateway");
  });

  test("takes its response from a batch", async () => {
    const channel = await server();
    const heard = vi.fn<(message: Envelope) => void>();
    channel.listen(heard);
    expect((await channel.exchange(request("batch"))).message.result).toEqual({ batch: true });
    expect(heard).toHaveBeenCalledTimes(1);
  });

  test("takes its response from a batch with invalid members, each of which fails alone", async () => {
    const junk = vi.fn<(excerpt: string) => void>();
    const channel = await server({ onNonProtocolOutput: junk });
    const bad = lastId + 1;
    const members = `{"jsonrpc":"2.0","id":${bad},"result":"done"},7,{"jsonrpc":"2.0","id":${bad + 1},"result":{"ok":true}}`;
    const [failed, served] = await Promise.all([
      failure(channel.exchange(request("hang"))),
      channel.exchange(request("raw", { text: `[${members}]\n` })),
    ]);
    expect(failed).toMatchObject({ code: "upstream_closed" });
    expect(served.message.result).toEqual({ ok: true });
    expect(junk).toHaveBeenCalledTimes(1);
  });

  test("fails at once when its response is invalid", async () => {
    const channel = await server();
    const one = request("raw", { text: `{"jsonrpc":"2.0","id":${lastId + 1},"result":"done"}\n` });
    expect(await failure(channel.exchange(one))).toMatchObject({
      code: "upstream_closed",
      message: 'quiz answered with something that is no valid response: "result" must be an object',
    });
  });

  test("with a large message goes through both ways", async () => {
    const channel = await server();
    const text = "x".repeat(4 * 1024 * 1024);
    const answers = await Promise.all([1, 2, 3].map(() => channel.exchange(request("echo", { text }))));
    for (const answer of answers) expect(answer.message.result?.text).toHaveLength(text.length);
  });
});

describe("a message that is not a response", () => {
  test("is delivered to all listeners, in order, until they stop", async () => {
    const channel = await server();
    const first: unknown[] = [];
    const second: unknown[] = [];
    const one = channel.listen((message) => first.push(message.params?.i ?? message.method));
    channel.listen((message) => second.push(message.params?.i ?? message.method));
    expect(await one.opened).toBe(true);
    await channel.exchange(request("notify", { count: 3 }));
    one.stop();
    await channel.exchange(request("notify", { count: 1 }));
    expect(first).toEqual([0, 1, 2, "roots/list"]);
    expect(second).toEqual([0, 1, 2, "roots/list", 0, "roots/list"]);
  });

  test("may have the id of a request in flight, and is no answer to it", async () => {
    const channel = await server();
    const bad = `{"jsonrpc":"2.0","id":${lastId + 1},"method":"ping","params":7}\n`;
    const answer = await channel.exchange(request("raw", { text: bad }));
    expect(answer.message.result).toEqual({ after: "raw" });
  });
});

test("a listener that throws is reported, and the next message is delivered", async () => {
  const stray = vi.fn<(message: Envelope, error?: unknown) => void>();
  const channel = await server({ onUnmatchedMessage: stray });
  const error = new Error("cannot handle that");
  let heard = 0;
  channel.listen(() => {
    heard++;
    throw error;
  });
  await channel.exchange(request("notify", { count: 2 }));
  expect(heard).toBe(3);
  expect(stray.mock.calls.map(([, why]) => why)).toEqual([error, error, error]);
});

test("a message that cannot be serialized is refused, and the channel stays open", async () => {
  const channel = await server();
  const deep: Record<string, unknown> = {};
  deep.deeper = deep;
  expect(await failure(channel.exchange(request("echo", { deep })))).toMatchObject({ code: "bad_request" });
  expect(await failure(channel.post(request("echo", { deep })))).toMatchObject({ code: "bad_request" });
  expect((await channel.exchange(request("echo", { a: 1 }))).message.result).toEqual({ a: 1 });
});

/** A server that is closed with the test: those of several tests are open at the same time. */
async function ofTest(
  onTestFinished: (close: () => Promise<void>) => void,
  options: Partial<StdioOptions> = {},
): Promise<StdioChannel> {
  const channel = await channelTo(options);
  onTestFinished(() => channel.close());
  return channel;
}

// Each waits until a process has had its time to exit.
describe.concurrent("a process that stays, or its children", () => {
  test.for([
    ["input", "exec 0<&-"],
    ["output", "exec 1>&-"],
  ])("a process that closes its %s without exiting is killed", async ([pipe, close], { onTestFinished }) => {
    const answer = '{"jsonrpc":"2.0","id":"first","result":{}}';
    const channel = await ofTest(onTestFinished, {
      command: "sh",
      args: ["-c", `read line; echo '${answer}'; ${close}; sleep 60`],
    });
    await channel.exchange({ jsonrpc: "2.0", id: "first", method: "x" });
    const waiting = failure(channel.exchange(request("x")));
    // Only a write to a pipe reveals that it has no reader.
    const writing = setInterval(() => void channel.post({ jsonrpc: "2.0", method: "x" }).catch(() => {}), 10);
    const message = `quiz closed its ${pipe}`;
    expect((await channel.closed).message).toBe(message);
    clearInterval(writing);
    expect(await waiting).toMatchObject({ code: "upstream_closed", message });
    expect(isAlive(channel.pid)).toBe(false);
  });

  describe("that exits", () => {
    test("kills its children", async ({ onTestFinished }) => {
      const channel = await ofTest(onTestFinished);
      const { message } = await channel.exchange(request("grandchild"));
      const grandchild = Number(message.result?.pid);
      expect(isAlive(grandchild)).toBe(true);
      process.kill(channel.pid, "SIGKILL");
      await channel.closed;
      await until("the end of the child", () => !isAlive(grandchild));
    });
  });

  describe("that is closed", () => {
    test("kills a process that ignores it", async ({ onTestFinished }) => {
      const channel = await ofTest(onTestFinished);
      await channel.exchange(request("stubborn"));
      await channel.close();
      expect(isAlive(channel.pid)).toBe(false);
    });

    test.for([false, true])(
      "kills the children of the process (stubborn: %s)",
      async (stubborn, { onTestFinished }) => {
        const channel = await ofTest(onTestFinished);
        const { message } = await channel.exchange(request("grandchild", { stubborn }));
        await channel.close();
        expect(isAlive(channel.pid)).toBe(false);
        await until("the end of the child", () => !isAlive(Number(message.result?.pid)));
      },
    );

    test("works through a shell", async ({ onTestFinished }) => {
      const channel = await ofTest(onTestFinished, {
        command: "sh",
        args: ["-c", `"${process.execPath}" "${SERVER}"; true`],
      });
      const { message } = await channel.exchange(request("grandchild", { stubborn: true }));
      await channel.close();
      expect(isAlive(channel.pid)).toBe(false);
      await until("the end of the child", () => !isAlive(Number(message.result?.pid)));
    });
  });
});

describe("non-protocol output on stdout", () => {
  test.each([
    ["a banner", "Server running on stdio\n"],
    ["another program's log", '{"level":30,"msg":"hello"}\n'],
    ["half a message", '{"jsonrpc":"2.0","id":1,"resu\n'],
    ["NULs", "\0\0\0\n"],
    ["an empty batch", "[]\n"],
  ])("is skipped and reported: %s", async (_, text) => {
    const junk = vi.fn<(excerpt: string) => void>();
    const channel = await server({ onNonProtocolOutput: junk });
    expect((await channel.exchange(request("raw", { text }))).message.result).toEqual({ after: "raw" });
    expect(junk).toHaveBeenCalledTimes(1);
  });

  test("is reported without its terminal sequences and control characters", async () => {
    const junk = vi.fn<(excerpt: string) => void>();
    const channel = await server({ onNonProtocolOutput: junk });
    const text = `\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 \u202eba\u200bck\x07${"y".repeat(5000)}\n`;
    await channel.exchange(request("raw", { text }));
    expect(junk.mock.calls[0]?.[0]).toMatch(/^red link back y+$/);
    expect(junk.mock.calls[0]?.[0].length).toBeLessThan(200);
  });

  test("does not hide the message after it: invalid UTF-8, CR LF, empty lines", async () => {
    const channel = await server();
    const text = Buffer.from([0xff, 0xfe, 0xc0, 0x0a, 0x0d, 0x0a, 0x0a]).toString("latin1");
    const answer = await channel.exchange(request("raw", { text, encoding: "latin1" }));
    expect(answer.message.result).toEqual({ after: "raw" });
  });
});

test("an endless line closes the channel, with bounded memory", async () => {
  const channel = await server();
  const before = process.memoryUsage().rss;
  const waiting = failure(channel.exchange(request("hang")));
  const giant = failure(channel.exchange(request("giant", { bytes: 200 * 1024 * 1024 })));
  const message = `quiz sent a line longer than ${MAX_LINE_BYTES} bytes`;
  expect(await giant).toMatchObject({ code: "upstream_closed", message });
  expect(await waiting).toMatchObject({ code: "upstream_closed", message });
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  expect((await channel.closed).message).toBe(message);
  expect(isAlive(channel.pid)).toBe(false);
});

test("a long line within the limit is a message like any other", async () => {
  const channel = await server();
  const text = "x".repeat(MAX_LINE_BYTES - 1024);
  expect((await channel.exchange(request("echo", { text }))).message.result?.text).toHaveLength(text.length);
});

describe("stderr", () => {
  test("is delivered line by line, and the newest 64 KiB are kept", async () => {
    const lines: string[] = [];
    const channel = await server({ onStderr: (line) => lines.push(line) });
    await channel.exchange(request("stderr", { text: "first\nsecond\n" }));
    await channel.exchange(request("stderr", { text: `${"z".repeat(1023)}\n`, times: 2048 }));
    await channel.exchange(request("exit", { words: "the end\n" })).catch(() => {});
    await channel.closed;
    expect(lines.slice(0, 2)).toEqual(["first", "second"]);
    expect(lines).toHaveLength(2 + 2048 + 1);
    expect(channel.stderr).toHaveLength(64 * 1024);
    expect(channel.stderr.endsWith("z\nthe end\n")).toBe(true);
  });

  test("needs no listener", async () => {
    const channel = await server();
    await channel.exchange(request("stderr", { text: "x".repeat(1024 * 1024), times: 20 }));
    expect(channel.stderr).toHaveLength(64 * 1024);
  });
});

describe("a process that exits", () => {
  test("fails every exchange in flight once, with an excerpt of stderr", async () => {
    const channel = await server();
    const waiting = Array.from({ length: 50 }, () => failure(channel.exchange(request("hang"))));
    const words = "\x1b[31mError: no database\x1b[0m\r\n    at connect (db.js:1)\n";
    await channel.post({ jsonrpc: "2.0", method: "exit", params: { code: 3, words } });
    const message = "quiz exited with code 3; last output: Error: no database at connect (db.js:1)";
    for (const error of await Promise.all(waiting)) {
      expect(error).toMatchObject({ code: "upstream_closed", source: "upstream", message, retryable: true });
      expect(error.options.server).toBe("quiz");
    }
    expect((await channel.closed).message).toBe(message);
  });

  test("by a signal is reported so, and afterwards nothing can be sent", async () => {
    const channel = await server();
    const waiting = failure(channel.exchange(request("hang")));
    process.kill(channel.pid, "SIGKILL");
    expect((await waiting).message).toBe("quiz was ended by SIGKILL");
    const message = "quiz was ended by SIGKILL";
    expect(await failure(channel.exchange(request("echo")))).toMatchObject({
      code: "upstream_unavailable",
      message,
    });
    expect(await failure(channel.post({ jsonrpc: "2.0", method: "x" }))).toMatchObject({
      code: "upstream_unavailable",
    });
  });

  test("after its response does not affect it", async () => {
    const channel = await server();
    const answers = Array.from({ length: 20 }, () => channel.exchange(request("hold", { count: 20 })));
    await channel.post({ jsonrpc: "2.0", method: "exit" });
    expect(await Promise.all(answers)).toHaveLength(20);
  });
});

describe("closing", () => {
  test("lets a process exit on its own", async () => {
    const channel = await server();
    const waiting = failure(channel.exchange(request("hang")));
    await channel.close();
    expect(isAlive(channel.pid)).toBe(false);
    expect(await waiting).toMatchObject({
      code: "upstream_closed",
      message: "quiz was closed by the gateway",
    });
    expect((await channel.closed).message).toBe("quiz was closed by the gateway");
  });

  test("delivers what was posted just before", async () => {
    const lines: string[] = [];
    // It may take its time to start.
    const channel = await server({ onStderr: (line) => lines.push(line), graceMs: 10_000 });
    await channel.post({ jsonrpc: "2.0", method: "stderr", params: { text: "got it\n" } });
    await channel.close();
    expect(lines).toEqual(["got it"]);
  });

  test("twice is closing once", async () => {
    const channel = await server();
    await Promise.all([channel.close(), channel.close()]);
    await channel.close();
  });
});

test("when the gateway's own process exits, a child that ignores the end of its input is killed", async () => {
  const before = process.listeners("exit");
  const processes = new ProcessGroups();
  const channel = await server({ processes });
  await server({ processes });
  const { message } = await channel.exchange(request("grandchild", { stubborn: true }));
  const added = process.listeners("exit").filter((listener) => !before.includes(listener));
  expect(added).toHaveLength(1);
  added[0]?.(0);
  expect((await channel.closed).message).toBe("quiz was ended by SIGKILL");
  await expect.poll(() => isAlive(Number(message.result?.pid))).toBe(false);
  await Promise.all(open.map((one) => one.close()));
  expect(process.listeners("exit")).toEqual(before);
});

test("a server that reads nothing does not fill the memory: the buffer is bounded and further messages are refused", async () => {
  const channel = await server();
  await channel.exchange(request("deaf"));
  const text = "x".repeat(8 * 1024 * 1024);
  const sent = Array.from({ length: 12 }, () => failure(channel.exchange(request("echo", { text }))));
  const refused = await Promise.any(sent.slice(10));
  expect(refused).toMatchObject({ code: "upstream_unavailable", message: "quiz does not read its input" });
  await channel.close();
  const codes = (await Promise.all(sent)).map((error) => error.code);
  expect(codes.filter((code) => code === "upstream_unavailable").length).toBeGreaterThan(1);
  expect(codes.filter((code) => code === "upstream_closed").length).toBeGreaterThan(5);
});

describe("the environment of a process", () => {
  test("is its own environment and a few variables, nothing else of the gateway's", async () => {
    vi.stubEnv("CARDEA_CANARY", "secret");
    vi.stubEnv("NODE_OPTIONS", "--no-warnings");
    vi.stubEnv("LC_ALL", "C");
    const channel = await server({ env: { OWN: "1", HOME: "/elsewhere" } });
    const { message } = await channel.exchange(request("env"));
    vi.unstubAllEnvs();
    const env = message.result?.env as Record<string, string>;
    expect(env).toMatchObject({ OWN: "1", HOME: "/elsewhere", LC_ALL: "C", PATH: process.env.PATH });
    const allowed = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|TERM|TMPDIR|TZ|LC_.*|OWN)$/;
    expect(Object.keys(env).filter((name) => !allowed.test(name))).toEqual([]);
  });

  test("are its arguments to the byte, and its folder", async () => {
    const args = ["; rm -rf /", "$(id)", "`id`", "a b", '"', "'", "\n", "*", "", "世"];
    const channel = await server({ args: [SERVER, ...args], cwd: "/" });
    const { message } = await channel.exchange(request("env"));
    expect(message.result).toMatchObject({ argv: args, cwd: "/" });
  });
});

describe("a process that cannot be started is unavailable, and the reason is plain:", () => {
  test.each([
    [
      "no such command",
      { command: "no-such-command-here" },
      "quiz cannot be started: command not found: no-such-command-here",
    ],
    ["not executable", { command: SERVER }, `quiz cannot be started: not allowed to run: ${SERVER}`],
    [
      "no such folder",
      { cwd: "/no/such/folder" },
      "quiz cannot be started: the working directory does not exist: /no/such/folder",
    ],
  ])("%s", async (_, options, message) => {
    expect(await failure(server(options))).toMatchObject({
      code: "upstream_unavailable",
      message,
      retryable: true,
    });
  });
});
