/** A server over HTTP that behaves as it is told; the script that starts it may step in before each request. */
import { randomUUID } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "./behaviour.mjs";

/**
 * @param {{ era?: "legacy" | "modern" | "both", tools?: object[], sse?: boolean, port?: number, host?: string,
 *           intercept?: (request, response, message) => boolean | Promise<boolean> }} options
 *   `sse`: every answer to a call is an event stream; `intercept` returns true for what it has answered itself
 */
export async function httpUpstream(options = {}) {
  const { sse = false, host = "127.0.0.1", port = 0 } = options;
  const answer = createServer(options);
  const sessions = new Set();
  const streams = new Set();
  const sockets = new Set();
  const self = {
    ledger: answer.ledger,
    answer,
    sessions,
    sockets,
    /** May be replaced at any time. */
    intercept: options.intercept,
    /** Calls whose connection was closed before their answer. */
    givenUp: [],
    requests: 0,
  };

  const server = createHttpServer((request, response) => {
    self.requests += 1;
    const session = request.headers["mcp-session-id"];
    if (request.method === "GET") {
      if (session === undefined || !sessions.has(session)) return response.writeHead(405).end();
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      streams.add(response);
      response.on("close", () => streams.delete(response));
      return undefined;
    }
    if (request.method === "DELETE") {
      sessions.delete(session);
      return response.writeHead(200).end();
    }
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => void serve(request, response, JSON.parse(Buffer.concat(chunks))));
    return undefined;
  });

  async function serve(request, response, message) {
    if ((await self.intercept?.(request, response, message)) === true) return;
    const session = request.headers["mcp-session-id"];
    if (session !== undefined && !sessions.has(session)) {
      response.writeHead(404).end();
      return;
    }
    const streaming = sse && message.method === "tools/call";
    const begin = () => {
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
    };
    const event = (object) => response.write(`data: ${JSON.stringify(object)}\n\n`);
    const say = (method, params) => {
      const notification = { jsonrpc: "2.0", method, ...(params !== undefined && { params }) };
      // What is told to a listener of the new era goes on its own stream, all else on those of the old one.
      if (method.endsWith("list_changed") && params?._meta === undefined) {
        for (const stream of streams) stream.write(`data: ${JSON.stringify(notification)}\n\n`);
        return;
      }
      begin();
      event(notification);
    };
    response.on("close", () => {
      if (response.writableEnded) return;
      self.givenUp.push({ at: performance.now(), message });
      answer.cancel(message.id, say);
    });
    if (streaming) begin();
    const reply = await answer(message, say);
    if (response.destroyed) return;
    if (reply === undefined) {
      if (message.method === "subscriptions/listen") return;
      if (message.id === undefined) response.writeHead(202).end();
      else response.end();
    } else if (response.headersSent) {
      event(reply);
      response.end();
    } else {
      const headers = { "content-type": "application/json" };
      if (message.method === "initialize" && reply.result !== undefined) {
        headers["mcp-session-id"] = randomUUID();
        sessions.add(headers["mcp-session-id"]);
      }
      const body = JSON.stringify(reply);
      response.writeHead(200, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
    }
  }

  // Short, so that connections which nobody uses are gone when a row looks for what is left.
  server.keepAliveTimeout = 3_000;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  self.port = server.address().port;
  self.url = `http://${host}:${self.port}/mcp`;
  self.stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return self;
}
