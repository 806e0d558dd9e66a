/**
 * A fast MCP server over HTTP; prints its port. Any path will do, so one process can stand for many servers. JSON
 * answers, and event streams for `ask` in the legacy era and for those who listen for changes.
 *
 *   node http.mjs [--tools N] [--lie N] [--list-ms MS]
 *
 * `POST /control/announce?times=N` changes the list and says so N times to everybody; `GET /control/counts`.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { createEchoServer, isModern, QUESTION } from "./echo.mjs";

const { values } = parseArgs({
  options: { tools: { type: "string" }, lie: { type: "string" }, "list-ms": { type: "string" } },
});
const { answer, change, counts } = createEchoServer({ tools: Number(values.tools ?? 0) });
// Every so many calls it answers somebody else's text: the load generator must notice.
const lieEvery = Number(values.lie ?? 0);
// How long a list takes, once the first has been asked for.
const listMs = Number(values["list-ms"] ?? 0);

/** Those who listen for changes, with what the notification to each looks like. */
const listeners = new Map();
/** What goes on when the answer to a question comes, by the id of the question. */
const asked = new Map();
let lastQuestion = 0;

const server = createServer((request, response) => {
  if (request.url.startsWith("/control/")) return control(request.url, response);
  if (request.method === "GET") return listen(response, {});
  if (request.method !== "POST") return response.writeHead(request.method === "DELETE" ? 200 : 405).end();
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () =>
    serve(JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)), response),
  );
});

function serve(message, response) {
  const { id, method, params } = message;
  if (method === "subscriptions/listen") return acknowledge(message, response);
  if (method === undefined && asked.has(id)) {
    response.writeHead(202).end();
    asked.get(id)(message.result.content?.name);
    asked.delete(id);
    return;
  }
  if (method === "tools/call" && params.name === "ask" && !isModern(message)) return ask(message, response);
  const slow = method === "tools/list" && listMs > 0 && counts.lists > 0;
  if (slow) setTimeout(() => reply(message, response), listMs);
  else reply(message, response);
}

function reply(message, response) {
  const { method } = message;
  const replied = answer(message);
  if (replied === undefined) return response.writeHead(202).end();
  if (lieEvery > 0 && method === "tools/call" && counts.calls % lieEvery === 0) {
    replied.result.content[0].text = "not what you said";
  }
  const body = Buffer.from(JSON.stringify(replied));
  const headers = { "content-type": "application/json", "content-length": body.length };
  if (method === "initialize") headers["mcp-session-id"] = randomUUID();
  response.writeHead(200, headers).end(body);
}

const event = (message) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;

/** Asks on the stream of the call, and ends it with the answer. */
function ask(message, response) {
  lastQuestion += 1;
  asked.set(lastQuestion, (name) => response.end(event(answer(message, name))));
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event({ id: lastQuestion, ...QUESTION }));
}

function listen(response, params) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  listeners.set(response, event({ method: "notifications/tools/list_changed", params }));
  response.once("close", () => listeners.delete(response));
}

function acknowledge({ id, params }, response) {
  const _meta = { "io.modelcontextprotocol/subscriptionId": id };
  listen(response, { _meta });
  const { toolsListChanged = false } = params.notifications;
  const honoured = { notifications: { toolsListChanged }, _meta };
  response.write(event({ method: "notifications/subscriptions/acknowledged", params: honoured }));
}

function control(url, response) {
  const { pathname, searchParams } = new URL(url, "http://here");
  if (pathname === "/control/announce") {
    change();
    for (let time = 0; time < Number(searchParams.get("times") ?? 1); time += 1) {
      for (const [listener, text] of listeners) listener.write(text);
    }
  }
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ ...counts, listeners: listeners.size }));
}

server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
