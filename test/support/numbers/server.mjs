/**
 * A server that returns each number it gets, by every route of numbers: it reads and writes messages as `readTagged`
 * does. Its input is in texts too, which are not changed on the way back.
 */

const SERVER_INFO = { name: "numbers", version: "1" };
const META = "io.modelcontextprotocol/";
const CAPABILITIES = {
  tools: {},
  prompts: {},
  resources: {},
  completions: {},
  logging: {},
};

const TOOL_NAMES = ["echo", "fail", "tell", "ask"];
const object = { type: "object" };

/** A list entry in which the numbers stand wherever one may. @param {readonly string[]} numbers */
const tool = (name, numbers) => ({
  name,
  inputSchema: { ...object, properties: { n: { minimum: numbers[0], default: numbers[1], "x-n": numbers } } },
  annotations: { readOnlyHint: true, vendor: numbers },
  _meta: { "vendor/n": numbers },
});

/** One question with the numbers in its schema. */
const question = (args) => ({
  method: "elicitation/create",
  params: {
    message: "how many?",
    requestedSchema: { ...object, properties: { n: { type: "number", minimum: args.n, default: args.n } } },
    _meta: { "vendor/n": args.all },
  },
});

/**
 * @param {"legacy" | "modern"} era
 * @param {readonly string[]} untagged the numbers of its lists
 * @returns {import("../server/http.mjs").Answer}
 */
export function numbersServer(era, untagged) {
  const numbers = untagged.map((number) => `#${number}`);
  /** Who waits for the answer to a question, by its id. */
  const waiting = new Map();
  let questions = 0;

  const complete = (result) =>
    era === "legacy"
      ? result
      : {
          resultType: "complete",
          ...result,
          _meta: { ...result._meta, [`${META}serverInfo`]: SERVER_INFO },
        };
  const cacheable = (result) =>
    complete(era === "legacy" ? result : { ...result, ttlMs: "#0", cacheScope: "private" });

  const said = (value) => ({ type: "text", text: JSON.stringify(value), _meta: { "vendor/n": value } });

  async function ask(say, { arguments: args, inputResponses, requestState }) {
    const asked = question(args);
    if (era === "modern") {
      if (inputResponses === undefined) {
        return { resultType: "input_required", inputRequests: { one: asked }, requestState: "waiting" };
      }
      return complete({ content: [said({ answer: inputResponses.one, requestState })] });
    }
    questions += 1;
    // An id that no double keeps.
    const own = `#900719925474099${questions}1`;
    const answer = await new Promise((resolve) => {
      waiting.set(own, resolve);
      say({ id: own, ...asked });
    });
    return { content: [said({ answer, requestState: "waiting" })] };
  }

  async function call(say, params) {
    const { name, arguments: args, _meta = {} } = params;
    switch (name) {
      case "echo":
        return complete({
          content: [said(args), { type: "resource_link", uri: "n://1", name: "n", size: args.n }],
          structuredContent: args,
          _meta: { "vendor/sent": _meta["vendor/n"] ?? null },
        });
      case "fail":
        throw { code: "#-31000.0", message: JSON.stringify(args), data: args };
      case "tell":
        say({ method: "notifications/message", params: { level: "error", data: args } });
        for (const progress of args.progress) {
          const params = { progressToken: _meta.progressToken, progress, total: args.n };
          say({ method: "notifications/progress", params });
        }
        return complete({ content: [said(args)] });
      default:
        return ask(say, params);
    }
  }

  const methods = {
    initialize: (_say, { protocolVersion }) => ({
      protocolVersion,
      capabilities: CAPABILITIES,
      serverInfo: SERVER_INFO,
    }),
    "server/discover": () =>
      cacheable({
        supportedVersions: ["2026-07-28"],
        capabilities: CAPABILITIES,
        serverInfo: SERVER_INFO,
      }),
    ping: () => ({}),
    "logging/setLevel": () => ({}),
    "tools/list": () => cacheable({ tools: TOOL_NAMES.map((name) => tool(name, numbers)) }),
    "prompts/list": () => cacheable({ prompts: [{ name: "p", _meta: { "vendor/n": numbers } }] }),
    "resources/list": () => cacheable({ resources: [{ uri: "n://1", name: "n", size: numbers[0] }] }),
    "resources/templates/list": () => cacheable({ resourceTemplates: [] }),
    "resources/read": (_say, { uri, _meta = {} }) =>
      cacheable({
        contents: [{ uri, ...said(_meta["vendor/n"]) }],
        _meta: { "vendor/n": _meta["vendor/n"] },
      }),
    "prompts/get": (_say, { _meta = {} }) =>
      complete({ messages: [{ role: "user", content: said(_meta["vendor/n"]) }] }),
    "completion/complete": (_say, { _meta = {} }) =>
      complete({ completion: { values: [JSON.stringify(_meta["vendor/n"])], total: _meta["vendor/n"][0] } }),
    "tools/call": call,
    "vendor/run": (_say, params) =>
      complete({ ran: { ...params, _meta: undefined }, text: JSON.stringify(params) }),
  };

  return async function answer(message, say) {
    const { id, method, params = {} } = message;
    if (method === undefined) {
      waiting.get(id)?.(message.result ?? message.error);
      return undefined;
    }
    if (id === undefined) return undefined;
    const isKnown = Object.hasOwn(methods, method) && (method === "initialize") <= (era === "legacy");
    const isOfEra = method !== "server/discover" || era === "modern";
    try {
      if (!isKnown || !isOfEra) throw { code: "#-32601", message: `there is no ${method}` };
      return { jsonrpc: "2.0", id, result: await methods[method](say, params) };
    } catch (error) {
      return { jsonrpc: "2.0", id, error };
    }
  };
}
