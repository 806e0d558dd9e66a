/** Compressed responses of servers that ignore `accept-encoding: identity`: documents, event streams, bombs, and what is no content. */
import { randomBytes } from "node:crypto";
import * as zlib from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openSseChannel } from "../../../src/upstream/transport/sse.js";
import type { Envelope } from "../../../src/wire/envelope.js";
import { sample } from "../../support/sample.js";
import { answer, event } from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";
import { brotli, FORMS, send } from "./content-encodings.js";
import { failure, open, request, serve } from "./http-support.js";

const { gzipSync, deflateRawSync } = zlib;

const response = (result: object, id: unknown = 7) =>
  Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result }));
/** The error of a call to a server that answers so. */
async function failureOf(encoding: string, body: Buffer, type?: string, status?: number) {
  const server = await serve((_, to) => send(to, encoding, body, type, status));
  const error = await failure(open(server.url).exchange(request));
  return { ...error, code: error.code, message: error.message, retryable: error.options.retryable === true };
}

describe("a compressed response", () => {
  test.each(sample("forms of responses", FORMS, 4))(
    "in %s is read, whatever was asked for (%#)",
    async (encoding, compress) => {
      const server = await serve((asked, to) =>
        send(to, encoding, compress(response({ text: "世界" }, asked.id))),
      );
      const channel = open(server.url);
      expect((await channel.exchange(request)).message.result).toEqual({ text: "世界" });
      expect((await channel.exchange(request)).message.result).toEqual({ text: "世界" });
      expect(server.asked[0]?.headers["accept-encoding"]).toBe("identity");
      expect(server.connections.made).toBeLessThanOrEqual(2);
    },
  );

  test.each(sample("forms of megabytes", FORMS, 1))(
    "of some megabytes in %s is read, while other calls are served (%#)",
    async (encoding, compress) => {
      const text = randomBytes(3_000_000).toString("base64");
      const large = compress(response({ text }));
      const server = await serve((asked, to) =>
        asked.headers["x-large"] === undefined ? answer(asked, to) : send(to, encoding, large),
      );
      const channel = open(server.url);
      const first = channel.exchange(request, { headers: { "x-large": "1" } });
      expect((await channel.exchange(request)).message.result).toEqual({});
      expect((await first).message.result).toEqual({ text });
    },
  );

  test.each(["identity", "none", "utf-8", "", "Identity, identity"])(
    "whose header names no compression is read as it is (%j)",
    async (encoding) => {
      const server = await serve((_, to) => send(to, encoding, response({ ok: true })));
      expect((await open(server.url).exchange(request)).message.result).toEqual({ ok: true });
    },
  );

  test("of several gzip members is one", async () => {
    const bytes = response({ ok: true });
    const members = [bytes.subarray(0, 20), bytes.subarray(20)].map((part) => gzipSync(part));
    const server = await serve((_, to) => send(to, "gzip", Buffer.concat(members)));
    expect((await open(server.url).exchange(request)).message.result).toEqual({ ok: true });
  });

  test("may have no body", async () => {
    const server = await serve((_, to) => to.writeHead(202, { "content-encoding": "br" }).end());
    await open(server.url).post({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect(server.asked).toHaveLength(1);
  });

  test("is cancelled with its call", async () => {
    const server = await serve((_, to) => {
      to.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      to.write(gzipSync(response({ ok: true })).subarray(0, 20));
    });
    const abort = new AbortController();
    const call = open(server.url).exchange(request, { signal: abort.signal });
    const asked = await server.request(0);
    abort.abort();
    expect((await failure(call)).code).toBe("cancelled");
    expect(await asked.hungUp).toBe(true);
  });
});

describe("a compressed event stream", () => {
  const compressors = [
    ["gzip", () => zlib.createGzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
    ["deflate", () => zlib.createDeflate({ flush: zlib.constants.Z_SYNC_FLUSH })],
    ["br", () => zlib.createBrotliCompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })],
  ] as const;

  test.each(compressors)("in %s delivers each event when it arrives", async (encoding, compressor) => {
    const stream = compressor();
    const server = await serve((_, to) => {
      to.writeHead(200, { "content-type": "text/event-stream", "content-encoding": encoding });
      stream.pipe(to);
      stream.write(event({ jsonrpc: "2.0", method: "x", params: { at: 0 } }));
    });
    const heard: Envelope[] = [];
    const call = open(server.url).exchange(request, {
      onMessage: (message) => {
        heard.push(message);
        // The next event is written when this one has arrived.
        const at = heard.length;
        stream.write(
          event(
            at < 5 ? { jsonrpc: "2.0", method: "x", params: { at } } : { jsonrpc: "2.0", id: 7, result: {} },
          ),
        );
      },
    });
    expect((await call).message.result).toEqual({});
    expect(heard.map(({ params }) => params?.at)).toEqual([0, 1, 2, 3, 4]);
    stream.end();
  });

  test.each(sample("streams of listeners", compressors, 1))(
    "of a listener in %s stays open, and carries what is alike",
    async (encoding, compressor) => {
      const stream = compressor();
      const server = await serve((_, to) => {
        to.writeHead(200, { "content-type": "text/event-stream", "content-encoding": encoding });
        stream.pipe(to);
      });
      let count = 0;
      const again = event({ jsonrpc: "2.0", method: "x", params: { text: "the same ".repeat(1_000) } });
      const listening = open(server.url).listen(() => {
        count += 1;
        if (count < 1_000) stream.write(again);
      });
      stream.write(again);
      expect(await listening.opened).toBe(true);
      await until("a thousand events", () => count === 1_000);
      expect(server.asked).toHaveLength(1);
      listening.stop();
    },
  );

  test("of the HTTP+SSE transport is read too, with its endpoint", async () => {
    const stream = zlib.createGzip({ flush: zlib.constants.Z_SYNC_FLUSH });
    const server = await serve((asked, to) => {
      if (asked.method === "GET") {
        to.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
        stream.pipe(to);
        stream.write("event: endpoint\ndata: /messages\n\n");
      } else {
        stream.write(event({ jsonrpc: "2.0", id: asked.id, result: { ok: true } }));
        to.writeHead(202).end();
      }
    });
    const channel = await openSseChannel({
      name: "quiz",
      url: server.url,
      headers: {},
      connectTimeoutMs: 60_000,
    });
    onTestFinished(() => channel.close());
    expect((await channel.exchange(request)).message.result).toEqual({ ok: true });
  });

  test("that drops is resumed after its last event", async () => {
    let drop = (): void => {};
    const server = await serve((asked, to) => {
      to.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
      if (asked.method === "GET") {
        to.end(gzipSync(event({ jsonrpc: "2.0", id: 7, result: { after: asked.headers["last-event-id"] } })));
        return;
      }
      const stream = zlib.createGzip({ flush: zlib.constants.Z_SYNC_FLUSH });
      stream.on("data", (chunk: Buffer) => to.write(chunk));
      drop = () => void to.destroy();
      stream.write(`retry: 10\n${event({ jsonrpc: "2.0", method: "x" }, "e1")}`);
    });
    const onMessage = vi.fn<(message: Envelope) => void>(() => drop());
    expect((await open(server.url).exchange(request, { onMessage })).message.result).toEqual({ after: "e1" });
  });
});

describe("a response that cannot be inflated", () => {
  const zeros = Buffer.alloc(8 * 1024 * 1024);

  test.each([
    ["gzip", gzipSync(zeros), undefined],
    ["br", brotli(zeros), undefined],
    ["deflate", deflateRawSync(zeros), undefined],
    ["gzip, gzip", gzipSync(gzipSync(zeros)), undefined],
    // The second stage has no content at all.
    ["deflate, gzip", gzipSync(Buffer.alloc(zeros.length).fill(Buffer.from([0, 0, 0, 255, 255]))), undefined],
    ["gzip", gzipSync(zeros), "text/event-stream"],
  ])("because it is a bomb (%s) is too large", async (encoding, body, type) => {
    expect(await failureOf(encoding, body, type)).toMatchObject({
      code: "too_large",
      message: `quiz gave no usable answer: its compressed response (${encoding}) inflates to more than 100 times its size`,
    });
  });

  test("because its content is longer than any response may be is too large", async () => {
    const block = randomBytes(128 * 1024)
      .toString("hex")
      .replaceAll(/./g, (digit) => digit.repeat(8));
    const member = gzipSync(JSON.stringify(block), { level: 1 });
    const body = Buffer.concat(Array.from({ length: 33 }, () => member));
    expect(await failureOf("gzip", body)).toMatchObject({
      code: "too_large",
      message: "quiz sent a response longer than 67108864 bytes",
    });
  });

  test.each(["compress", "snappy", "lz4", "exi", "gzip, aws-chunked", "gzip, gzip, gzip, gzip, gzip"])(
    "because of its encoding (%s) fails with its name, and is not sent again",
    async (encoding) => {
      const error = await failureOf(encoding, gzipSync(response({})));
      expect(error).toMatchObject({ code: "upstream_closed", retryable: false });
      expect(error.message).toContain("quiz gave no usable answer: its response has the content encoding");
      expect(error.message).toContain(encoding.replace("gzip, aws", "aws"));
    },
  );

  test.each(sample("forms that are cut off", FORMS, 3))(
    "because it is cut off (%s) fails (%#)",
    async (encoding, compress) => {
      const whole = compress(response({ text: randomBytes(20_000).toString("hex") }));
      for (const length of [1, 12, 5_000, whole.length - 1]) {
        const error = await failureOf(encoding, whole.subarray(0, length));
        expect(error.code).toBe("upstream_closed");
        expect(error.message).toMatch(/is cut off|is not what its content encoding says/);
      }
    },
  );

  test.each(["gzip", "br", "deflate"])("because it is not compressed (%s) fails", async (encoding) => {
    expect((await failureOf(encoding, response({}))).message).toMatch(
      /^quiz gave no answer: its (response is not what its content encoding says|compressed response) \((gzip|br|deflate)\)/,
    );
  });

  test("because of its encoding, with an error status, fails with its status", async () => {
    expect(await failureOf("snappy", Buffer.from("?"), "text/plain", 503)).toMatchObject({
      code: "upstream_unavailable",
      message: expect.stringContaining("503"),
    });
    expect(await failureOf("gzip", Buffer.from("?"), "text/plain", 403)).toMatchObject({
      code: "upstream_rejected",
      message: expect.stringContaining("403"),
    });
  });
});
