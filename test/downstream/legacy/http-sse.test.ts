/** Hosts of the 2024-11-05 transport: one stream down, POSTs up. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ANONYMOUS } from "../../../src/core/client.js";
import { createLegacyEdge } from "../../../src/downstream/legacy/edge.js";
import { createHttpSse, type HttpSseOptions } from "../../../src/downstream/legacy/http-sse.js";
import { parseDocument } from "../../../src/wire/envelope.js";
import { echo, type FakePortOptions, fakePort, pendingHandler, textReply } from "../../support/fake-port.js";
import { Events, initializeMessage } from "./support.js";

async function sseServer(portOptions: FakePortOptions = {}, options: Partial<HttpSseOptions> = {}) {
  const gateway = fakePort(portOptions);
  const edge = createLegacyEdge({ gateway, sessions: { max: 10, idleMs: 60_000 }, keepAliveMs: 15_000 });
  const closed = { count: 0, next: () => {} };
  const hooks = {
    closed: () => {
      closed.count += 1;
      closed.next();
    },
  };
  const sse = createHttpSse({ edge, keepAliveMs: 15_000, hooks, ...options });
  const server = createServer(async (request, response) => {
    const id = request.headers["x-principal"];
    const principal = typeof id === "string" ? { ...ANONYMOUS, id } : ANONYMOUS;
    const exchange = { request, response, principal, endpoint: "", challenge: () => "Bearer" };
    if (request.method === "GET") {
      try {
        return sse.get(exchange);
      } catch {
        return response.writeHead(503).end();
      }
    }
    let body = "";
    for await (const chunk of request) body += String(chunk);
    await sse.post({ ...exchange, message: parseDocument(body) });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(async () => {
    await sse.close();
    await edge.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connect = async () => {
    const events = new Events(await fetch(`${url}/sse`));
    const endpoint = await events.event();
    const post = (message: unknown, headers = {}) =>
      fetch(url + endpoint?.data, { method: "POST", body: JSON.stringify(message), headers });
    return { events, endpoint, post };
  };
  const nextClosed = () =>
    new Promise<void>((resolve) => {
      closed.next = resolve;
    });
  return { url, port: gateway, edge, sse, connect, nextClosed };
}

const callTool = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "t" } });
const initialize = initializeMessage({ version: "2024-11-05" });

test("the first event is the endpoint, all others are messages on the same stream", async () => {
  const server = await sseServer({ handlers: { "tools/call": echo } });
  const { events, endpoint, post } = await server.connect();
  expect(endpoint).toMatchObject({
    event: "endpoint",
    data: expect.stringMatching(/^\/messages\?sessionId=[\w-]{36}$/),
  });
  expect((await post(initialize)).status).toBe(202);
  expect(await events.message()).toMatchObject({ id: "init", result: { protocolVersion: "2024-11-05" } });
  await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  await post(callTool(1));
  const answer = await events.event();
  expect(answer?.event).toBe("message");
  expect(JSON.parse(answer?.data ?? "")).toMatchObject({ id: 1, result: { content: [{ text: "t {}" }] } });
  server.port.publish({ kind: "list", list: "tools" });
  expect(await events.message()).toMatchObject({ method: "notifications/tools/list_changed" });
  await events.cancel();
});

test("the session ends with the stream, and its calls with it", async () => {
  const pending = pendingHandler();
  const server = await sseServer({ handlers: { "tools/call": pending.handler } });
  const { events, post } = await server.connect();
  await post(initialize);
  await events.message();
  await post(callTool(1));
  const call = await pending.called;
  const closed = server.nextClosed();
  await events.cancel();
  await closed;
  expect([call.signal.aborted, server.edge.sessions(), server.port.forgotten.length]).toEqual([true, [], 1]);
  expect((await post(callTool(2))).status).toBe(404);
  pending.answer(textReply("late"));
});

test("a POST to the stream of another principal, or to an unknown one, is refused", async () => {
  const server = await sseServer({ handlers: { "tools/call": echo } });
  const { events, post } = await server.connect();
  expect((await post(initialize, { "x-principal": "eve" })).status).toBe(404);
  for (const path of ["/messages?sessionId=x", "/messages"]) {
    const nowhere = await fetch(server.url + path, { method: "POST", body: JSON.stringify(initialize) });
    expect(nowhere.status).toBe(404);
  }
  expect(server.edge.sessions()).toEqual([]);
  await events.cancel();
});

test("streams are capped, and all end when the gateway stops", async () => {
  const server = await sseServer({}, { maxStreams: 1 });
  const { events } = await server.connect();
  expect((await fetch(`${server.url}/sse`)).status).toBe(503);
  await server.sse.close();
  expect(await events.rest()).toEqual([]);
});
