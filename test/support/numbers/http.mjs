/** The numbers server over Streamable HTTP, in the process of the test. */
import { createServer } from "node:http";
import { numbersServer } from "./server.mjs";
import { readTagged, writeTagged } from "./tagged.mjs";

/**
 * @param {"legacy" | "modern"} era
 * @param {readonly string[]} numbers those of its lists
 */
export async function startNumbers(era, numbers) {
  const streams = new Map();
  const tagged = numbers.map((number) => `#${number}`);
  const receive = numbersServer(era, tagged, (message, on) => {
    const stream = streams.get(on);
    if (stream === undefined) return;
    if (message.method === undefined && !stream.headersSent) {
      stream.writeHead(200, { "content-type": "application/json" }).end(writeTagged(message));
      return;
    }
    if (!stream.headersSent) stream.writeHead(200, { "content-type": "text/event-stream" });
    stream.write(`data: ${writeTagged(message)}\n\n`);
    if (message.method === undefined) stream.end();
  });
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const message = readTagged(Buffer.concat(chunks).toString("utf8"));
    if (message.method === undefined || message.id === undefined) {
      response.writeHead(202).end();
      return receive(message);
    }
    streams.set(message.id, response);
    await receive(message);
    streams.delete(message.id);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
