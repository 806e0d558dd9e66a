/** A server whose entry is wrong, in a gateway whose other servers serve. */

import "../features/admin/needed.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Config, isMisconfigured } from "../../src/config/config.js";
import { readConfig } from "../../src/config/read.js";
import { SILENT } from "../../src/core/logger.js";
import { createGateway } from "../../src/gateway/gateway.js";
import type { JsonObject } from "../../src/wire/json.js";
import { openedFeatures, SECTIONS } from "../support/features.js";
import { listening } from "../support/gateway.js";
import { JSON_HEADERS, modernRequest, send } from "../support/http-host.js";
import { startUpstream, UPSTREAMS } from "../support/scripted/upstreams.js";

const TOKEN = "operator-token-of-this-test";
const LISTEN = { http: { port: 0 }, admin: { port: 0 } };
/** The kind of the servers that serve. */
const KIND = UPSTREAMS.find(({ key }) => key === "modern-http") ?? UPSTREAMS[0];

function configOf(file: object, env: Record<string, string> = {}): Config {
  const read = readConfig(JSON.stringify({ listen: LISTEN, ...file }, null, 1), "cardea.json", {
    ...{ env, sections: SECTIONS },
  });
  if (!read.ok) throw new Error(read.problems[0]?.message);
  return read.config;
}

async function servingEntry(): Promise<object> {
  if (KIND === undefined) throw new Error("there is no scripted server");
  const upstream = await startUpstream(KIND);
  onTestFinished(() => upstream.stop());
  return upstream.entry;
}

const UNSET = { command: "never-started", env: { API_KEY: "${WEATHER_KEY}" } };

async function started(file: object) {
  const config = configOf(file);
  const gateway = createGateway(config, {
    features: await openedFeatures(config),
    logger: SILENT,
    version: "0.0.0-test",
    ownerToken: TOKEN,
  });
  onTestFinished(() => gateway.stop({ immediate: true }));
  const { url, adminUrl } = await listening(gateway);
  const page = async (path: string) => (await fetch(`${adminUrl}${path}`)).text();
  const rows = async () => JSON.parse(await page("/api/v1/servers")) as JsonObject[];
  const modern = async (method: string, params: JsonObject = {}, at = url) =>
    (await send(at, modernRequest(method, params))).json();
  const legacy = async (at = url) => {
    const initialize = {
      ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "h", version: "1" } },
    };
    return send(at, { headers: JSON_HEADERS, body: JSON.stringify(initialize) });
  };
  const names = async () => (await gateway.lists("tools")).map(({ item }) => String(item.name));
  return { gateway, url, adminUrl, page, rows, modern, legacy, names };
}

const REASON =
  "server weather is misconfigured: env.API_KEY needs the variable WEATHER_KEY, which is not set and has no default";

