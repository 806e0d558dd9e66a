/** A channel over Streamable HTTP, with a real server at its other end. */
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ErrorCode, GatewayError } from "../../../src/core/errors.js";
import { type Channel, HttpStatusError } from "../../../src/upstream/transport/channel.js";
import { type HttpOptions, openHttpChannel } from "../../../src/upstream/transport/http.js";
import { type Envelope, FRAME_FAULT, type Request } from "../../../src/wire/envelope.js";
import {
  answer,
  event,
  json,
  type Respond,
  type ScriptedServer,
  scriptedServer,
  stream,
} from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(respond: Respond): Promise<ScriptedServer> {
  const server = await scriptedServer(respond);
  cleanups.push(() => server.close());
  return server;
}

function open(url: string, options: Partial<HttpOptions> = {}): Channel {
  const channel = openHttpChannel({ name: "quiz", url, headers: {}, connectTimeoutMs: 60_000, ...options });
  cleanups.push(() => channel.close());
  return channel;
}

const request: Request = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "start" } };

async function failure(promise: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GatewayError)) throw new Error(`expected a GatewayError, got ${String(error)}`);
  return error;
}

describe("a request", () => {
  test("is one POST with both content types accepted, nothing compressed, the constant headers and its own", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    const channel = open(`${server.url}?tenant=1`, { headers: { Authorization: "Bearer t", "X-Team": "a" } });
    await channel.exchange(request, { headers: { "mcp-session-id": "s", "x-team": "b" } });
    expect(server.asked[0]).toMatchObject({
      method: "POST",
      path: "/mcp?tenant=1",
      body: JSON.stringify(request),
    });
    expect(server.asked[0]?.headers).toMatchObject({
      accept: "application/json, text/event-stream",
      "accept-encoding": "identity",
      "content-type": "application/json",
      authorization: "Bearer t",
      "mcp-session-id": "s",
      "x-team": "b",
    });
  });

  test("carries the credentials of the URL as credentials", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    await open(server.url.replace("http://", "http://us%40er:pa%3Ass@")).exchange(request);
    expect(server.asked[0]?.headers.authorization).toBe(`Basic ${btoa("us@er:pa:ss")}`);
    // A stray `%` is a character like any other, as it is for other clients.
    await open(server.url.replace("http://", "http://us%er:100%@")).exchange(request);
    expect(server.asked[1]?.headers.authorization).toBe(`Basic ${btoa("us%er:100%")}`);
  });

  test("one after the other uses one connection", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    const channel = open(server.url);
    for (let i = 0; i < 50; i++) await channel.exchange(request);
    expect(server.connections.made).toBeLessThanOrEqual(2);
  });

  test("of one channel and of another may have the same id: each gets its own answer", async () => {
    const server = await serve((asked, response) => {
      setImmediate(() => answer(asked, response, { for: asked.headers["x-host"] }));
    });
    const channels = [open(server.url), open(server.url)];
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, i) =>
        (channels[i % 2] as Channel).exchange(request, { headers: { "x-host": String(i) } }),
      ),
    );
    expect(answers.map(({ message }) => message.result?.for)).toEqual(answers.map((_, i) => String(i)));
  });
});

