/** The header ladder of SEP-2243, rung by rung, over real HTTP. */
import { expect, test } from "vitest";
import { echo, fakePort } from "../../support/fake-port.js";
import { modernRequest, type Sent, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;

const query = {
  name: "query",
  inputSchema: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      where: { type: "object", properties: { row: { type: "integer", "x-mcp-header": "Row" } } },
      dry: { type: "boolean", "x-mcp-header": "Dry" },
    },
  },
};

async function ask(request: Sent) {
  const gateway = fakePort({
    handlers: {
      "tools/call": echo,
      "tools/list": echo,
      "resources/read": echo,
      "tasks/get": echo,
      "prompts/get": echo,
    },
    tools: { query },
  });
  const { url } = await listening({ gateway });
  return { answer: await send(url, request), port: gateway };
}

const call = (args: object, headers: Record<string, string> = {}) =>
  modernRequest("tools/call", { name: "query", arguments: args }, { headers });

/** The same request without some of its headers. */
const less = (request: Sent, ...names: string[]): Sent => ({
  ...request,
  headers: Object.fromEntries(
    Object.entries(request.headers ?? {}).filter(([name]) => !names.includes(name)),
  ),
});

const list = modernRequest("tools/list");
const read = (uri: string, header: string) =>
  modernRequest("resources/read", { uri }, { headers: { "mcp-name": header } });

test.each<[string, Sent]>([
  ["without MCP-Protocol-Version", less(list, "mcp-protocol-version")],
  [
    "with another version than the body",
    modernRequest("tools/list", {}, { headers: { "mcp-protocol-version": "2025-11-25" } }),
  ],
  [
    "with an unknown version that the body does not claim",
    modernRequest("tools/list", {}, { headers: { "mcp-protocol-version": "v999" } }),
  ],
  ["without Mcp-Method", less(list, "mcp-method")],
  ["with another method", modernRequest("tools/list", {}, { headers: { "mcp-method": "prompts/list" } })],
  [
    "with the method in another case",
    modernRequest("tools/list", {}, { headers: { "mcp-method": "TOOLS/LIST" } }),
  ],
  [
    "with an encoded method",
    modernRequest("tools/list", {}, { headers: { "mcp-method": encoded("tools/list") } }),
  ],
  ["without Mcp-Name", less(call({}), "mcp-name")],
  ["with another name", call({}, { "mcp-name": "other" })],
  ["with the name in another case", call({}, { "mcp-name": "Query" })],
  ["with a name that is no Base64", call({}, { "mcp-name": "=?base64?cXVlcnk?=" })],
  ["with another URI", read("a:b", "a:c")],
  ["with another task", modernRequest("tasks/get", { taskId: "t1" }, { headers: { "mcp-name": "t2" } })],
  ["without the header of an argument", call({ region: "eu" })],
  ["with another value than the argument", call({ region: "eu" }, { "mcp-param-region": "us" })],
  ["with the value in another case", call({ region: "eu" }, { "mcp-param-region": "EU" })],
  ["with a header for an argument that is not there", call({}, { "mcp-param-region": "eu" })],
  ["with a header for an argument that is null", call({ region: null }, { "mcp-param-region": "eu" })],
  ["with padding missing", call({ region: "Hello" }, { "mcp-param-region": "=?base64?SGVsbG8?=" })],
  [
    "with characters that are no Base64",
    call({ region: "Hello" }, { "mcp-param-region": "=?base64?SGVs!!!bG8=?=" }),
  ],
  ["with characters that no header may hold", call({ region: "é" }, { "mcp-param-region": "é" })],
  ["with another number", call({ where: { row: 42 } }, { "mcp-param-row": "43" })],
  ["with a number written in hex", call({ where: { row: 42 } }, { "mcp-param-row": "0x2a" })],
  ["with a number in white space", call({ where: { row: 42 } }, { "mcp-param-row": encoded(" 42 ") })],
  ["with another boolean", call({ dry: true }, { "mcp-param-dry": "false" })],
])("a request %s is a header mismatch", async (_what, request) => {
  const { answer, port } = await ask(request);
  expect([answer.status, answer.json()]).toMatchObject([400, { id: 1, error: { code: -32020 } }]);
  expect(port.calls).toEqual([]);
});

test.each<[string, Sent]>([
  ["with white space around the name", call({}, { "mcp-name": "  query\t " })],
  ["with the name encoded", call({}, { "mcp-name": encoded("query") })],
  ["of a URI beyond ASCII", read("a:世界", encoded("a:世界"))],
  [
    "with header names in any case",
    {
      ...less(call({}), "mcp-method"),
      headers: { ...less(call({}), "mcp-method").headers, "MCP-METHOD": "tools/call" },
    },
  ],
  ["with an argument encoded", call({ region: "Hello" }, { "mcp-param-region": encoded("Hello") })],
  ["with an empty argument", call({ region: "" }, { "mcp-param-region": "" })],
  [
    "with an argument that looks half encoded",
    call({ region: "=?base64?SGVsbG8=" }, { "mcp-param-region": "=?base64?SGVsbG8=" }),
  ],
  ["with a number written otherwise", call({ where: { row: 42 } }, { "mcp-param-row": "42.0" })],
  ["with a negative number", call({ where: { row: -7 } }, { "mcp-param-row": "-7" })],
  ["with a boolean", call({ dry: false }, { "mcp-param-dry": "false" })],
  ["with null for an argument", call({ region: null })],
  ["with an argument of a type that no header can mirror", call({ region: ["eu"] })],
  [
    "of a tool that nobody knows",
    modernRequest("tools/call", { name: "other", arguments: { region: "eu" } }),
  ],
  [
    "with a name where none is needed",
    modernRequest("tools/list", {}, { headers: { "mcp-name": "anything" } }),
  ],
])("a request %s passes", async (_what, request) => {
  const { answer, port } = await ask(request);
  expect(answer.status).toBe(200);
  expect(port.calls).toHaveLength(1);
});

test("parameter headers that no schema explains travel on as they came", async () => {
  const { port } = await ask(
    call(
      { region: "eu" },
      { "Mcp-Param-Region": "eu", "Mcp-Param-Tenant": encoded("ä"), "mcp-param-x": " 1 " },
    ),
  );
  expect(port.calls[0]?.extraHeaders).toEqual({ "mcp-param-tenant": encoded("ä"), "mcp-param-x": "1" });
});

test("a session id or an event id means nothing in this era", async () => {
  const { answer } = await ask(
    modernRequest("tools/list", {}, { headers: { "mcp-session-id": "s", "last-event-id": "7" } }),
  );
  expect(answer.status).toBe(200);
  expect(answer.headers["mcp-session-id"]).toBeUndefined();
});
