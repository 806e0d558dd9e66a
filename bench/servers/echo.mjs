/** A server's answers for the benchmark, without a transport: both eras, `echo`, `blob`, `ask`, and as many tools as wanted. */

const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const META = "io.modelcontextprotocol/";
const LISTS_CHANGED = { tools: { listChanged: true } };
const INFO = { name: "echo", version: "1.0.0" };

/** What `ask` wants to know. */
export const QUESTION = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Who is there?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  },
};

export const isModern = ({ params }) => params?._meta?.[`${META}protocolVersion`] !== undefined;

/** @param {{ tools?: number }} options how many tools the list shows besides `echo`, `blob` and `ask` */
export function createEchoServer({ tools = 0 } = {}) {
  let list = [
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
  const counts = { lists: 0, calls: 0 };

  return {
    counts,
    answer,
    change,
  };

  /** From now on the list is another one: the same tools, one of them described anew. */
  function change() {
    const [first, ...rest] = list;
    list = [{ ...first, description: `${first.description} (change ${counts.lists})` }, ...rest];
  }

  /** The response to a request, or undefined for a notification. `said` is the name that `ask` was told. */
  function answer(message, said) {
    const { id, method, params } = message;
    if (id === undefined || method === undefined) return undefined;
    const modern = isModern(message);
    const done = (result) => ({
      jsonrpc: "2.0",
      id,
      result: modern ? { resultType: "complete", ...result } : result,
    });
    const text = (words) => done({ content: [{ type: "text", text: words }] });
    switch (method) {
      case "initialize":
        return done({
          protocolVersion: LEGACY.includes(params.protocolVersion) ? params.protocolVersion : LEGACY[0],
          capabilities: LISTS_CHANGED,
          serverInfo: INFO,
        });
      case "server/discover":
        if (!modern) break;
        return done({
          supportedVersions: ["2026-07-28"],
          capabilities: LISTS_CHANGED,
          _meta: { [`${META}serverInfo`]: INFO },
          ttlMs: 60_000,
          cacheScope: "public",
        });
      case "ping":
        return done({});
      case "tools/list":
        counts.lists += 1;
        return done({ tools: list, ...(modern ? { ttlMs: 60_000, cacheScope: "public" } : {}) });
      case "tools/call": {
        counts.calls += 1;
        const { name, arguments: args, inputResponses } = params;
        if (name === "blob") return text(args.text + blob(args.bytes));
        if (name !== "ask") return text(args.text);
        const answer = said ?? inputResponses?.name?.content?.name;
        if (answer !== undefined) return text(`${args.text} said ${answer}`);
        if (!modern) return text("nobody was asked");
        return {
          jsonrpc: "2.0",
          id,
          result: { resultType: "input_required", inputRequests: { name: QUESTION } },
        };
      }
    }
    return { jsonrpc: "2.0", id, error: { code: -32601, message: `no method ${method}` } };
  }
}

function tool(name, description, properties) {
  return {
    name,
    description,
    inputSchema: { type: "object", properties, required: Object.keys(properties).slice(0, 1) },
  };
}