describe("an answer in JSON", () => {
  test("is the response, with its status and headers", async () => {
    const result = { content: [{ type: "new", "x-y": 1 }] };
    const server = await serve((asked, response) =>
      json(response, { jsonrpc: "2.0", id: asked.id, result }, 200, {
        "Mcp-Session-Id": "abc",
        "x-many": ["1", "2"],
      }),
    );
    const got = await open(server.url).exchange(request);
    expect(got.message).toMatchObject({ jsonrpc: "2.0", id: 7, result });
    expect([got.status, got.header("mcp-session-id"), got.header("x-many"), got.header("toString")]).toEqual([
      200,
      "abc",
      "1, 2",
      undefined,
    ]);
  });

  test("may be a batch, as old servers send it", async () => {
    const server = await serve((asked, response) =>
      json(response, [
        { jsonrpc: "2.0", method: "notifications/message", params: {} },
        { jsonrpc: "2.0", id: asked.id, result: { ok: true } },
      ]),
    );
    const onMessage = vi.fn<(message: Envelope) => void>();
    expect((await open(server.url).exchange(request, { onMessage })).message.result).toEqual({ ok: true });
    expect(onMessage).toHaveBeenCalledTimes(1);
  });

  test.each(["application/json", "text/event-stream"])(
    "may be a batch (%s) in which others are no messages; a bad request in it is heard as one",
    async (type) => {
      const server = await serve((asked, response) => {
        const batch = JSON.stringify([
          7,
          { jsonrpc: "2.0", id: "q", method: "ping", Params: {} },
          { jsonrpc: "2.0", id: 99_999, result: "done" },
          { jsonrpc: "2.0", id: asked.id, result: { ok: true } },
        ]);
        const body = type === "application/json" ? batch : `data: ${batch}\n\n`;
        response.writeHead(200, { "content-type": type }).end(body);
      });
      const onMessage = vi.fn<(message: Envelope) => void>();
      expect((await open(server.url).exchange(request, { onMessage })).message.result).toEqual({ ok: true });
      expect(onMessage.mock.calls).toMatchObject([[{ id: "q", [FRAME_FAULT]: { code: -32600 } }]]);
    },
  );

  test("of some megabytes in many pieces is put together", async () => {
    const text = "世".repeat(1_500_000);
    const server = await serve((asked, response) => answer(asked, response, { text }));
    expect((await open(server.url).exchange(request)).message.result?.text).toBe(text);
  });

  test.each([
    ["a matching id", { id: 7 }],
    ["the id null", { id: null }],
    ["no id", {}],
  ])("may be an error under an HTTP error status, with %s", async (_, id) => {
    const error = { code: -32001, message: "Session not found" };
    const server = await serve((_asked, response) => json(response, { jsonrpc: "2.0", ...id, error }, 404));
    const got = await open(server.url).exchange(request);
    expect(got.message).toEqual({ jsonrpc: "2.0", id: 7, error });
    expect(got.status).toBe(404);
  });
});

describe("an answer as an event stream", () => {
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } };

  test("delivers all messages before the response, in order, and none after it", async () => {
    const question = { jsonrpc: "2.0", id: 7, method: "elicitation/create", params: {} };
    const server = await serve((_asked, response) => {
      stream(
        response,
        ": welcome\n\n",
        event(progress),
        `event: ping\ndata: {}\n\n`,
        event(question),
        event({ jsonrpc: "2.0", id: 7, result: { ok: true } }),
        event(progress),
      ).end();
    });
    const heard: Envelope[] = [];
    const got = await open(server.url).exchange(request, { onMessage: (message) => heard.push(message) });
    expect(got.message.result).toEqual({ ok: true });
    expect(heard).toEqual([progress, question]);
  });

  test("takes only its own response; others are strays", async () => {
    const stray = vi.fn<(message: Envelope) => void>();
    const junk = vi.fn<(excerpt: string) => void>();
    const server = await serve((_asked, response) => {
      stream(
        response,
        event({ jsonrpc: "2.0", id: "7", result: { wrong: 1 } }),
        event({ jsonrpc: "2.0", id: 8, result: { wrong: 2 } }),
        "data: not json\n\n",
        event({ jsonrpc: "2.0", id: 7, result: { right: true } }),
      ).end();
    });
    const got = await open(server.url, { onUnmatchedMessage: stray, onNonProtocolOutput: junk }).exchange(
      request,
    );
    expect(got.message.result).toEqual({ right: true });
    expect(stray).toHaveBeenCalledTimes(2);
    expect(junk.mock.calls).toEqual([["not json"]]);
  });

  test("keeps the connection when the server ends it, and closes it soon when it does not", async () => {
    const server = await serve((asked, response) => {
      stream(response, event({ jsonrpc: "2.0", id: asked.id, result: {} }));
      if (asked.path.endsWith("?end")) response.end();
    });
    const tidy = open(`${server.url}?end`);
    await tidy.exchange(request);
    await tidy.exchange(request);
    expect(server.connections.made).toBeLessThanOrEqual(2);
    await open(server.url).exchange(request);
    expect(await server.asked[2]?.hungUp).toBe(true);
  });

  test("fails at once when its response is no valid one", async () => {
    const server = await serve((_asked, response) => {
      stream(response, event({ jsonrpc: "2.0", id: 7, result: "done" }));
    });
    expect(await failure(open(server.url).exchange(request))).toMatchObject({
      code: "upstream_closed",
      message: 'quiz gave no answer: its response is not valid: "result" must be an object',
    });
  });
});

