/**
 * A server that keeps a ledger: how often each tool ran, by an argument that no two calls share. Both eras; it asks questions,
 * tells of progress, and has a resource to subscribe to.
 */

const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const META = "io.modelcontextprotocol/";
const CAPABILITIES = { tools: {}, resources: { subscribe: true } };
const INFO = { name: "ledger", version: "1.0.0" };
/** The resource whose updates are announced. */
export const PAGE = "ledger://page";

const QUESTION = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Who is there?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  },
};

const TOOLS = {
  run: "Runs once",
  slow: "Runs for `ms`",
  progress: "Runs in `steps` steps of `everyMs`, and tells of each",
  ask: "Asks who is there, and runs when it knows",
};

/** What ran: by key, the times (ms since 1970). Shared by all servers of a process. */
export class Ledger {
  runs = new Map();
  questions = 0;

  note(key) {
    const times = this.runs.get(key);
    if (times === undefined) this.runs.set(key, [Date.now()]);
    else times.push(Date.now());
  }
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Answers of one era, for `serveHttp`.
 * @param {Ledger} ledger
 * @param {"legacy" | "modern"} era
 */
export function createLedgerServer(ledger, era) {
  /** Whom to tell of the page: `say` of a session or of a stream, and the parameters that name the subscription. */
  const following = new Map();
  /** Calls whose question is open, by its id. */
  const open = new Map();
  let lastQuestion = 0;

  const tools = {
    run: async () => {},
    slow: ({ ms }) => wait(ms),
    async progress({ steps, everyMs }, { say, token }) {
      for (let progress = 1; progress <= steps; progress += 1) {
        say({ method: "notifications/progress", params: { progressToken: token, progress, total: steps } });
        await wait(everyMs);
      }
    },
  };

  /** The name that the host gives; undefined where it has to be asked first (modern). */
  function asked({ params }, say) {
    if (era === "modern") {
      const known = params.inputResponses?.name?.content?.name;
      if (known === undefined) ledger.questions += 1;
      return known;
    }
    lastQuestion += 1;
    ledger.questions += 1;
    const id = `question ${lastQuestion}`;
    say({ id, ...QUESTION });
    return new Promise((resolve) => open.set(id, resolve));
  }

  async function call(message, say) {
    const { name, arguments: args, _meta } = message.params;
    const { key } = args;
    if (name !== "ask") {
      ledger.note(key);
      await tools[name](args, { say, token: _meta?.progressToken });
      return { content: [{ type: "text", text: key }] };
    }
    const who = await asked(message, say);
    if (who === undefined) return { resultType: "input_required", inputRequests: { name: QUESTION } };
    ledger.note(key);
    return { content: [{ type: "text", text: `${key} ${who}` }] };
  }

  function settle({ id, result }) {
    open.get(id)?.(result?.content?.name ?? "nobody");
    open.delete(id);
  }

  async function result(message, say, session) {
    const { id, method, params } = message;
    const cached = era === "modern" && { ttlMs: 60_000, cacheScope: "public" };
    switch (method) {
      case "initialize":
        if (era === "modern") return undefined;
        return {
          protocolVersion: LEGACY.includes(params.protocolVersion) ? params.protocolVersion : LEGACY[0],
          capabilities: CAPABILITIES,
          serverInfo: INFO,
        };
      case "server/discover":
        if (era === "legacy") return undefined;
        return {
          supportedVersions: ["2026-07-28"],
          capabilities: CAPABILITIES,
          _meta: { [`${META}serverInfo`]: INFO },
          ...cached,
        };
      case "ping":
        return {};
      case "tools/list":
        return {
          tools: Object.entries(TOOLS).map(([name, description]) => ({
            name,
            description,
            inputSchema: { type: "object", properties: { key: { type: "string" } }, required: ["key"] },
          })),
          ...cached,
        };
      case "resources/list":
        return { resources: [{ uri: PAGE, name: "page" }], ...cached };
      case "resources/templates/list":
        return { resourceTemplates: [], ...cached };
      case "resources/read":
        return { contents: [{ uri: params.uri, text: String(ledger.runs.size) }], ...cached };
      case "resources/subscribe":
        following.set(session.say, {});
        return {};
      case "resources/unsubscribe":
        following.delete(session.say);
        return {};
      case "subscriptions/listen": {
        const _meta = { [`${META}subscriptionId`]: id };
        const { resourceSubscriptions } = params.notifications ?? {};
        if (resourceSubscriptions?.includes(PAGE)) following.set(say, { _meta });
        const notifications = resourceSubscriptions === undefined ? {} : { resourceSubscriptions };
        say({ method: "notifications/subscriptions/acknowledged", params: { notifications, _meta } });
        return null;
      }
      case "tools/call":
        return call(message, say);
    }
    return undefined;
  }

  async function answer(message, say, { session } = {}) {
    const { id, method } = message;
    if (method === undefined) return settle(message);
    if (id === undefined) return undefined;
    const found = await result(message, say, session);
    // A stream of announcements has no response.
    if (found === null) return undefined;
    if (found === undefined)
      return { jsonrpc: "2.0", id, error: { code: -32601, message: `no method ${method}` } };
    return {
      jsonrpc: "2.0",
      id,
      result:
        era === "modern" && found.resultType === undefined ? { resultType: "complete", ...found } : found,
    };
  }

  return Object.assign(answer, {
    cancel: (_id, say) => following.delete(say),
    close: (session) => following.delete(session.say),
    /** Announces that the page has changed to all who follow it. */
    turn() {
      for (const [say, more] of following)
        say({ method: "notifications/resources/updated", params: { uri: PAGE, ...more } });
    },
  });
}
