/** Scripted servers over HTTP, in the process of the test: Streamable HTTP of both eras, and HTTP+SSE of 2024-11-05. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { legacyConversation } from "./legacy.mjs";
import { modernServer } from "./modern.mjs";
import { createWorld } from "./world.mjs";

/**
 * @param {"legacy" | "sse" | "modern"} kind
 * @param {{ revision?: string }} options of a legacy server: the revision it answers with
 */
export async function startScripted(kind, options = {}) {
  const ledger = [];
  const world = createWorld((entry) => ledger.push(entry));
  const serve = { legacy: serveLegacy, sse: serveSse, modern: serveModern }[kind](world, options);
  const server = createServer((request, response) => {
    void readJson(request).then((message) => serve(request, response, message));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}/${kind === "sse" ? "sse" : "mcp"}`,
    ledger: () => ledger,
    /** Ends every stream of changes, as a server does that is about to be replaced. */
    hangUp() {
      for (const end of [...world.hangUps]) end();
      world.hangUps.clear();
    },
    /** Is gone at once: every connection breaks, and nobody listens any more. */
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Sessions; what belongs to a request goes on its own stream, all else on the stream of a GET. */
function serveLegacy(world, options) {
  const sessions = new Map();

  function openSession() {
    const streams = new Map();
    const session = { id: randomUUID(), general: undefined, streams, conversation: undefined };
    session.conversation = legacyConversation(world, options, (message, on) => {
      const stream = on === undefined ? session.general : streams.get(on);
      if (stream === undefined) return;
      if (message.method === undefined && !stream.headersSent) {
        json(stream, 200, message, { "mcp-session-id": session.id });
        return;
      }
      event(stream, message, { "mcp-session-id": session.id });
      if (message.method === undefined) stream.end();
    });
    sessions.set(session.id, session);
    return session;
  }

  return async (request, response, message) => {
    const opens = message?.method === "initialize";
    const session = opens ? openSession() : sessions.get(request.headers["mcp-session-id"]);
    if (session === undefined) return json(response, 404, { error: "no such session" });
    if (request.method === "GET") {
      session.general = response;
      world.hangUps.add(() => response.end());
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    } else if (request.method === "DELETE") {
      world.note("session over");
      session.conversation.close();
      sessions.delete(session.id);
      session.general?.end();
      response.writeHead(204).end();
    } else if (message.method === undefined || message.id === undefined) {
      response.writeHead(202).end();
      await session.conversation.receive(message);
    } else {
      session.streams.set(message.id, response);
      await session.conversation.receive(message);
      session.streams.delete(message.id);
    }
  };
}

/** One event stream for everything; its first event says where to POST. */
function serveSse(world, options) {
  const streams = new Map();
  return async (request, response, message) => {
    const url = new URL(request.url, "http://localhost");
    if (request.method === "GET" && url.pathname === "/sse") {
      const id = randomUUID();
      const conversation = legacyConversation(world, options, (said) => event(response, said));
      streams.set(id, conversation);
      world.hangUps.add(() => response.end());
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: /messages?id=${id}\n\n`);
      response.on("close", () => {
        world.note("session over");
        conversation.close();
        streams.delete(id);
      });
    } else if (request.method === "POST" && url.pathname === "/messages") {
      const conversation = streams.get(url.searchParams.get("id"));
      if (conversation === undefined) return json(response, 404, { error: "no such stream" });
      response.writeHead(202).end();
      await conversation.receive(message);
    } else json(response, 404, { error: "nothing here" });
  };
}

/** Every request alone; the end of its stream is its cancellation. */
function serveModern(world) {
  const serve = modernServer(world);
  return async (request, response, message) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    if (message.id === undefined) {
      world.note("heard", { method: message.method });
      return response.writeHead(202).end();
    }
    if (request.headers["mcp-method"] !== message.method) {
      const error = { code: -32020, message: "the headers and the body disagree" };
      return json(response, 400, { jsonrpc: "2.0", id: message.id, error });
    }
    const stop = new AbortController();
    response.on("close", () => {
      if (!response.writableFinished) stop.abort();
    });
    const say = (method, params) => event(response, { jsonrpc: "2.0", method, params });
    const answer = await serve(message, say, stop.signal);
    if (stop.signal.aborted) return;
    if (response.headersSent) {
      event(response, answer);
      response.end();
    } else json(response, answer.error?.code === -32601 ? 404 : 200, answer);
  };
}

function event(response, message, headers = {}) {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream", ...headers });
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? undefined : JSON.parse(text);
}
