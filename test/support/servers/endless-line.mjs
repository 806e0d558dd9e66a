// A server whose one tool begins a line of its output and never ends it.
import { createInterface } from "node:readline";

const say = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
const RESULTS = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "endless", version: "1" },
  },
  "tools/list": { tools: [{ name: "endless", inputSchema: { type: "object" } }] },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method !== "tools/call") {
    if (id !== undefined) say(id, RESULTS[method] ?? {});
    return;
  }
  const more = () => {
    while (process.stdout.write("x".repeat(1 << 20)));
    process.stdout.once("drain", more);
  };
  more();
});