describe("a stream that drops before its response", () => {
  const response = { jsonrpc: "2.0", id: 7, result: { ok: true } };

  test("is resumed after the last event that had an id, after the time that the server names", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const server = await serve((asked, reply) => {
      if (asked.method === "POST") {
        stream(reply, "id: e1\nretry: 120\ndata:\n\n", event({ jsonrpc: "2.0", method: "a" }, "e2")).end();
      } else if (asked.headers["last-event-id"] === "e2") {
        stream(reply).write(event({ jsonrpc: "2.0", method: "b" }, "e3"), () => reply.destroy());
      } else {
        stream(reply, event(response, "e4")).end();
      }
    });
    const heard: string[] = [];
    const got = await open(server.url, { headers: { authorization: "Bearer t" } }).exchange(request, {
      headers: { "mcp-session-id": "s" },
      onMessage: (message) => heard.push(message.method ?? ""),
    });
    expect(got.message).toMatchObject(response);
    expect(heard).toEqual(["a", "b"]);
    expect(timers.mock.calls.filter(([, ms]) => ms === 120)).toHaveLength(2);
    expect(server.asked.map(({ method, headers }) => [method, headers["last-event-id"]])).toEqual([
      ["POST", undefined],
      ["GET", "e2"],
      ["GET", "e3"],
    ]);
    const { headers } = await server.request(1);
    expect(headers).toMatchObject({
      accept: "text/event-stream",
      authorization: "Bearer t",
      "mcp-session-id": "s",
    });
    expect(headers["content-type"]).toBeUndefined();
  });

  test.each([
    [
      "properly",
      (reply: { end(): void }) => reply.end(),
      "quiz gave no answer: it ended its stream before the response",
    ],
    [
      "by force",
      (reply: { destroy(): void }) => reply.destroy(),
      "quiz gave no answer: the connection was closed",
    ],
  ])("%s and had no ids is over", async (_, drop, message) => {
    const server = await serve((_asked, reply) => {
      stream(reply, event({ jsonrpc: "2.0", method: "a" }), 'data: {"half', "");
      setImmediate(() => drop(reply));
    });
    const error = await failure(open(server.url).exchange(request));
    expect(error).toMatchObject({ code: "upstream_closed", retryable: true });
    expect(error.message).toContain(message);
    expect(server.asked).toHaveLength(1);
  });

  test("and cannot be resumed is over", async () => {
    const server = await serve((asked, reply) => {
      if (asked.method === "POST") stream(reply, "id: 1\nretry: 1\ndata:\n\n").end();
      else reply.writeHead(405).end();
    });
    expect(await failure(open(server.url).exchange(request))).toMatchObject({
      code: "upstream_closed",
      message: "quiz gave no answer: its stream could not be resumed (HTTP status 405)",
    });
  });

  test("and cannot be resumed just now is tried a few times", async () => {
    const server = await serve((asked, reply) => {
      if (asked.method === "POST") stream(reply, "id: 1\nretry: 1\ndata:\n\n").end();
      else reply.writeHead(503).end("busy");
    });
    expect((await failure(open(server.url).exchange(request))).code).toBe("upstream_closed");
    expect(server.asked).toHaveLength(7);
  });

  test.each([
    ["é世", "é世"],
    ["a b", "a b"],
  ])("is resumed by an id in any script: %s", async (id, expected) => {
    const server = await serve((asked, reply) => {
      if (asked.method === "POST") stream(reply, `id: ${id}\nretry: 1\n\n`).end();
      else stream(reply, event(response)).end();
    });
    expect((await open(server.url).exchange(request)).message).toMatchObject(response);
    const sent = server.asked[1]?.headers["last-event-id"];
    expect(Buffer.from(String(sent), "latin1").toString("utf8")).toBe(expected);
  });

  test.each([
    ["cannot be sent", "a\u0001b"],
    ["is taken back", "a\n\nid:"],
    ["is far too long", "x".repeat(5000)],
  ])("whose last id %s is over", async (_, id) => {
    const server = await serve((_asked, reply) => void stream(reply, `id: ${id}\nretry: 1\n\n`).end());
    expect((await failure(open(server.url).exchange(request))).code).toBe("upstream_closed");
    expect(server.asked).toHaveLength(1);
  });

  test("is not resumed for a cancelled call", async () => {
    const server = await serve((_asked, reply) => {
      stream(reply, "id: 1\nretry: 54321\ndata:\n\n").end();
    });
    const timers = vi.spyOn(globalThis, "setTimeout");
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    onTestFinished(() => {
      timers.mockRestore();
      cleared.mockRestore();
    });
    const timer = () => timers.mock.calls.findIndex(([, ms]) => ms === 54_321);
    const quitter = new AbortController();
    const given = failure(open(server.url).exchange(request, { signal: quitter.signal }));
    await until("the wait before it is resumed", () => timer() >= 0);
    quitter.abort();
    expect((await given).code).toBe("cancelled");
    expect(cleared).toHaveBeenCalledWith(timers.mock.results[timer()]?.value);
    expect(server.asked).toHaveLength(1);
  });
});

