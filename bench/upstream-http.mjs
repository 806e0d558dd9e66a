/** A fast MCP server over HTTP, JSON answers only; prints its port. `node upstream-http.mjs [--tools N] [--lie N]` */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { createEchoServer } from "./echo-server.mjs";

const { values } = parseArgs({ options: { tools: { type: "string" }, lie: { type: "string" } } });
const answer = createEchoServer({ tools: Number(values.tools ?? 0) });
// Every so many calls it answers somebody else's text: the load generator must notice.
const lieEvery = Number(values.lie ?? 0);
let calls = 0;

const server = createServer((request, response) => {
  if (request.method !== "POST") return response.writeHead(405).end();
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const message = JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    const reply = answer(message);
    if (reply === undefined) return response.writeHead(202).end();
    if (lieEvery > 0 && message.method === "tools/call" && ++calls % lieEvery === 0) {
      reply.result.content[0].text = "not what you said";
    }
    const body = Buffer.from(JSON.stringify(reply));
    const headers = { "content-type": "application/json", "content-length": body.length };
    if (message.method === "initialize") headers["mcp-session-id"] = randomUUID();
    response.writeHead(200, headers).end(body);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
