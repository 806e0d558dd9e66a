/** A channel over the HTTP+SSE transport of 2024-11-05, with a real server at its other end. */
import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { GatewayError } from "../../../src/core/errors.js";
import { type Channel, HttpStatusError } from "../../../src/upstream/transport/channel.js";
import { HttpPool } from "../../../src/upstream/transport/http-pool.js";
import { openSseChannel, type SseOptions } from "../../../src/upstream/transport/sse.js";
import type { Envelope } from "../../../src/wire/envelope.js";
import {
  type Asked,
  event,
  type Respond,
  type ScriptedServer,
  scriptedServer,
  stream,
} from "../../support/servers/scripted-http.js";

async function serve(respond: Respond): Promise<ScriptedServer> {
  const server = await scriptedServer(respond);
  onTestFinished(() => server.close());
  return server;
}

/** A server of the HTTP+SSE transport: names its endpoint, and gives the stream to the handler of POSTs. */
function oldServer(
  onPost: (asked: Asked, say: (message: unknown) => void) => number,
  endpoint = "/messages?session=1",
) {
  let events: ServerResponse | undefined;
  return serve((asked, response) => {
    if (asked.method === "GET") events = stream(response, `event: endpoint\ndata: ${endpoint}\n\n`);
    else response.writeHead(onPost(asked, (message) => events?.write(event(message)))).end("Accepted");
  });
}

async function open(server: ScriptedServer, options: Partial<SseOptions> = {}): Promise<Channel> {
  const url = `${server.origin}/sse`;
  const channel = await openSseChannel({
    name: "quiz",
    url,
    headers: { "x-a": "1" },
    connectTimeoutMs: 60_000,
    ...options,
  });
  onTestFinished(() => channel.close());
  return channel;
}

const reason = (promise: Promise<unknown>): Promise<GatewayError> =>
  promise.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: GatewayError) => error,
  );

test("requests are posted to the endpoint that the server names, and answered on the stream in any order", async () => {
  const held: unknown[] = [];
  const server = await oldServer((asked, say) => {
    held.push(asked.id);
    if (held.length === 50) for (const id of held.reverse()) say({ jsonrpc: "2.0", id, result: { id } });
    return 202;
  });
  const channel = await open(server);
  expect(channel.association).toBe("pipe");
  const ids = Array.from({ length: 50 }, (_, i) => i);
  const answers = await Promise.all(
    ids.map((id) => channel.exchange({ jsonrpc: "2.0", id, method: "x" }, { headers: { "x-b": "2" } })),
  );
  expect(answers.map(({ message }) => message.result?.id)).toEqual(ids);
  expect(server.asked[0]).toMatchObject({ method: "GET", path: "/sse" });
  expect(server.asked[1]).toMatchObject({ method: "POST", path: "/messages?session=1" });
  expect(server.asked[1]?.headers).toMatchObject({
    "x-a": "1",
    "x-b": "2",
    "content-type": "application/json",
  });
});

test("an answer may come before the POST is accepted", async () => {
  const server = await serve((asked, response) => {
    if (asked.method === "GET")
      stream(response, "event: endpoint\ndata: /m\n\n", event({ jsonrpc: "2.0", id: 1, result: {} }));
  });
  const stray = vi.fn<(message: Envelope) => void>();
  const channel = await open(server, { onUnmatchedMessage: stray });
  expect(stray).toHaveBeenCalledTimes(1);
  const quitter = new AbortController();
  const given = reason(channel.exchange({ jsonrpc: "2.0", id: 2, method: "x" }, { signal: quitter.signal }));
  await server.request(1);
  quitter.abort();
  expect((await given).code).toBe("cancelled");
});

test("messages that are no responses are delivered", async () => {
  const server = await oldServer((asked, say) => {
    say({ jsonrpc: "2.0", method: "notifications/message" });
    say({ jsonrpc: "2.0", id: asked.id, result: {} });
    return 202;
  });
  const channel = await open(server);
  const heard: (string | undefined)[] = [];
  const listening = channel.listen((message) => heard.push(message.method));
  expect(await listening.opened).toBe(true);
  await channel.exchange({ jsonrpc: "2.0", id: 1, method: "x" });
  listening.stop();
  await channel.exchange({ jsonrpc: "2.0", id: 2, method: "x" });
  expect(heard).toEqual(["notifications/message"]);
});