describe("giving up", () => {
  test.each([
    ["before the headers", () => {}],
    [
      "in the middle of a stream",
      (_asked, response) => void stream(response, event({ jsonrpc: "2.0", method: "a" })),
    ],
    [
      "in the middle of a document",
      (_asked, response) => void response.writeHead(200, { "content-type": "application/json" }).write("{"),
    ],
  ] satisfies [string, Respond][])("closes the connection: %s", async (_, respond) => {
    const server = await serve(respond);
    const quitter = new AbortController();
    const given = failure(open(server.url).exchange(request, { signal: quitter.signal }));
    const asked = await server.request(0);
    quitter.abort();
    expect(await given).toMatchObject({ code: "cancelled", source: "downstream" });
    expect(await asked.hungUp).toBe(true);
    // Nor is another one opened for it.
    await until("the connection to close", () => server.connections.open === 0);
    expect(server.connections.made).toBe(1);
  });

  test("before it was sent sends nothing", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    const channel = open(server.url);
    expect((await failure(channel.exchange(request, { signal: AbortSignal.abort() }))).code).toBe(
      "cancelled",
    );
    await channel.exchange(request);
    expect(server.asked).toHaveLength(1);
  });

  test("after the response changes nothing", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    const quitter = new AbortController();
    const channel = open(server.url);
    await channel.exchange(request, { signal: quitter.signal });
    quitter.abort();
    await channel.exchange(request);
    expect(server.connections.made).toBeLessThanOrEqual(2);
  });
});

describe("an answer that is no response says whether the server is there, with the status as the cause:", () => {
  const html = "<html>no</html>";
  test.each([
    [
      "401",
      "upstream_unavailable",
      (_asked, response) => void response.writeHead(401, { "www-authenticate": "Bearer" }).end(html),
      "quiz answered 401 Unauthorized: it needs credentials, or different ones",
    ],
    [
      "404",
      "upstream_rejected",
      (_asked, response) => void response.writeHead(404).end(html),
      /^quiz answered 404 Not Found: nothing is at 127\.0\.0\.1:\d+\/mcp, or its session has ended$/,
    ],
    [
      "500",
      "upstream_unavailable",
      (_asked, response) => void response.writeHead(500).end(html),
      "quiz answered with HTTP status 500",
    ],
    [
      "an error for another id",
      "upstream_rejected",
      (_asked, response) =>
        json(response, { jsonrpc: "2.0", id: "server-error", error: { code: -32600, message: "x" } }, 400),
      "quiz answered with HTTP status 400",
    ],
    [
      "a result under an error status",
      "upstream_unavailable",
      (asked, response) => json(response, { jsonrpc: "2.0", id: asked.id, result: {} }, 500),
      "quiz answered with HTTP status 500",
    ],
    [
      "a page",
      "upstream_rejected",
      (_asked, response) => void response.writeHead(200, { "content-type": "text/html" }).end(html),
      "quiz answered with something that is no valid response: the message is not valid JSON",
    ],
    [
      "nothing",
      "upstream_rejected",
      (_asked, response) => void response.writeHead(202).end(),
      "quiz answered a request with an empty body (HTTP status 202)",
    ],
    [
      "another response",
      "upstream_rejected",
      (_asked, response) => json(response, { jsonrpc: "2.0", id: "7", result: {} }),
      "quiz answered with a message that is not the response to the request",
    ],
  ] satisfies [string, ErrorCode, Respond, string | RegExp][])(
    "%s: %s",
    async (_, code, respond, message) => {
      const server = await serve(respond);
      const error = await failure(open(server.url).exchange(request));
      expect(error).toMatchObject({ code, source: "upstream", retryable: false });
      expect(error.message).toMatch(message);
      expect(error.cause).toBeInstanceOf(HttpStatusError);
    },
  );

  test.each([
    [300, {}, "upstream_rejected"],
    [308, {}, "upstream_rejected"],
    [400, {}, "upstream_rejected"],
    [403, {}, "upstream_rejected"],
    [404, {}, "upstream_rejected"],
    [404, { "mcp-session-id": "s" }, "upstream_unavailable"],
    [408, {}, "upstream_unavailable"],
    [413, {}, "upstream_rejected"],
    [429, {}, "upstream_unavailable"],
    [431, { "mcp-session-id": "s" }, "upstream_rejected"],
    [499, {}, "upstream_rejected"],
    [500, {}, "upstream_unavailable"],
    [502, {}, "upstream_unavailable"],
    [599, {}, "upstream_unavailable"],
  ])("status %i, asked with %j: %s", async (status, headers, code) => {
    const server = await serve((_asked, response) => void response.writeHead(status).end());
    expect(await failure(open(server.url).exchange(request, { headers }))).toMatchObject({ code });
  });

  test("the status, the headers and the beginning of the body can be looked at", async () => {
    const server = await serve(
      (_asked, response) => void response.writeHead(404, { "x-why": "gone" }).end("y".repeat(10_000)),
    );
    const { cause } = await failure(open(server.url).exchange(request));
    expect(cause).toMatchObject({ status: 404, body: "y".repeat(4096), headers: { "x-why": "gone" } });
  });

  test("asking again later can help, and when, where the server says so", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) });
    onTestFinished(() => void vi.useRealTimers());
    const server = await serve((asked, response) => {
      const later = asked.path === "/mcp" ? "3" : "Thu, 01 Jan 2026 00:01:00 GMT";
      response.writeHead(503, { "retry-after": later }).end();
    });
    expect(await failure(open(server.url).exchange(request))).toMatchObject({
      retryable: true,
      options: { retryAfterMs: 3000 },
    });
    const { options } = await failure(open(`${server.origin}/other`).exchange(request));
    expect(options.retryAfterMs).toBe(60_000);
  });
});

