// A server that tells everything it knows: on stderr when it starts and when it dies, and over HTTP in its refusals.
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const own = Object.entries(process.env).filter(([name]) => name.startsWith("CARELESS_"));
const everything = () =>
  `${own.map(([name, value]) => `${name}=${value}`).join(" ")} ${process.argv.slice(2).join(" ")}`;

/** What a tool of the server is asked to do. */
const tools = {
  die() {
    process.stderr.write(`cannot log in with ${everything()}\n`);
    process.exit(1);
  },
  fine: () => ({ content: [{ type: "text", text: "fine" }] }),
};

function answer({ method, params, id }) {
  if (method === "initialize") {
    const serverInfo = { name: "careless", version: "1" };
    return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list") {
    return { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })) };
  }
  if (method === "tools/call") return tools[params.name]();
  return id === undefined ? undefined : {};
}

if (process.argv[2] === "http") {
  // Whatever it was sent stands in what it answers: in the body, in a header and in the status line.
  const server = createServer((request, response) => {
    const told = JSON.stringify({ url: request.url, headers: request.headers });
    response.writeHead(Number(process.argv[3]), encodeURIComponent(told).slice(0, 200), {
      "content-type": "text/plain",
      "x-told": encodeURIComponent(told),
    });
    response.end(told);
  });
  server.listen(0, "127.0.0.1", () => process.stderr.write(`ready ${server.address().port}\n`));
} else {
  process.stderr.write(`starting with ${everything()}\n`);
  if (process.argv.includes("--at-once")) process.exit(1);
  createInterface({ input: process.stdin }).on("line", (line) => {
    const request = JSON.parse(line);
    const result = answer(request);
    if (request.id !== undefined && result !== undefined)
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: request.id, result })}\n`);
  });
}
