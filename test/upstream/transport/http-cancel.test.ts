/** Cancel and close of an HTTP channel: which connections end, and what waiting calls get. */
import { describe, expect, test } from "vitest";
import { answer, event, type Respond, stream } from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";
import { failure, open, request, serve } from "./http-support.js";

describe("cancellation", () => {
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

describe("closing", () => {
  test("fails pending requests, ends the streams and closes all connections", async () => {
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
    const asked = server.asked.length;
    const late = [channel.exchange(request), channel.post({ jsonrpc: "2.0", method: "x" })];
    for (const error of await Promise.all(late.map(failure)))
      expect(error).toMatchObject({ code: "upstream_unavailable", options: { retryable: true } });
    expect(server.asked).toHaveLength(asked);
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