describe("a server with a variable that is not set", () => {
  test("is misconfigured at once and says where, while the other one serves", async () => {
    const { gateway, rows, page, names } = await started({
      mcpServers: { weather: UNSET, good: await servingEntry() },
    });
    expect(await names()).toContain("good__echo");
    expect(await gateway.missing()).toEqual([{ server: "weather", ok: false, tools: 0, error: REASON }]);
    const [weather, good] = await rows();
    expect(good).toMatchObject({ name: "good", state: "ready" });
    expect(weather).toMatchObject({
      ...{ name: "weather", state: "misconfigured", transport: "unknown", required: false },
      lastError: expect.stringMatching(
        /^cardea\.json:\d+:\d+: server "weather": env\.API_KEY needs the variable/,
      ),
      problems: [{ file: "cardea.json", line: expect.any(Number), column: expect.any(Number) }],
    });
    const metrics = await page("/metrics");
    expect(metrics).toContain('cardea_server_state{server="weather",state="misconfigured"} 1');
    expect(metrics).toContain('cardea_server_state{server="weather",state="ready"} 0');
    expect(metrics).toContain('cardea_server_state{server="good",state="ready"} 1');
    expect(metrics).toContain('cardea_upstream_up{server="weather"} 0');
    expect(metrics).toContain('cardea_upstream_up{server="good"} 1');
  });

  test("harms readiness only if it is required", async () => {
    const good = await servingEntry();
    const one = await started({ mcpServers: { weather: UNSET, good } });
    await one.names();
    expect(JSON.parse(await one.page("/readyz"))).toMatchObject({
      ready: true,
      reasons: ["server weather: misconfigured"],
    });
    const other = await started({ mcpServers: { weather: { ...UNSET, required: true }, good } });
    expect(JSON.parse(await other.page("/readyz"))).toMatchObject({
      ready: false,
      reasons: ["required server weather: misconfigured"],
    });
  });

  test("refuses calls of its tools with the reason, for hosts of both eras, and asks for no further attempt", async () => {
    const { modern, legacy, url } = await started({
      mcpServers: { weather: UNSET, good: await servingEntry() },
    });
    const refusal = { code: "upstream_unavailable", server: "weather", retryable: false };
    const call = { name: "weather__forecast", arguments: {} };
    expect(JSON.stringify(await modern("tools/call", call))).toContain(REASON);
    expect(JSON.stringify(await modern("tools/call", call))).toContain(JSON.stringify(refusal).slice(1, -1));
    const opened = await legacy();
    const session = String(opened.headers["mcp-session-id"]);
    const called = await send(url, {
      headers: { ...JSON_HEADERS, "mcp-session-id": session, "mcp-protocol-version": "2025-06-18" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: call }),
    });
    expect(called.text).toContain(REASON);
    // A file and line of the gateway's machine are for its operator.
    expect(called.text).not.toContain("cardea.json");
    expect(JSON.stringify(await modern("tools/call", { name: "wether__forecast" }))).not.toContain(
      "misconfigured",
    );
  });

  test.each(["prompts/get", "resources/read"])("refuses %s likewise", async (method) => {
    const { modern } = await started({ mcpServers: { weather: UNSET, good: await servingEntry() } });
    const params = method === "prompts/get" ? { name: "weather__daily" } : { uri: "weather+file:///x" };
    expect(JSON.stringify(await modern(method, params))).toContain(REASON);
  });

  test("is refused with the reason at its own path, for hosts of both eras", async () => {
    const { legacy, modern, url } = await started({
      mcpServers: { weather: UNSET, good: await servingEntry() },
    });
    expect((await legacy(`${url}/weather`)).text).toContain(REASON);
    expect(JSON.stringify(await modern("server/discover", {}, `${url}/weather`))).toContain(REASON);
    expect((await legacy(`${url}/good`)).status).toBe(200);
    expect(JSON.stringify(await modern("tools/call", { name: "any" }, `${url}/weather`))).toContain(REASON);
  });

  test("may be named by rules, limits and profiles", async () => {
    const { modern, url } = await started({
      mcpServers: { weather: UNSET, good: await servingEntry() },
      policy: { rules: [{ name: "r", servers: ["weather"], tools: ["x"], effect: "deny" }] },
      limits: [{ servers: ["weather"], rate: "1/s", per: "server" }],
      profiles: { both: { servers: ["weather", "good"] }, bad: { servers: ["weather"] } },
    });
    expect(JSON.stringify(await modern("tools/list", {}, `${url}/both`))).toContain("good__echo");
    expect(JSON.stringify(await modern("tools/list", {}, `${url}/bad`))).toContain('"tools":[]');
  });

  test("cannot be restarted by an operator, who gets the reason", async () => {
    const { adminUrl } = await started({ mcpServers: { weather: UNSET, good: await servingEntry() } });
    const answer = await fetch(`${adminUrl}/api/v1/servers/weather/restart`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: "{}",
    });
    expect(answer.status).toBe(409);
    expect(await answer.text()).toContain(REASON);
  });
});

describe("a reload", () => {
  test("that fixes a server starts it, and one that breaks it ends it and keeps the others", async () => {
    const [entry, good] = [await servingEntry(), await servingEntry()];
    const spoilt = { mcpServers: { one: { ...entry, timeout: "soon" }, good } };
    const { gateway, rows, names } = await started(spoilt);
    expect(await names()).not.toContain("one__echo");
    const states = async () => (await rows()).map(({ state }) => state);
    expect(await states()).toEqual(["misconfigured", "ready"]);
    await gateway.reload(configOf({ mcpServers: { one: entry, good } }));
    expect(await names()).toEqual(expect.arrayContaining(["one__echo", "good__echo"]));
    const [, before] = await rows();
    await gateway.reload(configOf(spoilt));
    expect(await names()).not.toContain("one__echo");
    expect(await gateway.call("one__echo", {})).toMatchObject({ refusal: "upstream_unavailable" });
    expect(await states()).toEqual(["misconfigured", "ready"]);
    // The other one was not started again.
    expect((await rows())[1]?.startedAt).toBe(before?.startedAt);
  });

  test("shows what is wrong now, when that is something else", async () => {
    const { gateway, rows } = await started({ mcpServers: { weather: UNSET } });
    await gateway.reload(configOf({ mcpServers: { weather: { command: "x", args: 1 } } }));
    expect((await rows())[0]?.lastError).toContain("args must be a list");
  });
});

test("of 27 imported servers with six unset variables 21 serve, and the six are named", async () => {
  const entry = await servingEntry();
  const mcpServers = Object.fromEntries(
    Array.from({ length: 27 }, (_, at) => [
      `s${at}`,
      at % 5 === 1
        ? { url: "https://mcp.example/mcp", headers: { Authorization: `Bearer \${TOKEN_${at}}` } }
        : entry,
    ]),
  );
  const config = configOf({ mcpServers });
  const named = config.servers.filter(isMisconfigured).map(({ name }) => name);
  expect(named).toEqual(["s1", "s6", "s11", "s16", "s21", "s26"]);
  const { gateway, names, rows } = await started({ mcpServers });
  expect((await names()).filter((name) => name.endsWith("__echo"))).toHaveLength(21);
  expect((await gateway.missing()).map(({ server }) => server)).toEqual(named);
  const misconfigured = (await rows()).filter(({ state }) => state === "misconfigured");
  expect(
    misconfigured.map(({ name, lastError }) => [name, /TOKEN_\d+/.exec(String(lastError))?.[0]]),
  ).toEqual(named.map((name) => [name, `TOKEN_${name.slice(1)}`]));
});
