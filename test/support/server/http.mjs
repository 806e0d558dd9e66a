/** How a server of the tests, fault scripts and benchmarks is reached: Streamable HTTP, HTTP+SSE of 2024-11-05, a pipe. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

/**
 * @typedef {(message: any, say: (message: object) => void, arrived: Arrived) => unknown} Answer
 *   the response to a request, or undefined where there is none; `say` sends a message before it. `cancel(id, say)` of
 *   the function is called when the connection of a request is closed before its response, `close(session)` at the end
 *   of a session.
 * @typedef {{ body: string, headers: object, session?: { say: (message: object) => void, whenOpen?: () => Promise<void> } }} Arrived
 *   `say` of the session: on its stream for what belongs to no request; `whenOpen` is there where that stream may not be open yet
 */

/**
 * Streamable HTTP.
 *
 * @param {Answer} answer
 * @param {{ sse?: boolean, sessions?: boolean, port?: number, host?: string, codec?: object, keepAliveMs?: number,
 *           statusOf?: (response) => number, intercept?: (request, response, message) => boolean | Promise<boolean> }} options
 *   `sse`: every answer to a call is an event stream; `sessions`: whether `initialize` opens one; `keepAliveMs`: how
 *   long idle connections stay open; `statusOf`: the HTTP status of a response; `intercept` returns true for what it has
 *   answered itself
 */
export async function serveHttp(answer, options = {}) {
  const { sse = false, sessions: hasSessions = true, codec: { parse, stringify } = JSON } = options;
  const { statusOf = () => 200 } = options;
  /** By id; each may have several streams of its own. */
  const sessions = new Map();
  const self = {
    sessions,
    /** May be replaced at any time. */
    intercept: options.intercept,
    /** Requests whose connection was closed before their response. */
    givenUp: [],
    requests: 0,
  };

  const event = (response, message) => {
    if (response.writableEnded) return;
    if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  };

  const newSession = () => {
    const streams = new Set();
    const waiting = [];
    const say = (said) => {
      for (const stream of streams) event(stream, said);
    };
    /** Resolves when the session has a stream of its own: what is said before is lost. */
    const whenOpen = () =>
      streams.size > 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));
    const opened = (stream) => {
      streams.add(stream);
      for (const resolve of waiting.splice(0)) resolve();
    };
    return { streams, say, whenOpen, opened };
  };

  async function serve(request, response, body) {
    const message = parse(body);
    if (self.intercept !== undefined && (await self.intercept(request, response, message)) === true) return;
    const opens = hasSessions && message.method === "initialize";
    const id = request.headers["mcp-session-id"];
    const session = opens ? newSession() : sessions.get(id);
    if (hasSessions && id !== undefined && session === undefined) return void response.writeHead(404).end();
    const say = (said) => {
      // Notifications of a modern subscription are sent on its own stream, all others on those of legacy hosts.
      const isGeneral = said.method.endsWith("list_changed") && said.params?._meta === undefined;
      if (!isGeneral) event(response, said);
      else for (const each of sessions.values()) each.say(said);
    };
    if (sse && message.method === "tools/call") {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    }
    let reply = answer(message, say, { body, headers: request.headers, session });
    // What is answered at once costs no more than this: benchmarks run through here.
    const isPending = typeof reply?.then === "function" || message.method === "subscriptions/listen";
    if (isPending) {
      response.on("close", () => {
        if (response.writableEnded) return;
        self.givenUp.push({ at: performance.now(), message });
        answer.cancel?.(message.id, say);
      });
      reply = await reply;
      if (response.destroyed) return;
    }
    if (reply === undefined) {
      if (message.method === "subscriptions/listen") return;
      if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
      else response.end();
    } else if (response.headersSent) {
      event(response, reply);
      response.end();
    } else {
      const bytes = Buffer.from(stringify(reply));
      const headers = { "content-type": "application/json", "content-length": bytes.length };
      if (opens && reply.result !== undefined) {
        headers["mcp-session-id"] = randomUUID();
        sessions.set(headers["mcp-session-id"], session);
      }
      response.writeHead(statusOf(reply), headers).end(bytes);
    }
  }

  const server = await listening(options, (request, response) => {
    self.requests += 1;
    const id = request.headers["mcp-session-id"];
    const session = sessions.get(id);
    if (request.method === "GET") {
      if (session === undefined) return void response.writeHead(405).end();
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      session.opened(response);
      response.on("close", () => session.streams.delete(response));
    } else if (request.method === "DELETE") {
      sessions.delete(id);
      response.writeHead(200).end();
      if (session === undefined) return;
      endStreams(session);
      answer.close?.(session);
    } else onBody(request, (body) => void serve(request, response, body));
  });
  return Object.assign(self, server, {
    url: `${server.origin}/mcp`,
    /** Ends the streams of all sessions, as a server does that is about to be replaced. */
    hangUp() {
      for (const session of sessions.values()) endStreams(session);
    },
  });
}

function endStreams({ streams }) {
  for (const stream of streams) stream.end();
}

/** HTTP+SSE of 2024-11-05: one event stream for everything; its first event names where to POST. */
export async function serveSse(answer) {
  const streams = new Map();
  const server = await listening({}, (request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    if (request.method === "GET") {
      const id = randomUUID();
      const say = (message) =>
        response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
      const session = { response, say };
      streams.set(id, session);
      response.on("close", () => {
        streams.delete(id);
        answer.close?.(session);
      });
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: /messages?id=${id}\n\n`);
      return;
    }
    const session = streams.get(url.searchParams.get("id"));
    if (session === undefined) return void response.writeHead(404).end();
    onBody(request, async (body) => {
      response.writeHead(202).end();
      const arrived = { body, headers: request.headers, session };
      const reply = await answer(JSON.parse(body), session.say, arrived);
      if (reply !== undefined) session.say(reply);
    });
  });
  const hangUp = () => {
    for (const { response } of streams.values()) response.end();
  };
  return { ...server, hangUp, url: `${server.origin}/sse` };
}

/** The standard streams of this process, one message per line. */
export function serveStdio(answer, { codec: { parse, stringify } = JSON } = {}) {
  // The responses to what came in one chunk leave in one write.
  let out = "";
  const flush = () => {
    process.stdout.write(out);
    out = "";
  };
  const say = (message) => {
    if (out === "") queueMicrotask(flush);
    out += `${stringify({ jsonrpc: "2.0", ...message })}\n`;
  };
  const session = { say };
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") continue;
      const reply = answer(parse(line), say, { body: line, headers: {}, session });
      if (typeof reply?.then === "function") void reply.then((later) => later !== undefined && say(later));
      else if (reply !== undefined) say(reply);
    }
  });
  process.stdout.on("error", () => {});
}

function onBody(request, use) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => use((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).toString("utf8")));
}

// `keepAliveMs` is short, so that connections which nothing uses are gone when a script looks for what is left.
async function listening({ host = "127.0.0.1", port = 0, keepAliveMs = 3_000 }, serve) {
  const server = createServer(serve);
  const sockets = new Set();
  server.keepAliveTimeout = keepAliveMs;
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
