/** The words of a server that fails, as hosts, logs and the status get them from the built program. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Serving, serve } from "../support/cardea.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { answer, type ScriptedServer, scriptedServer } from "../support/servers/scripted-http.js";
import { until } from "../support/until.js";

const SECRET = "canary-of-a-header-4711-and-more";
const CARD = "4111 1111 1111 1111";

/** What a tool is answered with, by its name. */
const ANSWERS: Readonly<Record<string, readonly [number, string, string]>> = {
  json: [
    403,
    "application/json",
    JSON.stringify({ error: { message: "The project is archived\u202e\u0007" } }),
  ],
  page: [422, "text/html", "<html><title>Blocked by policy 12</title>"],
  broken: [500, "text/html", "<h1>database is <i>locked</i></h1>"],
  echo: [403, "application/json", JSON.stringify({ detail: `key ${SECRET} is disabled` })],
  card: [422, "application/json", JSON.stringify({ message: `card ${CARD} was refused` })],
};

let server: ScriptedServer;
let gateway: Serving;
const hosts: RawHost[] = [];

beforeAll(async () => {
  server = await scriptedServer((asked, response) => {
    if (asked.method !== "POST") return void response.writeHead(405).end();
    if (asked.id === undefined) return void response.writeHead(202).end();
    const { method, params } = JSON.parse(asked.body) as { method: string; params?: { name: string } };
    const tools = Object.keys(ANSWERS).map((name) => ({ name, inputSchema: { type: "object" } }));
    const serverInfo = { name: "x", version: "1" };
    if (method === "initialize")
      return answer(asked, response, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo,
      });
    if (method !== "tools/call") return answer(asked, response, { tools });
    const [status, type, body] = ANSWERS[params?.name ?? ""] ?? [404, "text/plain", "?"];
    response.writeHead(status, { "content-type": type }).end(body);
  });
  gateway = await serve({
    mcpServers: { web: { url: server.url, protocol: "legacy", headers: { "x-api-key": SECRET } } },
    policy: {
      rules: [{ name: "cards", effect: "redact", redact: { results: { patterns: ["(\\d{4} ){3}\\d{4}"] } } }],
    },
  });
  hosts.push(await openModern({ url: gateway.url }), await openLegacy({ url: gateway.url }));
});
afterAll(async () => {
  await gateway.stop();
  await server.close();
});

describe("a server's own words", () => {
  const told = (host: RawHost | undefined, name: string): Promise<string> =>
    host?.request("tools/call", { name: `web__${name}`, arguments: {} }).then(JSON.stringify) ??
    Promise.reject(new Error("no host"));

  test.each([
    [
      "json",
      'answered 403 Forbidden: its credentials do not allow this; it says: \\"The project is archived\\"',
    ],
    ["page", 'answered with HTTP status 422; it says: \\"Blocked by policy 12\\"'],
    ["broken", 'answered with HTTP status 500; it says: \\"database is locked\\"'],
  ])("reach the host and the log: %s", async (name, words) => {
    for (const host of hosts) expect(await told(host, name)).toContain(words);
    await until("the log line", () => gateway.process.stderr().includes(words));
  });

  test("are redacted by the secrets of the config and by rules, for hosts and in the log", async () => {
    for (const host of hosts) {
      expect(await told(host, "echo")).toMatch(/it says: \\"key .* is disabled/);
      expect(await told(host, "echo")).not.toContain(SECRET);
      expect(await told(host, "card")).toContain('it says: \\"card [redacted] was refused\\"');
    }
    await until("the log line", () => gateway.process.stderr().includes("card [redacted] was refused"));
    expect(gateway.process.stderr()).not.toContain(CARD);
    expect(gateway.process.stderr()).not.toContain(SECRET);
  });
});
