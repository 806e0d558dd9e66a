/** A server that rules hide from a principal: for that principal it behaves as if it were not configured. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { HOSTS, openGateway, type Person, type Running, type Server } from "../../support/open-gateway.js";

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
const introduced = (name: string): NonNullable<Server["answer"]> => {
  const serverInfo = { name: `the secret ${name}`, version: "1" };
  return ({ method }) => {
    const capabilities = name === "silent" ? { experimental: { ops: {} } } : undefined;
    const about = { serverInfo, instructions: `ask the secret ${name} for everything` };
    if (method === "server/discover" && capabilities !== undefined)
      return { supportedVersions: ["2026-07-28"], capabilities, ...about };
    if (method === "initialize" && capabilities !== undefined)
      return { protocolVersion: "2025-06-18", capabilities, ...about };
    return undefined;
  };
};
/** One with everything, one that lists nothing, one that is unavailable, and one visible to all. */
const SERVERS: Readonly<Record<string, Server>> = {
  open: { tools: [tool("read")], prompts: ["plan"], resources: ["file:///pub"], era: "legacy" },
  infra: {
    tools: [tool("read"), tool("only")],
    prompts: ["plan", "secret"],
    resources: ["file:///pub", "file:///infra"],
    templates: ["file:///t/{x}"],
    capabilities: { experimental: { ops: {} } },
  },
  silent: { answer: introduced("silent") },
};
/** This address does not answer. */
const AWAY = { away: { type: "http", url: "http://127.0.0.1:9/mcp" } };
const config = (servers: readonly string[]) => ({
  policy: {
    rules: [{ name: "hidden", principals: ["bob"], servers: ["infra", "silent", "away"], effect: "hide" }],
  },
  profiles: {
    mixed: { servers: servers.filter((name) => name !== "silent") },
    ...(servers.length > 1 && { dark: { servers: servers.filter((name) => name !== "open") } }),
  },
});

/** The gateway with the hidden servers, and one without them; shared by all tests, which change nothing. */
let both: readonly [Running, Running];
const endings: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const ends = (end: () => Promise<void>): void => void endings.push(end);
  const { open } = SERVERS;
  both = [
    await openGateway(SERVERS, config(Object.keys(SERVERS)), AWAY, ends),
    await openGateway(open === undefined ? {} : { open }, config(["open"]), {}, ends),
  ];
});
afterAll(async () => {
  for (const end of endings) await end();
});

describe.each(HOSTS)("for a $era host over $door that may not see a server", (kind) => {
  test.each<[string, JsonObject]>([
    ["tools/list", {}],
    ["prompts/list", {}],
    ["resources/list", {}],
    ["resources/templates/list", {}],
    ["tools/call", { name: "infra__read", arguments: {} }],
    ["tools/call", { name: "read", arguments: {} }],
    ["tools/call", { name: "only", arguments: {} }],
    ["tools/call", { name: "away__read", arguments: {} }],
    ["prompts/get", { name: "infra__secret" }],
    ["prompts/get", { name: "secret" }],
    ["resources/read", { uri: "cardea://servers" }],
    ["resources/subscribe", { uri: "cardea://servers" }],
    ["resources/read", { uri: "infra+file:///infra" }],
    ["resources/read", { uri: "infra+file:///unlisted" }],
    ["resources/read", { uri: "https://example.com/" }],
    ["resources/subscribe", { uri: "infra+file:///infra" }],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "infra__secret" }, argument: { name: "a", value: "" } },
    ],
    [
      "completion/complete",
      { ref: { type: "ref/resource", uri: "infra+file:///t/{x}" }, argument: { name: "x", value: "" } },
    ],
    ["ops/run", {}],
    ["ops/run", { name: "infra__read" }],
    ["skills/list", {}],
    ["tasks/list", {}],
  ])("%s %j is answered as if it were not configured", async (method, params) => {
    const answers = await Promise.all(
      both.map(async (running) => (await running.host(kind, "bob")).send(1, method, params)),
    );
    expect(answers[0]).toEqual(answers[1]);
  });

  test("the gateway introduces itself without it", async () => {
    const [first, second] = await Promise.all(
      both.map(async (running) => (await running.host(kind, "bob")).introduction()),
    );
    expect(first).toEqual(second);
  });

  test("it is never connected for that principal, and cannot ask it anything", async () => {
    const running = await openGateway(SERVERS, config(Object.keys(SERVERS)), AWAY);
    const host = await running.host(kind, "bob");
    for (const method of ["tools/list", "tools/call", "ops/run"])
      await host.send(method, method, { name: "only" });
    expect(running.received.filter(({ server }) => server !== "open")).toEqual([]);
  });
});

describe("the path of a server that is hidden from the principal", () => {
  const body = (method: string) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      method,
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    });
  const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const modern = { ...json, "mcp-protocol-version": "2026-07-28" };
  const requests: readonly [string, RequestInit][] = [
    ["initialize", { method: "POST", headers: json, body: body("initialize") }],
    ["a call without a session", { method: "POST", headers: json, body: body("tools/list") }],
    [
      "a call in a session of another path",
      { method: "POST", headers: { ...json, "mcp-session-id": "x" }, body: body("tools/list") },
    ],
    [
      "discover",
      {
        method: "POST",
        headers: { ...modern, "mcp-method": "server/discover" },
        body: body("server/discover"),
      },
    ],
    [
      "listen",
      {
        method: "POST",
        headers: { ...modern, "mcp-method": "subscriptions/listen" },
        body: body("subscriptions/listen"),
      },
    ],
    ["no JSON", { method: "POST", headers: json, body: "{" }],
    ["an event stream", { method: "GET", headers: { accept: "text/event-stream" } }],
    [
      "an event stream of a session",
      { method: "GET", headers: { accept: "text/event-stream", "mcp-session-id": "x" } },
    ],
    ["an end", { method: "DELETE", headers: { "mcp-session-id": "x" } }],
    ["an end of this era", { method: "DELETE", headers: { "mcp-protocol-version": "2026-07-28" } }],
    ["a preflight", { method: "OPTIONS" }],
    ["another method", { method: "PUT" }],
  ];

  test.each(requests)("answers like that of an unknown server: %s", async (_, init) => {
    const [running] = both;
    const ask = async (name: string, person: Person) => {
      const response = await running.fetch(`/mcp/${name}`, init, person);
      const headers = [...response.headers].filter(([header]) => header !== "date");
      return { status: response.status, headers, body: await response.text() };
    };
    const unknown = await ask("nowhere", "bob");
    for (const name of ["infra", "silent", "away", "dark"])
      expect([name, await ask(name, "bob")]).toEqual([name, unknown]);
    // Not because everything is answered so.
    if (init.method === "POST" && init.body !== "{") expect((await ask("infra", "ann")).status).not.toBe(404);
    if (init.method === "POST")
      expect((await ask("mixed", "bob")).status).toBe((await ask("open", "bob")).status);
  });
});