describe("a connection that fails", () => {
  test("before anything was sent: unavailable, and asking again can help", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    expect(await failure(open(`http://127.0.0.1:${port}/mcp`).exchange(request))).toMatchObject({
      code: "upstream_unavailable",
      message: `quiz cannot be reached: connection refused (127.0.0.1:${port})`,
      retryable: true,
    });
  });

  test.each([
    ["ENOTFOUND", "host not found"],
    ["EAI_AGAIN", "the host name could not be looked up just now"],
  ])("because DNS does not resolve its name (%s) says so", async (code, words) => {
    const found = Object.assign(new Error(`getaddrinfo ${code}`), { code });
    const lookup = vi
      .spyOn(dns, "lookup")
      .mockImplementation(
        ((_name: string, _options: object, done: (error: Error) => void) =>
          void setImmediate(done, found)) as unknown as typeof dns.lookup,
      );
    syncBuiltinESMExports();
    cleanups.push(async () => {
      lookup.mockRestore();
      syncBuiltinESMExports();
    });
    expect((await failure(open("http://no-such-host.invalid/mcp").exchange(request))).message).toBe(
      `quiz cannot be reached: ${words} (no-such-host.invalid)`,
    );
  });

  test("after it was sent: closed", async () => {
    const server = await serve((_asked, response) => void response.destroy());
    const error = await failure(open(server.url).exchange(request));
    expect(error).toMatchObject({ code: "upstream_closed", retryable: true });
    expect(error.message).toMatch(/^quiz gave no answer: the connection was (closed|reset)/);
  });

  test("because the other side speaks something else says so", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    expect((await failure(open(server.url.replace("http:", "https:")).exchange(request))).message).toContain(
      "it does not speak TLS on this port (is it http, not https?)",
    );
    const other = createServer(
      (socket) =>
        void socket
          .on("error", () => {})
          .resume()
          .end("SSH-2.0-OpenSSH\r\n"),
    );
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => new Promise((resolve) => other.close(() => resolve())));
    const { port } = other.address() as { port: number };
    expect((await failure(open(`http://127.0.0.1:${port}/`).exchange(request))).message).toContain(
      "it answered with something that is not HTTP",
    );
  });

  test("a document cut short fails, also where its end was not announced", async () => {
    const server = await serve((_asked, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"jsonrpc":"2.0","id":7,"result":{');
      setImmediate(() => response.destroy());
    });
    expect((await failure(open(server.url).exchange(request))).code).toBe("upstream_closed");
  });
});

test("a compressed answer is refused and not inflated", async () => {
  const server = await serve((_asked, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    response.end(gzipSync(Buffer.alloc(10 * 1024 * 1024)));
  });
  expect(await failure(open(server.url).exchange(request))).toMatchObject({
    code: "upstream_closed",
    message: expect.stringContaining(
      "it compressed its response (gzip) although the request allows identity only",
    ),
  });
});

