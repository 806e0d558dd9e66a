/** What the servers of the fault scripts can do, without a transport: both eras, and tools that behave badly. */

const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const META = "io.modelcontextprotocol/";
/** Answered with nothing. */
const EMPTY = new Set(["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

const TOOLS = {
  echo: { description: "Says what it was told" },
  look: { description: "Says what it was told, and changes nothing", annotations: { readOnlyHint: true } },
  slow: { description: "Answers after `ms`" },
  never: { description: "Never answers" },
  late: { description: "Answers after `ms`, wanted or not" },
  chatter: { description: "Tells of progress, `bytes` every `everyMs`, for `forMs`" },
  blob: { description: "Answers `bytes` of text" },
  pid: { description: "Answers the id of its process" },
  ledger: { description: "Answers what it was asked so far" },
  change: { description: "Changes the list of tools, and says so" },
  ask: { description: "Asks the client's user, and waits for the answer" },
  junk: { description: "Writes what no server should" },
};

/**
 * @param {{ era?: "legacy" | "modern" | "both", name?: string, tools?: object[], capabilities?: object }} options
 * @returns `answer(message, say)`, which resolves to a response or undefined; `say` sends another message
 */
export function createServer({ era = "both", name = "faulty", tools = [], capabilities } = {}) {
  const ledger = { calls: {}, cancelled: 0, opened: 0 };
  const timers = new Map();
  /** The subscribers of the new era: the id of the request, and how to notify. Several may use the same id. */
  const listening = new Set();
  const blobs = new Map();
  let extra = 0;

  const list = () => [
    ...Object.entries(TOOLS).map(([tool, rest]) => ({
      name: tool,
      inputSchema: { type: "object" },
      ...rest,
    })),
    ...tools,
    ...Array.from({ length: extra }, (_, i) => ({ name: `extra_${i}`, inputSchema: { type: "object" } })),
  ];

  const wait = (id, ms) =>
    new Promise((resolve) => {
      timers.set(id, { resolve, timer: setTimeout(() => resolve("over"), ms) });
    }).finally(() => timers.delete(id));

  /** Ends what was asked under `id` without an answer; `say` is whose it was, where several may have the same id. */
  function cancel(id, say) {
    const listener = [...listening].find((one) => one.id === id && (say === undefined || one.say === say));
    if (listener !== undefined) {
      listening.delete(listener);
      return;
    }
    ledger.cancelled += 1;
    const waiting = timers.get(id);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    waiting.resolve("cancelled");
  }

  const called = {
    echo: ({ text }) => text,
    look: ({ text }) => text,
    slow: async ({ ms, text = "" }, id) => ((await wait(id, ms)) === "over" ? text : undefined),
    never: () => new Promise(() => {}),
    late: ({ ms, text = "" }) => new Promise((resolve) => setTimeout(() => resolve(text), ms)),
    blob({ bytes, text = "" }) {
      if (!blobs.has(bytes)) blobs.set(bytes, "x".repeat(bytes));
      return text + blobs.get(bytes);
    },
    pid: () => String(process.pid),
    ledger: () => JSON.stringify(ledger),
    change(_args, _id, _params, say) {
      extra += 1;
      if (era !== "modern") say({ method: "notifications/tools/list_changed" });
      for (const { id, say: tell } of listening) {
        tell({
          method: "notifications/tools/list_changed",
          params: { _meta: { [`${META}subscriptionId`]: id } },
        });
      }
      return String(extra);
    },
    ask: (_args, id, _given, say) => {
      const requestedSchema = { type: "object", properties: {} };
      const params = { mode: "form", message: "Well?", requestedSchema };
      say({ id: `ask ${id}`, method: "elicitation/create", params });
      return new Promise(() => {});
    },
    async chatter({ bytes, everyMs, forMs }, id, params, say) {
      const message = "p".repeat(bytes);
      const end = performance.now() + forMs;
      for (let progress = 1; performance.now() < end; progress += 1) {
        const told = { progressToken: params._meta?.progressToken, progress, message };
        say({ method: "notifications/progress", params: told });
        if ((await wait(id, everyMs)) !== "over") return undefined;
      }
      return "done";
    },
  };

  async function answer(message, say = () => {}) {
    const { id, method, params = {} } = message;
    if (method === "notifications/cancelled") cancel(params.requestId);
    if (id === undefined || method === undefined) return undefined;
    const modern = params._meta?.[`${META}protocolVersion`] !== undefined;
    const done = (result) => ({
      jsonrpc: "2.0",
      id,
      result: modern ? { resultType: "complete", ...result } : result,
    });
    const offered = capabilities ?? {
      tools: { listChanged: true },
      prompts: {},
      resources: {},
      completions: {},
      logging: {},
    };
    const cached = modern && { ttlMs: 0, cacheScope: "public" };
    if (method === "initialize" && era !== "modern") {
      ledger.opened += 1;
      const protocolVersion = LEGACY.includes(params.protocolVersion) ? params.protocolVersion : LEGACY[0];
      return done({ protocolVersion, capabilities: offered, serverInfo: { name, version: "1.0.0" } });
    }
    if (method === "server/discover" && era !== "legacy" && modern) {
      return done({
        supportedVersions: ["2026-07-28"],
        capabilities: offered,
        _meta: { [`${META}serverInfo`]: { name, version: "1.0.0" } },
        ttlMs: 0,
        cacheScope: "public",
      });
    }
    if (EMPTY.has(method)) return done({});
    switch (method) {
      case "tools/list":
        return done({ tools: list(), ...cached });
      case "prompts/list":
        return done({ prompts: [{ name: "greet", arguments: [{ name: "who" }] }], ...cached });
      case "prompts/get":
        return done({
          messages: [{ role: "user", content: { type: "text", text: `hello ${params.arguments?.who}` } }],
        });
      case "resources/list":
        return done({ resources: [{ uri: "test://text", name: "text" }], ...cached });
      case "resources/templates/list":
        return done({ resourceTemplates: [], ...cached });
      case "resources/read":
        return done({ contents: [{ uri: params.uri, text: "the text of it" }], ...cached });
      case "completion/complete":
        return done({ completion: { values: [`${params.argument.value}ice`] } });
      case "subscriptions/listen":
        if (!modern) break;
        listening.add({ id, say });
        say({
          method: "notifications/subscriptions/acknowledged",
          params: { _meta: { [`${META}subscriptionId`]: id }, notifications: { toolsListChanged: true } },
        });
        return undefined;
    }
    if (method === "tools/call") {
      ledger.calls[params.name] = (ledger.calls[params.name] ?? 0) + 1;
      const tool = called[params.name];
      if (tool === undefined)
        return { jsonrpc: "2.0", id, error: { code: -32602, message: `unknown tool: ${params.name}` } };
      const text = await tool(params.arguments ?? {}, id, params, say);
      return text === undefined ? undefined : done({ content: [{ type: "text", text }] });
    }
    return { jsonrpc: "2.0", id, error: { code: -32601, message: `no method ${method}` } };
  }

  return Object.assign(answer, { ledger, cancel, tools: called, list });
}
