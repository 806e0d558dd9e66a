/** How a server of the tests, fault scripts and benchmarks is reached: Streamable HTTP, HTTP+SSE of 2024-11-05, a pipe. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

/**
 * @typedef {(message: any, say: (message: object) => void, arrived: { body: string, headers: object }) => unknown} Answer
 *   the response to a request, or undefined where there is none; `say` sends a message before it. `cancel(id, say)` of
 *   the function is called when the connection of a request is closed before its response.
 */

/**
 * Streamable HTTP.
 *
 * @param {Answer} answer
 * @param {{ sse?: boolean, sessions?: boolean, port?: number, host?: string, codec?: object,
 *           intercept?: (request, response, message) => boolean | Promise<boolean> }} options
 *   `sse`: every answer to a call is an event stream; `sessions`: whether `initialize` opens one; `intercept` returns
 *   true for what it has answered itself
 */
export async function serveHttp(answer, options = {}) {
  const { sse = false, sessions: hasSessions = true, codec: { parse, stringify } = JSON } = options;
  const sessions = new Set();
  const streams = new Set();
  const self = {
    sessions,
    /** May be replaced at any time. */
    intercept: options.intercept,
    /** Requests whose connection was closed before their response. */
    givenUp: [],
    requests: 0,
  };

  const event = (response, message) => {
    if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  };

  async function serve(request, response, body) {
    const message = parse(body);
    if ((await self.intercept?.(request, response, message)) === true) return;
    const session = request.headers["mcp-session-id"];
    if (hasSessions && session !== undefined && !sessions.has(session))
      return void response.writeHead(404).end();
    const say = (said) => {
      // What is announced to a modern subscription goes on its own stream, all else on those of legacy hosts.
      const isGeneral = said.method.endsWith("list_changed") && said.params?._meta === undefined;
      for (const stream of isGeneral ? streams : [response]) event(stream, said);
    };
    response.on("close", () => {
      if (response.writableEnded) return;
      self.givenUp.push({ at: performance.now(), message });
      answer.cancel?.(message.id, say);
    });
    if (sse && message.method === "tools/call") {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    }
    const reply = await answer(message, say, { body, headers: request.headers });
    if (response.destroyed) return;
    if (reply === undefined) {
      if (message.method === "subscriptions/listen") return;
      if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
      else response.end();
    } else if (response.headersSent) {
      event(response, reply);
      response.end();
    } else {
      const headers = { "content-type": "application/json" };
      if (hasSessions && message.method === "initialize" && reply.result !== undefined) {
        headers["mcp-session-id"] = randomUUID();
        sessions.add(headers["mcp-session-id"]);
      }
      const text = stringify(reply);
      response.writeHead(200, { ...headers, "content-length": Buffer.byteLength(text) }).end(text);
    }
  }

  const server = await listening(options, (request, response) => {
    self.requests += 1;
    const session = request.headers["mcp-session-id"];
    if (request.method === "GET") {
      if (!sessions.has(session)) return void response.writeHead(405).end();
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      streams.add(response);
      response.on("close", () => streams.delete(response));
    } else if (request.method === "DELETE") {
      sessions.delete(session);
      response.writeHead(200).end();
    } else onBody(request, (body) => void serve(request, response, body));
  });
  return Object.assign(self, server, { url: `${server.origin}/mcp` });
}

/** HTTP+SSE of 2024-11-05: one event stream for everything; its first event names where to POST. */
export async function serveSse(answer) {
  const streams = new Map();
  const server = await listening({}, (request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    if (request.method === "GET") {
      const id = randomUUID();
      streams.set(id, response);
      response.on("close", () => streams.delete(id));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: /messages?id=${id}\n\n`);
      return;
    }
    const stream = streams.get(url.searchParams.get("id"));
    if (stream === undefined) return void response.writeHead(404).end();
    onBody(request, async (body) => {
      response.writeHead(202).end();
      const say = (message) =>
        stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
      const reply = await answer(JSON.parse(body), say, { body, headers: request.headers });
      if (reply !== undefined) say(reply);
    });
  });
  return { ...server, url: `${server.origin}/sse` };
}

/** The standard streams of this process, one message per line. */
export function serveStdio(answer, { codec: { parse, stringify } = JSON } = {}) {
  const say = (message) => process.stdout.write(`${stringify({ jsonrpc: "2.0", ...message })}\n`);
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") continue;
      void Promise.resolve(answer(parse(line), say)).then((reply) => reply !== undefined && say(reply));
    }
  });
  process.stdout.on("error", () => {});
}

function onBody(request, use) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => use(Buffer.concat(chunks).toString("utf8")));
}

async function listening({ host = "127.0.0.1", port = 0 }, serve) {
  const server = createServer(serve);
  const sockets = new Set();
  // Short, so that connections which nothing uses are gone when a script looks for what is left.
  server.keepAliveTimeout = 3_000;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const own = server.address().port;
  return { port: own, origin: `http://${host}:${own}`, sockets, stop };
}
