/** A server over the HTTP+SSE transport of 2024-11-05. */
import { randomUUID } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "./behaviour.mjs";

export async function sseUpstream() {
  const answer = createServer({ era: "legacy" });
  const streams = new Map();
  const server = createHttpServer((request, response) => {
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
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", async () => {
      response.writeHead(202).end();
      const send = (message) => stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      const say = (method, params) =>
        send({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
      const reply = await answer(JSON.parse(Buffer.concat(chunks)), say);
      if (reply !== undefined) send(reply);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/sse`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