test("an answer that grows without end is cut off", async () => {
  const server = await serve((_asked, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const piece = Buffer.alloc(1024 * 1024, 0x20);
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
      response.once("drain", more);
    };
    more();
  });
  const channel = open(server.url);
  expect(await failure(channel.exchange(request))).toMatchObject({
    code: "too_large",
    message: "quiz sent an answer longer than 67108864 bytes",
  });
  expect(await (await server.request(0)).hungUp).toBe(true);
});

describe("a redirect", () => {
  test("within the origin is followed with the same method and body, and remembered where it is permanent", async () => {
    const server = await serve((asked, response) => {
      if (asked.path === "/mcp") response.writeHead(308, { location: "/v2/mcp?x=1" }).end("moved");
      else answer(asked, response, { path: asked.path });
    });
    const channel = open(server.url);
    for (let i = 0; i < 2; i++) {
      expect((await channel.exchange(request)).message.result).toEqual({ path: "/v2/mcp?x=1" });
    }
    expect(server.asked.map(({ method, path, id }) => [method, path, id])).toEqual([
      ["POST", "/mcp", 7],
      ["POST", "/v2/mcp?x=1", 7],
      ["POST", "/v2/mcp?x=1", 7],
    ]);
  });

  test("that is temporary is followed each time, unless only a trailing slash differs", async () => {
    const server = await serve((asked, response) => {
      if (asked.path === "/mcp") response.writeHead(307, { location: "/other" }).end();
      else if (asked.path === "/slash") response.writeHead(307, { location: "/slash/" }).end();
      else answer(asked, response);
    });
    for (const channel of [open(server.url), open(`${server.origin}/slash`)]) {
      await channel.exchange(request);
      await channel.exchange(request);
    }
    expect(server.asked.map(({ path }) => path)).toEqual([
      "/mcp",
      "/other",
      "/mcp",
      "/other",
      "/slash",
      "/slash/",
      "/slash/",
    ]);
  });

  test("to another origin is not followed", async () => {
    const thief = await serve((asked, response) => answer(asked, response));
    const server = await serve(
      (_asked, response) => void response.writeHead(307, { location: `${thief.url}?secret=1` }).end(),
    );
    const error = await failure(
      open(server.url, { headers: { authorization: "Bearer t" } }).exchange(request),
    );
    expect(error.message).toBe(
      `quiz redirects elsewhere, to ${thief.url}, and is not followed there; if that is right, write it in the config`,
    );
    expect(thief.asked).toHaveLength(0);
  });

  test("that would turn a POST into a GET is not followed, nor one that leads in a circle", async () => {
    const server = await serve((asked, response) => {
      if (asked.path === "/found") response.writeHead(302, { location: "/mcp" }).end();
      else response.writeHead(307, { location: asked.path === "/a" ? "/b" : "/a" }).end();
    });
    expect((await failure(open(`${server.origin}/found`).exchange(request))).message).toContain(
      "redirects elsewhere",
    );
    expect(server.asked).toHaveLength(1);
    expect((await failure(open(`${server.origin}/a`).exchange(request))).message).toContain(
      "redirects elsewhere",
    );
    expect(server.asked.length).toBeLessThan(10);
  });
});

test("a message that cannot be written is refused, and the channel goes on", async () => {
  const server = await serve((asked, response) => answer(asked, response));
  const channel = open(server.url);
  const deep: Record<string, unknown> = {};
  deep.deeper = deep;
  expect((await failure(channel.exchange({ ...request, params: { deep } }))).code).toBe("bad_request");
  expect((await failure(channel.post({ ...request, params: { deep } }))).code).toBe("bad_request");
  await channel.exchange(request);
  expect(server.asked).toHaveLength(1);
});

test("a listener that throws is reported, and the response arrives", async () => {
  const stray = vi.fn<(message: Envelope, error?: unknown) => void>();
  const server = await serve((asked, response) => {
    stream(
      response,
      event({ jsonrpc: "2.0", method: "x" }),
      event({ jsonrpc: "2.0", id: asked.id, result: {} }),
    ).end();
  });
  const error = new Error("cannot handle that");
  const onMessage = (): void => {
    throw error;
  };
  const channel = open(server.url, { onUnmatchedMessage: stray });
  expect((await channel.exchange(request, { onMessage })).message.result).toEqual({});
  channel.listen(onMessage);
  await until("the second message", () => stray.mock.calls.length > 1);
  expect(stray.mock.calls[0]?.[1]).toBe(error);
});