test("a POST that is refused fails its exchange with the status", async () => {
  const server = await oldServer(() => 404);
  const channel = await open(server);
  const { cause } = await reason(channel.exchange({ jsonrpc: "2.0", id: 1, method: "x" }));
  expect(cause).toMatchObject({ status: 404 });
  expect((await reason(channel.post({ jsonrpc: "2.0", method: "x" }))).cause).toBeInstanceOf(HttpStatusError);
});

test("the end of the stream is the end of the channel", async () => {
  let events: ServerResponse | undefined;
  const server = await serve((asked, response) => {
    if (asked.method === "GET") events = stream(response, "event: endpoint\ndata: /m\n\n");
    else response.writeHead(202).end();
  });
  const channel = await open(server);
  const waiting = reason(channel.exchange({ jsonrpc: "2.0", id: 1, method: "x" }));
  await server.request(1);
  events?.end();
  expect(await waiting).toMatchObject({ code: "upstream_closed", message: "quiz ended its event stream" });
  expect((await channel.closed).code).toBe("upstream_closed");
  expect((await reason(channel.exchange({ jsonrpc: "2.0", id: 2, method: "x" }))).code).toBe(
    "upstream_unavailable",
  );
});

test("closing closes the stream and fails pending requests", async () => {
  const server = await oldServer(() => 202);
  const channel = await open(server);
  const waiting = reason(channel.exchange({ jsonrpc: "2.0", id: 1, method: "x" }));
  await server.request(1);
  await channel.close();
  expect(await waiting).toMatchObject({ code: "upstream_closed", message: "quiz was closed by the gateway" });
  expect(await server.asked[0]?.hungUp).toBe(true);
});

describe("it does not open", () => {
  test("if the server has no such stream", async () => {
    const refusing = await serve((_asked, response) => void response.writeHead(405).end());
    expect((await reason(open(refusing))).cause).toMatchObject({ status: 405 });
    const page = await serve(
      (_asked, response) => void response.writeHead(200, { "content-type": "text/html" }).end("hi"),
    );
    expect((await reason(open(page))).message).toBe("quiz offers no event stream at this address");
  });

  test("if the server names no endpoint in time", async () => {
    const server = await serve((_asked, response) => void stream(response));
    expect(await reason(open(server, { connectTimeoutMs: 1_000 }))).toMatchObject({
      message: "quiz sent no endpoint event within the connect timeout",
    });
    expect(await server.asked[0]?.hungUp).toBe(true);
  });

  test.each(["http://127.0.0.1:9/steal", "//evil.example/m", "http://", "file:///etc/passwd"])(
    "if the endpoint is elsewhere: %s",
    async (endpoint) => {
      const server = await oldServer(() => 202, endpoint);
      expect((await reason(open(server))).message).toMatch(/^quiz named an endpoint that is not at http:/);
      expect(server.asked).toHaveLength(1);
    },
  );

  test("when it was cancelled", async () => {
    const server = await serve(() => {});
    const quitter = new AbortController();
    const given = reason(open(server, { signal: quitter.signal }));
    await server.request(0);
    quitter.abort();
    expect((await given).code).toBe("cancelled");
  });
});

test("a request that cannot be written fails alone", async () => {
  const server = await oldServer((asked, say) => {
    say({ jsonrpc: "2.0", id: (JSON.parse(asked.body) as { id: number }).id, result: {} });
    return 202;
  });
  const pool = new HttpPool({ url: server.origin, connectTimeoutMs: 60_000 });
  onTestFinished(() => pool.destroy());
  const channel = await open(server, { pool });
  const request = { jsonrpc: "2.0", id: 1, method: "ping" } as const;
  vi.spyOn(pool, "dispatch").mockImplementationOnce(() => {
    throw new TypeError("no such header");
  });
  expect(await reason(channel.exchange(request))).toMatchObject({ code: "upstream_unavailable" });
  expect((await channel.exchange({ ...request, id: 2 })).message).toMatchObject({ id: 2 });
});
