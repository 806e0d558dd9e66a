/** The built program with keys: who comes in, what is theirs alone, and what no server ever learns. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from "@modelcontextprotocol/sdk/client/auth.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN, writeConfig } from "../support/cardea.js";
import { fixtureCommand } from "../support/fixture.js";
import { modernRequest, send } from "../support/http-host.js";
import { issuer } from "../support/issuer.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import { start } from "../support/processes.js";
import { sample } from "../support/sample.js";
import {
  type Asked,
  answer,
  json,
  type ScriptedServer,
  scriptedServer,
} from "../support/servers/scripted-http.js";
import { until } from "../support/until.js";

const hashOf = (key: string): string => `sha256:${createHash("sha256").update(key).digest("hex")}`;
const KEYS = {
  alice: "cardea_alices-own-key-with-enough-of-it",
  bob: "cardea_bobs-own-key-with-enough-of-it-too",
};
const keys = Object.entries(KEYS).map(([id, key]) => ({ id, hash: hashOf(key) }));
const CAPABILITIES = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };

type Who = keyof typeof KEYS;
const credentials = (who: Who): Record<string, string> => ({ authorization: `Bearer ${KEYS[who]}` });

/** A request of 2026-07-28. */
async function modern(url: string, who: Who, method: string, params: object) {
  const request = modernRequest(method, { ...params }, { meta: CAPABILITIES, headers: credentials(who) });
  const response = await send(url, request);
  const text =
    response.headers["content-type"] === "text/event-stream" ? response.events().at(-1) : response.json();
  return {
    status: response.status,
    ...(text as { result?: Record<string, unknown>; error?: Record<string, unknown> }),
  };
}

/** A message of a legacy session. */
function legacy(url: string, who: Who, session: string | undefined, message: object, method = "POST") {
  const headers = {
    ...credentials(who),
    ...(session !== undefined && { "mcp-session-id": session }),
    ...(method === "POST" && { "content-type": "application/json" }),
    accept: "application/json, text/event-stream",
  };
  return send(url, { method, headers, ...(method === "POST" && { body: JSON.stringify(message) }) });
}
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const listTools = { jsonrpc: "2.0", id: 2, method: "tools/list" };

/** A legacy server of one tool; what it is asked is kept. */
function recorder(asked: Asked, response: Parameters<typeof answer>[1]): void {
  const { method } =
    asked.body === "" ? { method: undefined } : (JSON.parse(asked.body) as { method?: string });
  if (asked.method !== "POST") response.writeHead(405).end();
  else if (method === "initialize") {
    const capabilities = { tools: {} };
    answer(asked, response, {
      protocolVersion: "2025-06-18",
      capabilities,
      serverInfo: { name: "r", version: "1" },
    });
  } else if (method === "tools/list") {
    answer(asked, response, { tools: [{ name: "look", inputSchema: { type: "object" } }] });
  } else if (method === "tools/call") answer(asked, response, { content: [{ type: "text", text: "seen" }] });
  else if (asked.id === undefined) response.writeHead(202).end();
  else json(response, { jsonrpc: "2.0", id: asked.id, error: { code: -32601, message: "no" } });
}