describe("a header that cannot be sent", () => {
  test.each(["a\r\nx-evil: 1", "a\nb", "a\0b", "世"])(
    "is refused when it comes with a call: %j",
    async (value) => {
      const server = await serve((asked, response) => answer(asked, response));
      const channel = open(server.url);
      const error = await failure(channel.exchange(request, { headers: { "mcp-name": value } }));
      expect(error.code).toBe("bad_request");
      expect(error.message).not.toContain(value);
      expect(await failure(channel.post(request, { headers: { "mcp-name": value } }))).toMatchObject({
        code: "bad_request",
      });
      expect(await channel.listen(() => {}, { headers: { "mcp-name": value } }).opened).toBe(false);
      expect(server.asked).toHaveLength(0);
    },
  );

  test.each([
    ["x-a", "secret\r\nx-evil: 1"],
    ["x\r\n", "a"],
    ["Transfer-Encoding", "chunked"],
    ["content-length", "1"],
    ["", "a"],
  ])("is refused when it comes with the config: %j", (name, value) => {
    const attempt = (): Channel => open("http://127.0.0.1/mcp", { headers: { [name]: value } });
    expect(attempt).toThrow(GatewayError);
    expect(attempt).not.toThrow("secret");
  });
});

describe("posting", () => {
  const notification = { jsonrpc: "2.0", method: "notifications/initialized" } as const;

  test("is done when the server has accepted it, whatever it says to that", async () => {
    const server = await serve((asked, response) => {
      if (asked.path === "/202") response.writeHead(202).end();
      else if (asked.path === "/200") response.writeHead(200).end("thank you");
      else stream(response, event({ jsonrpc: "2.0", method: "x" }));
    });
    for (const path of ["202", "200", "stream"]) {
      await open(`${server.origin}/${path}`).post(notification, { headers: { "mcp-session-id": "s" } });
    }
    expect(server.asked.map(({ body, headers }) => [body, headers["mcp-session-id"]])).toEqual(
      Array.from({ length: 3 }, () => [JSON.stringify(notification), "s"]),
    );
    expect(await server.asked[2]?.hungUp).toBe(true);
  });

  test("fails when the server refuses, with the status", async () => {
    const server = await serve((_asked, response) =>
      json(response, { jsonrpc: "2.0", error: { code: 1, message: "no" } }, 404),
    );
    const error = await failure(open(server.url).post(notification));
    expect(error.cause).toMatchObject({ status: 404, body: expect.stringContaining('"no"') });
  });
});

