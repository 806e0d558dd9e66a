/**
 * A legacy server whose answers have very many members, messages or entries; the called tool decides which.
 *
 * node numerous.mjs [--http json|sse]   without: on a pipe; with: prints its URL
 */
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { http: { type: "string" } } });

const KEYS = 300_000;
const MESSAGES = 50_000;
const ENTRIES = 50_000;

const many = (count, make) => Array.from({ length: count }, (_, at) => make(at)).join(",");
const members = (value = (at) => at) => many(KEYS, (at) => `"k${at}":${value(at)}`);
const batch = (make) => `[${many(MESSAGES, make)}]`;
const log = (at) =>
  `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${at}"}}`;
const CONTENT = '"content":[{"type":"text","text":"ok"}]';

/** What comes before the answer, and the answer's result or error, of each tool. */
const TOOLS = {
  "structured content of 300,000 members": () => [[], `{${CONTENT},"structuredContent":{${members()}}}`],
  "a result of 300,000 members": () => [[], `{${CONTENT},${members()}}`],
  "metadata of 300,000 members": () => [[], `{${CONTENT},"_meta":{${members()}}}`],
  "an error with data of 300,000 members": () => [
    [],
    undefined,
    `{"code":-32000,"message":"no","data":{${members()}}}`,
  ],
  "content of 100,000 parts": () => [
    [],
    `{"content":[${many(100_000, (at) => `{"type":"text","text":"${at}"}`)}]}`,
  ],
  "a million numbers with a fraction": () => [
    [],
    `{${CONTENT},"structuredContent":{"rows":[${many(1_000_000, (at) => `${at}.0`)}]}}`,
  ],
  "3 million brackets": () => [
    [],
    `{${CONTENT},"structuredContent":{"rows":[${many(4_000, () => "[".repeat(400) + "]".repeat(400))}]}}`,
  ],
  "2 million emoji": () => [[], `{"content":[{"type":"text","text":"${"😀".repeat(2_000_000)}"}]}`],
  "50,000 notifications in one batch": () => [[batch(log)], `{${CONTENT}}`],
  "50,000 notifications at once": () => [
    Array.from({ length: MESSAGES }, (_, at) => log(at)),
    `{${CONTENT}}`,
  ],
  "50,000 requests in one batch": () => [
    [batch((at) => `{"jsonrpc":"2.0","id":${at},"method":"ping"}`)],
    `{${CONTENT}}`,
  ],
  "50,000 messages that are invalid": () => [
    [batch((at) => `{"jsonrpc":"1.0","method":"x${at}"}`)],
    `{${CONTENT}}`,
  ],
  "a question with 300,000 members": () => [
    [
      `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"metadata":{${members()}}}}`,
    ],
    `{${CONTENT}}`,
  ],
  "a list of 50,000 tools": () =>
    changed(
      "tools",
      many(ENTRIES, (at) => entry(`t${at}`)),
    ),
  "a definition with 300,000 members": () =>
    changed("tools", entry("huge", `,"properties":{${members(() => '{"type":"string"}')}}`)),
  "a list of 50,000 resources": () =>
    changed(
      "resources",
      many(ENTRIES, (at) => `{"uri":"file:///${at}","name":"r${at}"}`),
    ),
};

const lists = { tools: "", resources: "" };
const entry = (name, more = "") => `{"name":"${name}","inputSchema":{"type":"object"${more}}}`;
const OWN = Object.keys(TOOLS).map((_, at) => entry(`case${at}`));

function changed(list, entries) {
  lists[list] = entries;
  return [[`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`], `{${CONTENT}}`];
}

function answer({ id, method, params }) {
  if (id === undefined || method === undefined) return [];
  const reply = (result, error) => {
    const outcome = error === undefined ? `"result":${result}` : `"error":${error}`;
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${outcome}}`;
  };
  switch (method) {
    case "initialize":
      return [
        reply(
          '{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true},"logging":{}},"serverInfo":{"name":"numerous","version":"1"}}',
        ),
      ];
    case "tools/list":
      return [reply(`{"tools":[${[...OWN, lists.tools].filter(Boolean).join(",")}]}`)];
    case "resources/list":
      return [reply(`{"resources":[${lists.resources}]}`)];
    case "resources/templates/list":
      return [reply('{"resourceTemplates":[]}')];
    case "tools/call": {
      const [before, result, error] = Object.values(TOOLS)[Number(params.name.slice(4))]();
      return [...before, reply(result, error)];
    }
    case "ping":
    case "logging/setLevel":
      return [reply("{}")];
    default:
      return [reply(undefined, '{"code":-32601,"message":"no such method"}')];
  }
}

function respond(response, messages) {
  const isJson = values.http === "json" && messages.length < 3;
  const head = (type) => response.writeHead(200, { "content-type": type });
  if (messages.length === 0) return response.writeHead(202).end();
  if (!isJson) return head("text/event-stream").end(messages.map((one) => `data: ${one}\n\n`).join(""));
  const one = messages.map((each) => each.replace(/^\[|\]$/g, "")).join(",");
  return head("application/json").end(messages.length === 1 ? one : `[${one}]`);
}

export const CASES = Object.keys(TOOLS);

if (values.http !== undefined) {
  const server = createServer((request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    let body = "";
    request.setEncoding("utf8").on("data", (text) => {
      body += text;
    });
    return request.on("end", () => respond(response, answer(JSON.parse(body))));
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
} else if (process.argv[1]?.endsWith("numerous.mjs")) {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const messages = answer(JSON.parse(line));
    if (messages.length > 0) process.stdout.write(`${messages.join("\n")}\n`);
  });
  process.stdin.on("end", () => process.exit(0));
}
