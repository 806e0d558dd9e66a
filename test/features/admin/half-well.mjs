/** A server on its pipe: of its calls of `flaky` every third fails, `hangs` never answers, and `gate` answers when its file is there. */
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";

const tools = ["flaky", "hangs", "gate"].map((name) => ({ name, inputSchema: { type: "object" } }));
let calls = 0;

const send = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === "initialize") {
    const serverInfo = { name: "half-well", version: "1" };
    send(id, { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo });
  } else if (method === "tools/list") send(id, { tools });
  else if (method !== "tools/call") {
    const error = { code: -32601, message: "Method not found" };
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
  } else if (params.name === "flaky") {
    calls += 1;
    send(id, { content: [{ type: "text", text: "x" }], isError: calls % 3 === 0 });
  } else if (params.name === "gate") {
    const file = process.argv[2];
    const look = setInterval(() => {
      if (!existsSync(file)) return;
      clearInterval(look);
      send(id, { content: [] });
    }, 20);
  }
}
process.exit(0);
