/** A stdio server with one tool, `where`: the folder in which it works. For `cwd: "roots"` in `npm run hosts`. */
import { createInterface } from "node:readline";

const TOOL = {
  name: "where",
  annotations: { readOnlyHint: true },
  description: "The folder in which this server works",
  inputSchema: { type: "object", properties: {} },
};
const RESULTS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "folder-server", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools: [TOOL] }),
  "tools/call": () => ({ content: [{ type: "text", text: `works in ${process.cwd()}.` }] }),
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const make = RESULTS[method];
  const answer =
    make === undefined
      ? { error: { code: -32601, message: `no method ${method}` } }
      : { result: make(params) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
});
