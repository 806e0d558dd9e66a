/** Event streams of an HTTP channel: responses on a stream, resumption after a drop, and the stream of a listener. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { GatewayError } from "../../../src/core/errors.js";
import type { Envelope } from "../../../src/wire/envelope.js";
import { answer, event, stream } from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";
import { failure, open, request, serve } from "./http-support.js";

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
        event({ jsonrpc: "2.0", id: "07", result: { wrong: 1 } }),
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

  test("fails at once when its response is invalid", async () => {
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

  test("is resumed after the last event with an id, after the server's retry time", async () => {
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
  ])("%s and had no ids has ended", async (_, drop, message) => {
    const server = await serve((_asked, reply) => {
      stream(reply, event({ jsonrpc: "2.0", method: "a" }), 'data: {"half', "");
      setImmediate(() => drop(reply));
    });
    const error = await failure(open(server.url).exchange(request));
    expect(error).toMatchObject({ code: "upstream_closed", retryable: true });
    expect(error.message).toContain(message);
    expect(server.asked).toHaveLength(1);
  });

  test("and cannot be resumed has ended", async () => {
    const server = await serve((asked, reply) => {
      if (asked.method === "POST") stream(reply, "id: 1\nretry: 1\ndata:\n\n").end();
      else reply.writeHead(405).end();
    });
    expect(await failure(open(server.url).exchange(request))).toMatchObject({
      code: "upstream_closed",
      message: "quiz gave no answer: its stream could not be resumed (HTTP status 405)",
    });
  });

  test("and cannot be resumed now is retried a few times", async () => {
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
    "does not open if the server answers %i, without an error",
    async (status) => {
      const onLost = vi.fn<(reason: GatewayError) => void>();
      const server = await serve((_asked, response) => void response.writeHead(status).end());
      expect(await open(server.url).listen(() => {}, { onLost }).opened).toBe(false);
      expect(onLost).not.toHaveBeenCalled();
      expect(server.asked).toHaveLength(1);
    },
  );

  test("resumes after a drop with Last-Event-ID, after the retry time of the server", async () => {
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

  test("is reopened without Last-Event-ID if the server rejects it", async () => {
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

  test("ends with the reason when the session is lost", async () => {
    const server = await serve((_asked, response) => {
      if (server.asked.length === 1) stream(response, "retry: 5\n\n").end();
      else response.writeHead(404).end();
    });
    const reason = await new Promise<GatewayError>((onLost) => {
      open(server.url).listen(() => {}, { onLost });
    });
    expect(reason.cause).toMatchObject({ status: 404 });
  });

  test("before the server is up waits for it; stopping ends the wait", async () => {
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
