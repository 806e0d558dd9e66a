/** Load shedding of a listener, in order. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { PressureLevel } from "../../../src/core/pressure.js";
import { createLegacyEdge } from "../../../src/downstream/legacy/edge.js";
import { BodyBudget } from "../../../src/downstream/read-body.js";
import { SharedStreamQuota } from "../../../src/gateway/overload.js";
import { echo, fakePort, pendingHandler, textReply } from "../../support/fake-port.js";
import { modernRequest, open, raw, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";
import { until } from "../../support/until.js";

const gateway = fakePort({ handlers: { "tools/call": echo } });
const call = modernRequest("tools/call", { name: "echo" }, { id: 7 });
const subscribe = modernRequest("subscriptions/listen", { notifications: { toolsListChanged: true } });

/** A listener whose memory is as short as the test says, and everything it has refused. */
async function pressed(options: Parameters<typeof listening>[0] = {}) {
  const pressure: { level: PressureLevel } = { level: 0 };
  const refused: string[] = [];
  const onShed = (what: string) => refused.push(what);
  const streamQuota = new SharedStreamQuota({ pressure, onShed });
  const host = await listening({ gateway, pressure, onShed, edge: { streamQuota }, ...options });
  return { ...host, pressure, refused };
}

test("at the first level streams are refused: calls are served, without keep-alive", async () => {
  const { url, pressure, refused } = await pressed();
  const before = await open(url, subscribe);
  pressure.level = 1;
  const served = await send(url, call);
  expect([served.status, served.headers.connection]).toEqual([200, "close"]);
  const stream = await send(url, subscribe);
  expect([stream.status, stream.headers["retry-after"]]).toEqual([503, "5"]);
  expect(stream.json().error).toMatchObject({ data: { cardea: { code: "overloaded", retryable: true } } });
  expect(before.destroyed).toBe(false);
  expect(refused).toEqual(["streams"]);
  pressure.level = 0;
  expect((await open(url, subscribe)).statusCode).toBe(200);
});

test("at the second level calls are refused with their id, and messages that end work are still accepted", async () => {
  const { url, origin, pressure, refused } = await pressed();
  pressure.level = 2;
  const answer = await send(url, call);
  expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "1"]);
  expect(answer.json()).toMatchObject({ id: 7, error: { data: { cardea: { code: "overloaded" } } } });
  const large = modernRequest("tools/call", { name: "echo", arguments: { text: "x".repeat(100_000) } });
  expect((await send(url, large)).status).toBe(503);
  const cancel = modernRequest("notifications/cancelled", { requestId: 1 });
  const { id: _, ...notification } = JSON.parse(cancel.body) as { readonly id: number };
  expect((await send(url, { ...cancel, body: JSON.stringify(notification) })).status).toBe(202);
  expect((await send(`${origin}/healthz`, { method: "GET" })).status).toBe(200);
  expect(refused).toEqual(["calls", "calls"]);
});

test("at the limit a new connection is closed, and an open one is served", async () => {
  const { handler, called, answer } = pendingHandler();
  const {
    url,
    port: bound,
    pressure,
    refused,
  } = await pressed({
    gateway: fakePort({ handlers: { "tools/call": handler } }),
  });
  const running = send(url, call);
  await called;
  pressure.level = 3;
  expect(await raw(bound, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")).toBe("");
  answer(textReply("done"));
  expect((await running).status).toBe(200);
  expect(refused).toEqual(["connections"]);
});

test("near the connection limit new ones get 503, and the others are served", async () => {
  const { url, origin, port: bound, refused } = await pressed({ maxConnections: 20 });
  const early = connect(bound, "127.0.0.1");
  await once(early, "connect");
  const idle = Array.from({ length: 17 }, () => connect(bound, "127.0.0.1"));
  onTestFinished(() => {
    for (const socket of [early, ...idle]) socket.destroy();
  });
  await Promise.all(idle.map((socket) => once(socket, "connect")));
  const late = await send(url, call);
  expect([late.status, late.headers.connection, late.headers["retry-after"]]).toEqual([503, "close", "5"]);
  expect((await send(`${origin}/healthz`, { method: "GET" })).status).toBe(200);
  const answered = once(early, "data");
  const { body, headers } = call;
  const lines = Object.entries({ ...headers, host: "localhost", "content-length": String(body.length) });
  early.write(
    `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
  expect(String(await answered)).toMatch(/^HTTP\/1\.1 200 /);
  expect(refused).toEqual(["connections"]);
});

test("large bodies are accepted up to a sum, and again when earlier ones are done", async () => {
  const { handler, called, answer } = pendingHandler();
  const { url, refused } = await pressed({
    gateway: fakePort({ handlers: { "tools/call": handler } }),
    bodyBudgetBytes: 300_000,
  });
  const large = modernRequest("tools/call", { name: "echo", arguments: { text: "x".repeat(200_000) } });
  const first = send(url, large);
  await called;
  expect((await send(url, large)).status).toBe(503);
  expect(refused).toEqual(["calls"]);
  answer(textReply("done"));
  expect((await first).status).toBe(200);
  const again = await until("room for the next", async () => {
    const { status } = await send(url, large);
    return status === 200 && status;
  });
  expect(again).toBe(200);
});

test("a body without a length counts as the longest there may be", () => {
  const bodies = new BodyBudget({ limit: 1_000_000 });
  const response = { once: () => response } as never;
  bodies.reserve(900_000, response);
  expect(() => bodies.reserve(200_000, response)).toThrow(/too many large requests/);
  bodies.reserve(1_000, response);
});

test("streams are limited per principal, or in all without principals; one that ends makes room", () => {
  const places = new SharedStreamQuota({ total: 5, perPrincipal: 2 });
  const someone = (id: string) => ({ id, groups: [], claims: {} });
  const leave = places.acquire(someone("alice"));
  places.acquire(someone("alice"));
  expect(() => places.acquire(someone("alice"))).toThrow(
    /too many open streams for this principal \(limit 2\)/,
  );
  places.acquire(someone("bob"));
  leave();
  leave();
  places.acquire(someone("alice"));
  for (let i = 0; i < 2; i += 1) places.acquire(someone("anonymous"));
  expect(() => places.acquire(someone("carol"))).toThrow(/5 streams are open/);
});

test("a GET stream of a legacy host counts, until it ends", async () => {
  const streamQuota = new SharedStreamQuota({ total: 1 });
  const legacy = createLegacyEdge({
    gateway,
    sessions: { max: 10, idleMs: 60_000 },
    keepAliveMs: 60_000,
    streamQuota,
  });
  const { url } = await listening({ gateway, legacy });
  const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const initialize = {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  };
  const opened = await send(url, { headers: json, body: JSON.stringify(initialize) });
  const headers = { accept: "text/event-stream", "mcp-session-id": String(opened.headers["mcp-session-id"]) };
  const stream = await open(url, { method: "GET", headers });
  expect(stream.statusCode).toBe(200);
  const second = await send(url, { method: "GET", headers });
  expect([second.status, second.headers["retry-after"]]).toEqual([503, "5"]);
  stream.destroy();
  await until("its place to be free", async () => {
    const next = await open(url, { method: "GET", headers });
    next.destroy();
    return next.statusCode === 200;
  });
});
