/** How a listener starts, says how it is, and stops; and how it rids itself of connections that do nothing. */
import { once } from "node:events";
import { connect, Server } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { ANONYMOUS } from "../../../src/core/client.js";
import { SILENT } from "../../../src/core/logger.js";
import {
  type Authentication,
  NO_AUTHENTICATION,
} from "../../../src/downstream/authenticate/authentication.js";
import { createForwarder } from "../../../src/downstream/forward-to-owner.js";
import { fakePort, pendingHandler, resultReply, textReply } from "../../support/fake-port.js";
import { givenUp } from "../../support/given-up.js";
import { modernRequest, open, raw, send } from "../../support/http-host.js";
import { listening, recordingEdge } from "../../support/listening.js";
import { until } from "../../support/until.js";

test("the probes answer, whatever address they came by, and readiness gives its reasons", async () => {
  let readiness = { ready: true, reasons: [] as string[] };
  const { origin } = await listening({ readiness: () => readiness });
  const get = (path: string, host: string) => send(`${origin}${path}`, { method: "GET", headers: { host } });
  for (const host of ["localhost", "10.1.2.3:8080"]) {
    expect((await get("/healthz", host)).status).toBe(200);
    expect((await get("/readyz", host)).json()).toEqual({ ready: true, reasons: [] });
  }
  readiness = { ready: false, reasons: ["files is not up"] };
  const answer = await get("/readyz", "localhost");
  expect([answer.status, answer.json()]).toEqual([503, readiness]);
  expect((await get("/healthz", "localhost")).status).toBe(200);
  expect((await get("/readyz", "evil.example.com")).status).toBe(403);
});

test("liveness has the same body on both listeners", async () => {
  const { origin } = await listening({
    readiness: () => ({ ready: false, reasons: ["the gateway is stopping"] }),
  });
  expect((await send(`${origin}/healthz`, { method: "GET" })).json()).toEqual({ status: "ok" });
});

test("HEAD is answered once, as GET would be, and nothing is written to stderr", async () => {
  const complaints = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => complaints.mockRestore());
  const authentication: Authentication = {
    ...NO_AUTHENTICATION,
    authenticate: async () => {
      await turn();
      return ANONYMOUS;
    },
  };
  const { origin } = await listening({ gateway: fakePort({ scopes: ["files"] }), authentication });
  for (const [path, status] of [
    ["/healthz", 200],
    ["/readyz", 200],
    ["/mcp", 405],
    ["/mcp/files", 405],
    ["/nothing", 404],
  ] as const) {
    const answer = await send(`${origin}${path}`, { method: "HEAD" });
    expect([path, answer.status, answer.headers["content-type"], answer.text]).toEqual([
      path,
      status,
      "application/json",
      "",
    ]);
  }
  await turn();
  expect(complaints.mock.calls).toEqual([]);
});

test("404 names the path of MCP", async () => {
  const { origin } = await listening({ listen: { path: "/tools/mcp" } });
  const answer = await send(`${origin}/`, { method: "GET" });
  expect([answer.status, answer.json().error]).toMatchObject([
    404,
    { message: "there is nothing at this path; the MCP endpoint is /tools/mcp" },
  ]);
});

test("listening beyond loopback without authentication is refused, unless configured", async () => {
  await expect(listening({ listen: { host: "0.0.0.0" } })).rejects.toThrow(/refused to listen on 0\.0\.0\.0/);
  await listening({ listen: { host: "0.0.0.0", insecure: true } });
  const authentication = { ...NO_AUTHENTICATION, isRequired: true };
  await listening({ listen: { host: "0.0.0.0" }, authentication });
});

test("a stop closes the idle connections of hosts at once, and those of other processes when the sessions have moved", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let onMoved = (): void => {};
  const moved = new Promise<void>((resolve) => (onMoved = resolve));
  const legacy = { ...recordingEdge(), close: () => moved };
  const forwarder = createForwarder({ isForeign: () => false, locate: () => "here", close() {} }, SILENT);
  const admit = () => ({ hops: 1, principal: ANONYMOUS });
  const peers = { forwarder, bind: { host: "127.0.0.1", port: 0 }, admit };
  const { port, peerPort = 0, listener } = await listening({ legacy, peers });
  const kept = async (at: number) => {
    const socket = connect(at, "127.0.0.1");
    const ask = async (): Promise<string> => {
      socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
      return String(await Promise.race([once(socket, "data"), once(socket, "close")]));
    };
    expect(await ask()).toContain("200 OK");
    return { socket, ask };
  };
  const peer = await kept(peerPort);
  const host = await kept(port);
  const stopped = listener.stop(60_000);
  await once(host.socket, "close");
  vi.advanceTimersByTime(1_000);
  // Its answer says that the connection closes, after which no request is written to it.
  expect(await peer.ask()).toMatch(/200 OK.*connection: close/is);
  const idle = await kept(peerPort);
  onMoved();
  await Promise.all([stopped, idle.socket.closed || once(idle.socket, "close")]);
});

test("a stop closes connections that were never used, as clients open in advance", async () => {
  const { port, listener } = await listening();
  const unused = connect(port, "127.0.0.1");
  await once(unused, "connect");
  const stopped = listener.stop(600_000);
  await Promise.all([stopped, once(unused, "close")]);
});

test("a port that is taken is an error at start", async () => {
  const { port } = await listening();
  await expect(listening({ listen: { port } })).rejects.toThrow(/EADDRINUSE/);
});

