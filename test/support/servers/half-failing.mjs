/** A server whose only tool fails every second time, and says why on stderr. */
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const tools = [{ name: "work", description: "Works every second time", inputSchema: { type: "object" } }];
let calls = 0;

function answer({ method, params }) {
  if (method === "initialize") {
    const serverInfo = { name: "half-failing", version: "1" };
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list") return { tools };
  if (method !== "tools/call") return {};
  calls += 1;
  const isError = calls % 2 === 1;
  if (isError) process.stderr.write(`the quota is used up at call ${calls}\n`);
  return { isError, content: [{ type: "text", text: isError ? "the quota is used up" : "done" }] };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id !== undefined) send({ id: message.id, result: answer(message) });
});
