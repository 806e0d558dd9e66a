/** Requests of an HTTP channel and their JSON responses: headers, sizes, and what cannot be sent. */
import { describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import type { Channel } from "../../../src/upstream/transport/channel.js";
import { type Envelope, FRAME_FAULT } from "../../../src/wire/envelope.js";
import { answer, event, json, stream } from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";
import { failure, open, request, serve } from "./http-support.js";

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

test("of 500 answers at once 32 are on their way, each is sent once, and none after the channel is closed", async () => {
  const held: (() => void)[] = [];
  let most = 0;
  const server = await serve((_asked, response) => {
    held.push(() => void response.writeHead(202).end());
    most = Math.max(most, held.length);
  });
  const channel = open(server.url);
  const answers = Array.from({ length: 500 }, (_, id) =>
    channel.post({ jsonrpc: "2.0", id, result: {} } as Envelope),
  );
  const outcomes = Promise.allSettled(answers);
  for (let done = 0; done < 400; done += 1) {
    await until("an answer that is on its way", () => held.length > 0);
    held.shift()?.();
  }
  expect(await Promise.allSettled(answers.slice(0, 300))).toEqual(
    Array.from({ length: 300 }, () => ({ status: "fulfilled", value: undefined })),
  );
  await channel.close();
  expect((await outcomes).at(-1)).toMatchObject({ status: "rejected", reason: expect.any(GatewayError) });
  expect(most).toBeLessThanOrEqual(32);
  const sent = server.asked.map(({ body }) => (JSON.parse(body) as { id: number }).id);
  expect(new Set(sent).size).toBe(sent.length);
  expect(sent.length).toBeLessThan(450);
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
    "may be a batch (%s) with invalid members; a bad request in it is treated as one",
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

  test("of some megabytes in many pieces is assembled", async () => {
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

test("an endless answer is cut off", async () => {
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
    message: "quiz sent a response longer than 67108864 bytes",
  });
  expect(await (await server.request(0)).hungUp).toBe(true);
});

test("a message that cannot be serialized is refused, and the channel stays open", async () => {
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

  test("is done when the server has accepted it, whatever the body", async () => {
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