describe("listening", () => {
  const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };

  test("delivers the messages of the GET stream", async () => {
    const server = await serve((_asked, response) => void stream(response, event(changed)));
    const heard: Envelope[] = [];
    const stray = vi.fn<(message: Envelope) => void>();
    const listening = open(server.url, { headers: { "x-a": "1" }, onUnmatchedMessage: stray }).listen(
      (message) => heard.push(message),
      {
        headers: { "mcp-session-id": "s" },
      },
    );
    expect(await listening.opened).toBe(true);
    await until("the message", () => heard.length === 1);
    expect(heard).toEqual([changed]);
    expect(server.asked[0]).toMatchObject({ method: "GET", body: "" });
    expect(server.asked[0]?.headers).toMatchObject({
      accept: "text/event-stream",
      "x-a": "1",
      "mcp-session-id": "s",
    });
    listening.stop();
    expect(await server.asked[0]?.hungUp).toBe(true);
  });

  test.each([405, 404, 400, 501])(
    "does not open where the server answers %i, without an error",
    async (status) => {
      const onLost = vi.fn<(reason: GatewayError) => void>();
      const server = await serve((_asked, response) => void response.writeHead(status).end());
      expect(await open(server.url).listen(() => {}, { onLost }).opened).toBe(false);
      expect(onLost).not.toHaveBeenCalled();
      expect(server.asked).toHaveLength(1);
    },
  );

  test("goes on after a drop where it stopped, after the time that the server names", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const server = await serve((_asked, response) => {
      const n = server.asked.length;
      if (n === 2) response.writeHead(503).end();
      else stream(response, "retry: 60\n\n", event({ ...changed, params: { n } }, `e${n}`));
      if (n === 1) response.end();
      if (n === 3) response.write(":\n", () => response.destroy());
    });
    const heard: unknown[] = [];
    open(server.url).listen((message) => heard.push(message.params?.n));
    await until("three messages", () => heard.length === 3);
    expect(heard).toEqual([1, 3, 4]);
    expect(server.asked.map(({ headers }) => headers["last-event-id"])).toEqual([
      undefined,
      "e1",
      "e1",
      "e3",
    ]);
    // Each wait is up to a fifth longer, so that gateways do not all come back at once.
    expect(timers.mock.calls.filter(([, ms = 0]) => ms >= 60 && ms <= 2 * 72)).toHaveLength(3);
  });

  test("reports a reconnect that could not be resumed, and no other", async () => {
    const missed: number[] = [];
    const server = await serve((_asked, response) => {
      const n = server.asked.length;
      // The first two streams have no ids; from the third on a stream can be resumed.
      stream(response, "retry: 5\n\n", event({ ...changed, params: { n } }, n > 2 ? `e${n}` : undefined));
      if (n < 4) response.end();
    });
    open(server.url).listen(() => {}, { onMissed: () => missed.push(server.asked.length) });
    expect((await server.request(3)).headers["last-event-id"]).toBe("e3");
    expect(missed).toEqual([2, 3]);
  });

  test("begins anew where the server has not kept from where it should go on", async () => {
    const onMissed = vi.fn<() => void>();
    const server = await serve(({ headers }, response) => {
      const n = server.asked.length;
      if (headers["last-event-id"] !== undefined) response.writeHead(400).end();
      else stream(response, "retry: 5\n\n", event({ ...changed, params: { n } }, `e${n}`));
      if (n === 1) response.end();
    });
    const heard: unknown[] = [];
    open(server.url).listen((message) => heard.push(message.params?.n), { onMissed });
    await until("what comes on the new stream", () => heard.length === 2);
    expect(server.asked.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "e1", undefined]);
    expect(onMissed).toHaveBeenCalledOnce();
  });

  test("ends with the reason when the session is gone", async () => {
    const server = await serve((_asked, response) => {
      if (server.asked.length === 1) stream(response, "retry: 5\n\n").end();
      else response.writeHead(404).end();
    });
    const reason = await new Promise<GatewayError>((onLost) => {
      open(server.url).listen(() => {}, { onLost });
    });
    expect(reason.cause).toMatchObject({ status: 404 });
  });

  test("before the server is there waits for it; stopping ends the wait", async () => {
    const listening = open("http://127.0.0.1:9/mcp").listen(() => {});
    listening.stop();
    expect(await listening.opened).toBe(false);
  });

  test("does not take a connection away from calls", async () => {
    const server = await serve((asked, response) => {
      if (asked.method === "GET") stream(response);
      else answer(asked, response);
    });
    const channel = open(server.url);
    const listens = Array.from({ length: 200 }, () => channel.listen(() => {}));
    await Promise.all(listens.map(({ opened }) => opened));
    await channel.exchange(request);
    for (const listening of listens) listening.stop();
    await until("the connections to close", () => server.connections.open <= 2);
  });
});

describe("closing", () => {
  test("fails what is in flight, ends the streams and leaves no connection", async () => {
    const server = await serve((asked, response) => {
      if (asked.method === "GET") stream(response);
    });
    const channel = open(server.url);
    await channel.listen(() => {}).opened;
    const waiting = [
      failure(channel.exchange(request)),
      failure(channel.post({ jsonrpc: "2.0", method: "x" })),
    ];
    await server.request(2);
    await channel.close();
    for (const error of await Promise.all(waiting)) {
      expect(error).toMatchObject({
        code: "upstream_closed",
        message: "the connection to quiz was closed by the gateway",
      });
    }
    expect((await channel.closed).code).toBe("upstream_closed");
    expect((await failure(channel.exchange(request))).code).toBe("upstream_closed");
    await until("the connections to close", () => server.connections.open === 0);
    await channel.close();
  });

  test("that ends the session sends a DELETE first", async () => {
    const server = await serve((_asked, response) => void response.writeHead(200).end());
    const channel = open(server.url, { headers: { "x-a": "1" } });
    await channel.close({ headers: { "mcp-session-id": "s" } });
    expect(server.asked[0]).toMatchObject({ method: "DELETE", path: "/mcp", body: "" });
    expect(server.asked[0]?.headers).toMatchObject({ "x-a": "1", "mcp-session-id": "s" });
  });

  test("is not delayed by a server that does not answer the DELETE, or refuses it", async () => {
    const refusing = await serve((_asked, response) => void response.writeHead(405).end());
    await open(refusing.url).close({ headers: {} });
    const silent = await serve(() => {});
    // It would never answer: who waited for that would wait for longer than any test may take.
    await open(silent.url).close({ headers: {} });
  });
});