describe("two principals with keys", () => {
  let gateway: MetGateway;
  let recording: ScriptedServer;
  beforeAll(async () => {
    recording = await scriptedServer(recorder);
    const config = {
      auth: { keys },
      mcpServers: {
        asks: fixtureCommand("modern"),
        waits: fixtureCommand("legacy"),
        records: { type: "http", url: recording.url, headers: { "X-Own": "of the gateway" } },
      },
    };
    gateway = await metGateway(config);
    await until("all servers", async () => {
      const { result } = await modern(gateway.url, "alice", "tools/list", {});
      const names = ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
      return ["asks__", "waits__", "records__"].every((prefix) =>
        names.some((name) => name.startsWith(prefix)),
      );
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await recording.close();
  });

  test("are the only ones that are authenticated", async () => {
    const wrong = { ...KEYS, alice: "x" };
    const request = modernRequest("tools/list", {}, { headers: { authorization: `Bearer ${wrong.alice}` } });
    expect((await send(gateway.url, request)).status).toBe(401);
    expect(
      (await send(`${gateway.url}?access_token=${KEYS.alice}`, modernRequest("tools/list"))).status,
    ).toBe(401);
    expect((await send(gateway.url.replace("/mcp", "/healthz"), { method: "GET" })).status).toBe(200);
  });

  test("cannot read, use or delete each other's session", async () => {
    const opened = await legacy(gateway.url, "alice", undefined, initialize);
    const session = String(opened.headers["mcp-session-id"]);
    const notified = await legacy(gateway.url, "alice", session, {
      jsonrpc: "2.0",
      method: "notifications/initialized",
    });
    expect([opened.status, notified.status]).toEqual([200, 202]);
    const unknown = await legacy(gateway.url, "bob", "00000000-0000-4000-8000-000000000000", listTools);
    for (const method of ["POST", "GET", "DELETE"]) {
      const stolen = await legacy(gateway.url, "bob", session, listTools, method);
      expect([method, stolen.status]).toEqual([method, 404]);
      // Nor does it look different from one that never was.
      if (method === "POST") expect(stolen.text).toBe(unknown.text);
    }
    const own = await legacy(gateway.url, "bob", session, initialize);
    expect([own.status, own.headers["mcp-session-id"] === session]).toEqual([200, false]);
    const still = await legacy(gateway.url, "alice", session, listTools);
    expect([still.status, still.text.includes("records__look")]).toEqual([200, true]);
  });

  test("cannot use each other's requestState, which stays valid for its owner", async () => {
    const call = { name: "asks__test_input_required_result_request_state", arguments: {} };
    const asked = await modern(gateway.url, "alice", "tools/call", call);
    expect(asked.result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    const retry = {
      ...call,
      requestState: asked.result?.requestState,
      inputResponses: { confirm: { action: "accept", content: { ok: true } } },
    };
    const stolen = await modern(gateway.url, "bob", "tools/call", retry);
    expect(stolen.error).toMatchObject({ code: -32602, data: { cardea: { code: "state_rejected" } } });
    const own = await modern(gateway.url, "alice", "tools/call", retry);
    expect(own.result).toMatchObject({ content: [{ text: "state-ok" }] });
  });

  test("cannot answer the questions of each other's parked calls", async () => {
    const call = { name: "waits__test_elicitation", arguments: { message: "who?" } };
    const asked = await modern(gateway.url, "alice", "tools/call", call);
    expect(asked.result).toMatchObject({ resultType: "input_required" });
    const [key = ""] = Object.keys(asked.result?.inputRequests as object);
    const retry = (response: string) => ({
      ...call,
      requestState: asked.result?.requestState,
      inputResponses: { [key]: { action: "accept", content: { response } } },
    });
    const stolen = await modern(gateway.url, "bob", "tools/call", retry("bob"));
    expect(stolen.error).toMatchObject({ code: -32602, data: { cardea: { code: "state_rejected" } } });
    const own = await modern(gateway.url, "alice", "tools/call", retry("alice"));
    expect(JSON.stringify(own.result?.content)).toContain("alice");
  });

  test("keep their credentials from every server", async () => {
    const headers = {
      cookie: "a=b",
      "x-forwarded-for": "10.0.0.1",
      "proxy-authorization": "Basic x",
      "x-api-key": KEYS.bob,
    };
    const request = modernRequest("tools/call", { name: "records__look", arguments: {} }, { headers });
    expect((await send(gateway.url, request)).json()).toMatchObject({
      result: { content: [{ text: "seen" }] },
    });
    await modern(gateway.url, "alice", "tools/call", { name: "records__look", arguments: {} });
    const opened = await legacy(gateway.url, "alice", undefined, initialize);
    await legacy(gateway.url, "alice", String(opened.headers["mcp-session-id"]), {
      jsonrpc: "2.0",
      id: 3,
      method: "tools/call",
      params: { name: "records__look" },
    });
    expect(recording.asked.filter(({ body }) => body.includes("tools/call"))).toHaveLength(3);
    for (const asked of recording.asked) {
      expect(asked.headers["x-own"]).toBe("of the gateway");
      for (const name of ["authorization", "x-api-key", "cookie", "proxy-authorization", "x-forwarded-for"]) {
        expect(asked.headers).not.toHaveProperty(name);
      }
      expect(JSON.stringify([asked.headers, asked.path, asked.body])).not.toMatch(/cardea_|alice|bob/);
    }
  });
});

test("an API key authenticates by its hash in the config, until the hash is removed", async () => {
  const args = [MAIN, "key", "--id", "ci", "--groups", "robots", "--expires", "90d"];
  const made = spawnSync(process.execPath, args, { encoding: "utf8" });
  const [key = "", entry = ""] = made.stdout.trim().split("\n");
  expect([made.status, key]).toEqual([0, expect.stringMatching(/^cardea_[\w-]{43}$/)]);
  expect(JSON.parse(entry)).toMatchObject({ id: "ci", hash: hashOf(key), groups: ["robots"] });
  const config = { auth: { keys: [...keys, JSON.parse(entry) as object] }, mcpServers: {} };
  const { file, remove } = writeConfig(config);
  const process_ = start(process.execPath, [
    MAIN,
    "serve",
    "--config",
    file,
    "--port",
    "0",
    "--admin-port",
    "0",
  ]);
  try {
    const [, url = ""] = await process_.says(/(http:\/\/\S+\/mcp)/);
    const come = async (): Promise<number> =>
      (await send(url, modernRequest("tools/list", {}, { headers: { "x-api-key": key } }))).status;
    expect(await come()).toBe(200);
    writeFileSync(file, readFileSync(file, "utf8").replace(hashOf(key), hashOf("another")));
    await until("the key is gone", async () => (await come()) === 401);
    expect(process_.stderr()).not.toContain(key);
  } finally {
    await process_.stop();
    await remove();
  }
});

test("a bearer token: a client discovers the authorization server and the required scopes", async () => {
  const from = await issuer();
  const config = {
    auth: { jwt: { issuer: from.url }, requiredScopes: ["mcp"] },
    policy: { default: "deny", rules: [{ tools: ["asks__*"], scopes: ["ask"], effect: "allow" }] },
    mcpServers: { asks: fixtureCommand("modern") },
  };
  const gateway = await metGateway(config);
  try {
    const stranger = await fetch(gateway.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(stranger);
    expect([stranger.status, scope]).toEqual([401, "mcp"]);
    const metadata = await discoverOAuthProtectedResourceMetadata(gateway.url, {
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    });
    expect(metadata).toMatchObject({ resource: gateway.url, authorization_servers: [from.url] });
    expect(await discoverOAuthProtectedResourceMetadata(gateway.url)).toEqual(metadata);

    const call = async (claims: object) => {
      const token = await from.token({ aud: gateway.url, ...claims });
      const params = { name: "asks__test_simple_text", arguments: {} };
      const { headers, body } = modernRequest("tools/call", params, {
        headers: { authorization: `Bearer ${token}` },
      });
      return fetch(gateway.url, { method: "POST", headers: headers ?? {}, body });
    };
    await until("the server", async () => (await call({ scope: "mcp ask" })).status === 200);
    const little = await call({ scope: "mcp" });
    expect([little.status, extractWWWAuthenticateParams(little)]).toMatchObject([
      403,
      { error: "insufficient_scope", scope: "mcp ask" },
    ]);
    expect((await call({ scope: "mcp ask", aud: "https://other.example.com" })).status).toBe(401);
  } finally {
    await gateway.stop();
  }
});

describe.concurrent("beyond loopback", () => {
  const run = (flags: readonly string[], config: object = { mcpServers: {} }) => {
    const { file, remove } = writeConfig(config);
    const ports = ["--port", "0", "--admin-port", "0"];
    const process_ = start(process.execPath, [MAIN, "serve", "--config", file, ...ports, ...flags]);
    return { process_, remove };
  };

  test.each(
    sample<[string, string[], string]>(
      "unprotected listeners",
      [
        [
          "hosts",
          ["--host", "0.0.0.0"],
          "refused to listen on 0.0.0.0: every client that reaches it could call every tool",
        ],
        [
          "operators",
          ["--admin-host", "0.0.0.0"],
          "refused to listen on 0.0.0.0: it would serve every client that reaches it",
        ],
      ],
      1,
    ),
  )("no listener for %s starts without authentication or --insecure", async (_who, flags, sentence) => {
    const { process_, remove } = run(flags);
    expect(await process_.exited).toEqual({ code: 1, signal: null });
    expect(process_.stderr()).toContain(sentence);
    await remove();
  });

  test.each(
    sample<[string, string]>(
      "unprotected addresses",
      [
        ["hosts", "http"],
        ["operators", "admin"],
      ],
      1,
    ),
  )("an address for %s that the config names is a fault of the config", async (_who, listener) => {
    const { process_, remove } = run([], { listen: { [listener]: { host: "0.0.0.0" } }, mcpServers: {} });
    expect(await process_.exited).toEqual({ code: 78, signal: null });
    expect(process_.stderr()).toMatch(/cardea\.json:4:\d+: serve refuses to listen on 0\.0\.0\.0/);
    await remove();
  });

  test.each(
    sample<[string, string[], object]>(
      "protected listeners",
      [
        ["--insecure", ["--host", "0.0.0.0", "--insecure"], {}],
        [
          "keys and a token",
          ["--host", "0.0.0.0", "--admin-host", "0.0.0.0"],
          {
            auth: { keys },
            listen: { admin: { token: "a-token-of-some-length" } },
          },
        ],
      ],
      1,
    ),
  )("the listener starts with %s", async (_what, flags, config) => {
    const { process_, remove } = run(flags, { mcpServers: {}, ...config });
    await process_.says(/ready/);
    expect((await process_.stop()).code).toBe(0);
    await remove();
  });

  test("a reload that removes authentication is refused", async () => {
    const listen = { http: { allowedHosts: ["gateway.test"] } };
    const { file, remove } = writeConfig({ auth: { keys }, listen, mcpServers: {} });
    const flags = ["--host", "0.0.0.0", "--port", "0", "--admin-port", "0"];
    const process_ = start(process.execPath, [MAIN, "serve", "--config", file, ...flags]);
    try {
      const [, port = ""] = await process_.says(/http:\/\/0\.0\.0\.0:(\d+)\/mcp/);
      writeFileSync(file, JSON.stringify({ listen, mcpServers: {} }));
      await process_.says(/could not be applied/);
      const request = modernRequest("tools/list", {}, { headers: { host: "gateway.test" } });
      expect((await send(`http://127.0.0.1:${port}/mcp`, request)).status).toBe(401);
    } finally {
      await process_.stop();
      await remove();
    }
  });
});
