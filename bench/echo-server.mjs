/** A server's answers for the benchmark, without a transport: both eras, `echo`, `blob`, and as many tools as asked for. */

const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26"];
const META = "io.modelcontextprotocol/";

/** @param {{ tools?: number }} options how many tools the list shows besides `echo`, `blob` and `ask` */
export function createEchoServer({ tools = 0 } = {}) {
  const list = [
    tool("echo", "Says what it was told", { text: { type: "string" } }),
    tool("blob", "Answers so many bytes of text", { text: { type: "string" }, bytes: { type: "integer" } }),
    tool("ask", "Asks a question before it answers", { text: { type: "string" } }),
    ...Array.from({ length: tools }, (_, i) =>
      tool(`tool_${i}`, `Does the thing with the number ${i}, and does it well`, {
        text: { type: "string", description: "what it works on" },
        count: { type: "integer", minimum: 0, default: 1 },
      }),
    ),
  ];
  const blobs = new Map();
  const blob = (bytes) => {
    if (!blobs.has(bytes)) blobs.set(bytes, "x".repeat(bytes));
    return blobs.get(bytes);
  };

  /** The result of a request, or undefined for a notification. */
  return function answer(message) {
    const { id, method, params } = message;
    if (id === undefined || method === undefined) return undefined;
    const modern = params?._meta?.[`${META}protocolVersion`] !== undefined;
    const done = (result) => ({
      jsonrpc: "2.0",
      id,
      result: modern ? { resultType: "complete", ...result } : result,
    });
    switch (method) {
      case "initialize":
        return done({
          protocolVersion: LEGACY.includes(params.protocolVersion) ? params.protocolVersion : LEGACY[0],
          capabilities: { tools: {} },
          serverInfo: { name: "echo", version: "1.0.0" },
        });
      case "server/discover":
        if (!modern) break;
        return done({
          supportedVersions: ["2026-07-28"],
          capabilities: { tools: {} },
          _meta: { [`${META}serverInfo`]: { name: "echo", version: "1.0.0" } },
          ttlMs: 60_000,
          cacheScope: "public",
        });
      case "ping":
        return done({});
      case "tools/list":
        return done({ tools: list, ...(modern ? { ttlMs: 60_000, cacheScope: "public" } : {}) });
      case "tools/call": {
        const { name, arguments: args } = params;
        if (name === "blob") return done({ content: [{ type: "text", text: args.text + blob(args.bytes) }] });
        if (name === "ask" && modern && params.inputResponses === undefined) {
          return {
            jsonrpc: "2.0",
            id,
            result: {
              resultType: "input_required",
              inputRequests: {
                name: {
                  method: "elicitation/create",
                  params: {
                    mode: "form",
                    message: "Who is there?",
                    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
                  },
                },
              },
            },
          };
        }
        return done({ content: [{ type: "text", text: args.text }] });
      }
    }
    return { jsonrpc: "2.0", id, error: { code: -32601, message: `no method ${method}` } };
  };
}

function tool(name, description, properties) {
  return {
    name,
    description,
    inputSchema: { type: "object", properties, required: Object.keys(properties).slice(0, 1) },
  };
}