test("a connection that cannot be accepted does not affect others", async () => {
  const listen = vi.spyOn(Server.prototype, "listen");
  const { origin } = await listening();
  const server = listen.mock.contexts[0] as Server;
  listen.mockRestore();
  // What the system says when there are no descriptors left.
  server.emit("error", new Error("accept EMFILE"));
  expect((await send(`${origin}/healthz`, { method: "GET" })).status).toBe(200);
});

test("a slow request head and a slow body time out (slowloris)", async () => {
  const { port } = await listening({ timeouts: { headersMs: 100, requestMs: 200 } });
  const [head, body] = await Promise.all([
    raw(port, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"),
    raw(
      port,
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    ),
  ]);
  expect(head).toMatch(/^HTTP\/1\.1 408 /);
  expect(body).toMatch(/^HTTP\/1\.1 408 /);
});

test("a call may be quiet for longer than a reader may stall, and a reader that stalls is cut off", async () => {
  const { handler, called, answer } = pendingHandler();
  const gateway = fakePort({
    handlers: {
      "tools/call": handler,
      "resources/read": () => resultReply({ blob: "x".repeat(64 * 1024 * 1024) }),
    },
  });
  let noticed: (sentence: string) => void = () => {};
  const warned = new Promise<string>((resolve) => {
    noticed = resolve;
  });
  const logger = { ...SILENT, warn: (_fields: object, sentence: string) => noticed(sentence) };
  const { url } = await listening({ gateway, logger, timeouts: { stallMs: 1_000 } });
  const quiet = send(url, modernRequest("tools/call", { name: "slow" }));
  await called;
  const stalled = await open(url, modernRequest("resources/read", { uri: "a:b" }));
  expect(await warned).toContain("the client does not read");
  await expect(stalled.toArray()).rejects.toThrow(/aborted/);
  answer(textReply("late"));
  expect((await quiet).status).toBe(200);
});

test("an idle connection gets a Keep-Alive timeout, and is closed some time after it", async () => {
  const { port } = await listening({ listen: { keepAliveMs: 1_000 } });
  const socket = connect(port, "127.0.0.1");
  let heard = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    heard += text;
  });
  const ask = async (): Promise<void> => {
    const answers = heard.split("HTTP/1.1 200").length;
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await until("an answer", () => heard.split("HTTP/1.1 200").length > answers);
  };
  await ask();
  expect(heard).toContain("timeout=1");
  await ask();
  await once(socket, "close");
});

test("connections beyond the limit are dropped", async () => {
  const { port } = await listening({ maxConnections: 1 });
  const first = connect(port, "127.0.0.1");
  await once(first, "connect");
  const second = connect(port, "127.0.0.1");
  await once(second, "close");
  expect(first.destroyed).toBe(false);
  first.destroy();
});

test("stopping ends subscriptions with their response, waits for calls, and accepts no more", async () => {
  const { handler, called, answer } = pendingHandler();
  const { url, listener } = await listening({ gateway: fakePort({ handlers: { "tools/call": handler } }) });
  const subscribed = open(
    url,
    modernRequest("subscriptions/listen", { notifications: { toolsListChanged: true } }),
  );
  const running = send(url, modernRequest("tools/call", { name: "slow" }));
  await called;
  const subscription = await subscribed;
  const stopped = listener.stop(10_000);
  subscription.setEncoding("utf8");
  let heard = "";
  for await (const chunk of subscription) heard += chunk as string;
  expect(heard).toContain('"result":');
  await expect(send(url, modernRequest("tools/list"))).rejects.toThrow(/ECONNREFUSED/);
  answer(textReply("done"));
  expect((await running).json().result).toMatchObject({ content: [{ text: "done" }] });
  await stopped;
});

test("with a linger time it keeps serving, closes each connection after its response, and then accepts no more", async () => {
  const { url, listener } = await listening({
    gateway: fakePort({ handlers: { "tools/list": () => resultReply({ tools: [] }) } }),
  });
  let idle = false;
  const stopped = listener.stop(10_000, 60_000, () => idle);
  const served = await send(url, modernRequest("tools/list"));
  expect(served.status).toBe(200);
  expect(served.headers.connection).toBe("close");
  idle = true;
  await stopped;
  await expect(send(url, modernRequest("tools/list"))).rejects.toThrow(/ECONNREFUSED/);
});

test("it lingers no longer than configured, nor than calls or /readyz polls need", async () => {
  const other = await listening();
  await other.listener.stop(10_000, 100, () => false);
  await expect(send(`${other.origin}/readyz`, { method: "GET" })).rejects.toThrow(/ECONNREFUSED/);

  let idle = false;
  const { origin, listener } = await listening({
    readiness: () => ({ ready: false, reasons: ["stopping"] }),
  });
  const stopped = listener.stop(10_000, 60_000, () => idle);
  expect((await send(`${origin}/readyz`, { method: "GET" })).status).toBe(503);
  idle = true;
  await stopped;
  await expect(send(`${origin}/readyz`, { method: "GET" })).rejects.toThrow(/ECONNREFUSED/);
});

test("calls that do not finish within the grace period are aborted", async () => {
  const { handler, called } = pendingHandler();
  const { url, listener } = await listening({ gateway: fakePort({ handlers: { "tools/call": handler } }) });
  const running = send(url, modernRequest("tools/call", { name: "slow" }));
  const { signal } = await called;
  await Promise.all([givenUp(signal), listener.stop(0), expect(running).rejects.toThrow()]);
});
