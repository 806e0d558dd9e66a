/**
 * A server's answers for the benchmark, without a transport: both eras, `echo`, `blob`, `ask`, and as many tools as wanted.
 *
 * `bench/announce` changes the list and notifies all hosts `times` times; `bench/counts` returns how many lists and calls
 * were requested, and how many hosts are listening.
 */

const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const META = "io.modelcontextprotocol/";
const LISTS_CHANGED = { tools: { listChanged: true } };
const INFO = { name: "echo", version: "1.0.0" };

/** The question of `ask`. */
const QUESTION = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Who is there?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  },
};

const isModern = ({ params }) => params?._meta?.[`${META}protocolVersion`] !== undefined;

/**
 * @param {{ tools?: number, lieEvery?: number, listMs?: number }} options `tools`: how many the list shows besides
 * `echo`, `blob` and `ask`; `lieEvery`: the interval of calls with a wrong text, which the load generator must detect;
 * `listMs`: the duration of each list except the first
 */
export function createEchoServer({ tools = 0, lieEvery = 0, listMs = 0 } = {}) {
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
  /** Legacy sessions and modern streams that are notified of changes, with the parameters of their notifications. */
  const listening = new Map();
  /** Calls of `ask` whose question is open, by the id of the question. */
  const open = new Map();
  let lastQuestion = 0;

  return Object.assign(answer, {
    cancel: (_id, say) => listening.delete(say),
    close: (session) => listening.delete(session.say),
  });

  function later(response) {
    if (listMs === 0 || counts.lists === 1) return response;
    return new Promise((resolve) => setTimeout(resolve, listMs, response));
  }

  /** From now on the list is another one: the same tools, one of them described again. */
  function change() {
    const [first, ...rest] = list;
    list = [{ ...first, description: `${first.description} (change ${counts.lists})` }, ...rest];
  }

  function announce(times) {
    change();
    for (let time = 0; time < times; time += 1) {
      for (const [say, params] of listening) say({ method: "notifications/tools/list_changed", params });
    }
  }

  function settle({ id, result }) {
    open.get(id)?.(result.content?.name);
    open.delete(id);
  }

  /** The response to a request, or undefined where none is due. */
  function answer(message, say, { session } = {}) {
    const { id, method, params } = message;
    if (method === undefined) return settle(message);
    if (id === undefined) return undefined;
    const modern = isModern(message);
    const done = (result) => ({
      jsonrpc: "2.0",
      id,
      result: modern ? { resultType: "complete", ...result } : result,
    });
    const text = (words) => done({ content: [{ type: "text", text: words }] });
    switch (method) {
      case "bench/announce":
        announce(params.times);
        return done({});
      case "bench/counts":
        return done({ ...counts, listeners: listening.size });
      case "subscriptions/listen": {
        const _meta = { [`${META}subscriptionId`]: id };
        const { toolsListChanged = false } = params.notifications;
        listening.set(say, { _meta });
        const notifications = { toolsListChanged };
        say({ method: "notifications/subscriptions/acknowledged", params: { notifications, _meta } });
        return undefined;
      }
      case "initialize":
        if (session !== undefined) listening.set(session.say, {});
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
        return later(done({ tools: list, ...(modern ? { ttlMs: 60_000, cacheScope: "public" } : {}) }));
      case "tools/call": {
        counts.calls += 1;
        const { name, arguments: args, inputResponses } = params;
        if (lieEvery > 0 && counts.calls % lieEvery === 0) return text("not what you said");
        if (name === "blob") return text(args.text + blob(args.bytes));
        if (name !== "ask") return text(args.text);
        const said = inputResponses?.name?.content?.name;
        if (said !== undefined) return text(`${args.text} said ${said}`);
        if (!modern) {
          lastQuestion += 1;
          say({ id: lastQuestion, ...QUESTION });
          return new Promise((resolve) => {
            open.set(lastQuestion, (answered) => resolve(text(`${args.text} said ${answered}`)));
          });
        }
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
