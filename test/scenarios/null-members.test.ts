/** `null` for what is absent, as serializers of some languages write it, on every way through the gateway. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/wire/json.js";
import { hasFeature } from "../support/features.js";
import { gatewayOf } from "../support/gateway.js";
import { JSON_HEADERS, modernRequest, send } from "../support/http-host.js";
import { scriptedServer } from "../support/servers/scripted-http.js";

const CAN_SEARCH = hasFeature("tool-search");

const TOOLS = [{ name: "echo", inputSchema: { type: "object" } }];
const PROMPTS = [{ name: "daily" }];
const RESULTS: Readonly<Record<string, JsonObject>> = {
  "tools/list": { tools: TOOLS },
  "prompts/list": { prompts: PROMPTS },
  "tools/call": { content: [{ type: "text", text: "done" }] },
  "prompts/get": { messages: [] },
  "completion/complete": { completion: { values: ["a"] } },
};

/** A server of this era that keeps what it was sent, in front of which a gateway runs. */
async function started(era: "legacy" | "modern") {
  const bodies: string[] = [];
  const capabilities = { tools: {}, prompts: {}, completions: {} };
  const server = await scriptedServer(({ body, method }, response) => {
    const message = (body === "" ? {} : JSON.parse(body)) as { id?: unknown; method?: string };
    const answer = (result: JsonObject): void => {
      const modern = era === "modern" ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { ...modern, ...result } }));
    };
    if (method !== "POST") response.writeHead(405).end();
    else if (message.method === "initialize" && era === "legacy")
      answer({ protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "s", version: "1" } });
    else if (message.method === "server/discover" && era === "modern")
      answer({
        supportedVersions: ["2026-07-28"],
        capabilities,
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "s", version: "1" } },
      });
    else if (message.id === undefined) response.writeHead(202).end();
    else if (RESULTS[message.method ?? ""] === undefined)
      response
        .writeHead(era === "modern" ? 404 : 400, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "no" } }));
    else {
      bodies.push(body);
      answer(RESULTS[message.method ?? ""] ?? {});
    }
  });
  onTestFinished(() => server.close());
  const gateway = await gatewayOf({
    listen: { http: { port: 0 }, admin: { port: 0 } },
    mcpServers: { s: { url: server.url, protocol: era } },
    ...(CAN_SEARCH && { tools: { exposure: "search" } }),
  });
  onTestFinished(() => gateway.stop({ immediate: true }));
  const { url } = await gateway.start();
  await gateway.lists("tools");
  return { url, bodies };
}

async function legacySession(url: string) {
  const initialize = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "h", version: "1" },
  };
  const post = async (
    method: string,
    params: unknown,
    headers: Record<string, string> = {},
    id: unknown = 1,
  ) =>
    send(url, {
      headers: { ...JSON_HEADERS, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...(id !== undefined && { id }), method, params }),
    });
  const opened = await post("initialize", initialize);
  const session = {
    "mcp-session-id": String(opened.headers["mcp-session-id"]),
    "mcp-protocol-version": "2025-06-18",
  };
  await post("notifications/initialized", null, session, undefined);
  return (method: string, params: unknown) => post(method, params, session);
}

const THROUGH_CALL_TOOL: readonly [string, JsonObject] = [
  "tools/call",
  { name: "call_tool", arguments: { name: "s__echo", arguments: null } },
];

const CASES: readonly (readonly [string, JsonObject])[] = [
  ["tools/call", { name: "s__echo", arguments: null }],
  ["tools/call", { name: "s__echo", arguments: null, task: null }],
  ...(CAN_SEARCH ? [THROUGH_CALL_TOOL] : []),
  ["prompts/get", { name: "s__daily", arguments: null }],
  [
    "completion/complete",
    {
      ref: { type: "ref/prompt", name: "s__daily" },
      argument: { name: "a", value: "b" },
      context: { arguments: null },
    },
  ],
  [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "s__daily" }, argument: { name: "a", value: "b" }, context: null },
  ],
];

describe.each(["legacy", "modern"] as const)("a %s server", (era) => {
  test.each(CASES)("gets %s %j of hosts of both eras without the member", async (method, params) => {
    const { url, bodies } = await started(era);
    const legacy = await legacySession(url);
    for (const answer of [await legacy(method, params), await send(url, modernRequest(method, params))]) {
      expect(answer.text).not.toContain('"error"');
      expect(answer.text).toMatch(/done|messages|values/);
    }
    const sent = bodies.filter((body) => body.includes(`"method":"${method}"`));
    expect(sent.length).toBeGreaterThanOrEqual(1);
    for (const body of sent) expect(body).not.toContain("null");
  });

  test("is listed for a legacy host whose params are null", async () => {
    const { url } = await started(era);
    const legacy = await legacySession(url);
    for (const method of ["tools/list", "prompts/list", "ping"])
      expect((await legacy(method, null)).text).toContain('"result"');
  });

  test("gets members that may be null, and unknown ones, unchanged", async () => {
    const { url, bodies } = await started(era);
    const legacy = await legacySession(url);
    const params = { name: "s__echo", arguments: { a: null, b: [null] }, vendor: null };
    expect((await legacy("tools/call", params)).text).toContain("done");
    expect(bodies.at(-1)).toContain('"arguments":{"a":null,"b":[null]}');
    expect(bodies.at(-1)).toContain('"vendor":null');
  });
});

test("params that are neither an object nor null are refused, and arguments likewise", async () => {
  const { url } = await started("modern");
  const legacy = await legacySession(url);
  for (const params of [1, "x", [], false])
    expect((await legacy("tools/list", params)).text).toContain("-32600");
  for (const args of [1, "x", [], false])
    expect((await legacy("tools/call", { name: "s__echo", arguments: args })).text).toContain("-32602");
});
