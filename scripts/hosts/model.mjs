/**
 * A stand-in for the models of real hosts, on loopback: Anthropic Messages, OpenAI Responses, Gemini generateContent. It calls the
 * first tool that `wanted` matches once, then says "done". Hosts that do not wait for their servers offer that tool later; until
 * then it calls a tool that waits, as a model would.
 */
import { createServer } from "node:http";

/** How often it waits for the tool. */
const MAX_WAITS = 5;

/** Names and results of tools in the requests of each API, and how a turn of the model is written in it. */
const APIS = [
  {
    path: /\/messages(\?|$)/,
    tools: ({ tools = [] }) => tools.map(({ name }) => ({ name })),
    results: ({ messages = [] }) =>
      messages.flatMap(({ content }) => [content].flat().filter(({ type }) => type === "tool_result")),
    turn: ({ model }, call, turn) => {
      const content =
        call === undefined
          ? { type: "text", text: "" }
          : { type: "tool_use", id: `toolu_${turn}`, name: call.name, input: {} };
      const delta =
        call === undefined
          ? { type: "text_delta", text: "done" }
          : { type: "input_json_delta", partial_json: JSON.stringify(call.args) };
      const usage = { input_tokens: 1, output_tokens: 1 };
      const message = { id: "msg_1", type: "message", role: "assistant", model, content: [], usage };
      const stop = { stop_reason: call === undefined ? "end_turn" : "tool_use", stop_sequence: null };
      return named([
        ["message_start", { message: { ...message, stop_reason: null, stop_sequence: null } }],
        ["content_block_start", { index: 0, content_block: content }],
        ["content_block_delta", { index: 0, delta }],
        ["content_block_stop", { index: 0 }],
        ["message_delta", { delta: stop, usage: { output_tokens: 1 } }],
        ["message_stop", {}],
      ]);
    },
  },
  {
    path: /\/responses(\?|$)/,
    // Tools of MCP servers are in a namespace each.
    tools: ({ tools = [] }) =>
      tools.flatMap((tool) =>
        Array.isArray(tool.tools) ? tool.tools.map(({ name }) => ({ namespace: tool.name, name })) : [tool],
      ),
    results: ({ input = [] }) => [input].flat().filter(({ type = "" }) => type.endsWith("_output")),
    turn: (_, call, turn) => {
      const item =
        call === undefined
          ? {
              type: "message",
              id: "m_1",
              role: "assistant",
              content: [{ type: "output_text", text: "done" }],
            }
          : {
              ...{ type: "function_call", id: "fc_1", call_id: `call_${turn}`, name: call.name },
              ...{ namespace: call.namespace, arguments: JSON.stringify(call.args) },
            };
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      return named([
        ["response.created", { response: { id: "r_1" } }],
        ["response.output_item.done", { output_index: 0, item }],
        ["response.completed", { response: { id: "r_1", usage } }],
      ]);
    },
  },
  {
    path: /:streamGenerateContent/,
    tools: ({ tools = [] }) => tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations),
    results: ({ contents = [] }) =>
      contents.flatMap(({ parts = [] }) => parts.filter(({ functionResponse }) => functionResponse)),
    turn: (_, call) => {
      const part =
        call === undefined ? { text: "done" } : { functionCall: { name: call.name, args: call.args } };
      return `data: ${candidate(part)}\n\n`;
    },
  },
  {
    // Gemini CLI asks for decisions of its own so, such as which model to use and whose turn it is.
    path: /:generateContent/,
    type: "application/json",
    tools: () => [],
    results: () => [],
    turn: ({ generationConfig: { responseJsonSchema, responseSchema } = {} }) =>
      candidate({ text: JSON.stringify(anyValueOf(responseJsonSchema ?? responseSchema)) }),
  },
];

const candidate = (part) =>
  JSON.stringify({
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
  });

/** A value that the schema allows, as far as those of Gemini CLI need it. */
function anyValueOf({ type = "string", enum: choices, properties = {} } = {}) {
  if (choices !== undefined) return choices[0];
  const kind = String(type).toLowerCase();
  if (kind === "object")
    return Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, anyValueOf(schema)]));
  return { array: [], number: 0, integer: 0, boolean: false }[kind] ?? "done";
}

const named = (events) =>
  events.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`).join("");

/**
 * Starts it on a free port.
 * @param {{ wanted: RegExp, args: object, waitBy?: { name: string, args: object }, next?: { wanted: RegExp, argsOf: (results: string[]) => object } }}
 *   options the name of the tool and the arguments of its call; a tool of the host that waits; a second call, with arguments from
 *   the results so far
 * @returns `url`; `seen`: the tools last offered, and all results as JSON texts; `stop`
 */
export async function startModel({ wanted, args, waitBy, next }) {
  const seen = { tools: [], results: [] };
  let isCalled = false;
  let isRead = next === undefined;
  let waits = 0;
  /** The call of the next turn. */
  const choose = (tools) => {
    const tool = tools.find(({ name }) => wanted.test(name));
    if (isCalled) return second(tools);
    isCalled = tool !== undefined;
    if (tool !== undefined) return { ...tool, args };
    const pause = tools.find(({ name }) => name === waitBy?.name);
    if (pause === undefined || waits === MAX_WAITS) return undefined;
    waits += 1;
    return { ...pause, args: waitBy.args };
  };
  const second = (tools) => {
    const tool = isRead ? undefined : tools.find(({ name }) => next.wanted.test(name));
    if (tool === undefined) return undefined;
    isRead = true;
    return { ...tool, args: next.argsOf(seen.results) };
  };
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const api = APIS.find(({ path }) => path.test(request.url));
    if (request.method !== "POST" || api === undefined) {
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const tools = api.tools(body);
    const results = api.results(body);
    if (tools.length > 0) seen.tools = tools.map(({ name }) => name);
    seen.results.push(...results.map((result) => JSON.stringify(result)));
    response.writeHead(200, { "content-type": api.type ?? "text/event-stream" });
    response.end(api.turn(body, choose(tools), seen.results.length));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, seen, stop };
}
