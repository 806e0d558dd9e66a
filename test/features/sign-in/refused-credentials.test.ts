/** A server that refuses requests with 401: a sign-in is offered only where its metadata, or a Bearer challenge, ask for one. */
import "../admin/needed.js";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { openedFeatures } from "../../support/features.js";
import { configOf, listening } from "../../support/gateway.js";
import { scriptedServer } from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";

interface Behaviour {
  /** `WWW-Authenticate` of the 401. */
  readonly challenge?: string;
  /** JSON of the 401. */
  readonly body?: object;
  /** JSON documents by path. */
  readonly documents?: (origin: string) => Readonly<Record<string, object>>;
  /** Answers all other GET requests. Default: 404. */
  readonly otherwise?: (response: ServerResponse) => void;
}

async function refusing({ challenge, body, documents = () => ({}), otherwise }: Behaviour) {
  const server = await scriptedServer((asked, response) => {
    if (asked.method === "POST") {
      response.writeHead(401, {
        ...(challenge !== undefined && { "www-authenticate": challenge }),
        ...(body !== undefined && { "content-type": "application/json" }),
      });
      response.end(body && JSON.stringify(body));
      return;
    }
    const found = documents(server.origin)[asked.path];
    if (found !== undefined)
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
    else if (otherwise !== undefined) otherwise(response);
    else response.writeHead(404).end();
  });
  onTestFinished(() => server.close());
  return server;
}

/** A gateway with that server, once it has tried to connect; and what a call and an operator get. */
async function gatewayFor(behaviour: Behaviour, more: object = {}, url?: (url: string) => string) {
  const server = await refusing(behaviour);
  const folder = mkdtempSync(join(tmpdir(), "cardea-refused-"));
  const entry = { url: url?.(server.url) ?? server.url, ...more };
  const config = configOf({ mcpServers: { api: entry } });
  const gateway = createGateway(config, {
    logger: SILENT,
    redact: (text) => text.replaceAll(KEY, "[redacted]"),
    version: "0.0.0-test",
    features: await openedFeatures(config, { stateFolder: folder }),
  });
  const started = await gateway.start();
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    rmSync(folder, { recursive: true, force: true });
  });
  const row = async () => {
    const rows = (await (await fetch(`${started.adminUrl}/api/v1/servers`)).json()) as readonly {
      readonly state: string;
      readonly lastError?: string;
    }[];
    return rows[0];
  };
  await until("an attempt to connect", async () => (await row())?.lastError);
  const client = new Client({ name: "host", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(started.url)));
  onTestFinished(() => client.close());
  const call = () =>
    client.callTool({ name: "api__run", arguments: {} }).then(
      (result) => JSON.stringify(result),
      (error: unknown) => `${String(error)} ${JSON.stringify((error as { data?: unknown }).data)}`,
    );
  return { server, row, call };
}

/** A secret of the config. */
const KEY = "the-key-of-the-config-0815";
const REFUSED = "the credentials in the config were refused";
const html = (response: ServerResponse): void =>
  void response.writeHead(200, { "content-type": "text/html" }).end("<html><title>App</title></html>");
const json = (response: ServerResponse): void =>
  void response.writeHead(200, { "content-type": "application/json" }).end('{"error":"not found"}');

describe("a 401 that is no OAuth", () => {
  const cases: readonly (readonly [string, Behaviour, string])[] = [
    ["asks for Basic", { challenge: 'Basic realm="api"' }, " and asks for Basic"],
    ["asks for an API key", { challenge: 'ApiKey realm="api"' }, " and asks for ApiKey"],
    ["asks for a header of its own", { challenge: "X-API-Key" }, " and asks for X-API-Key"],
    ["asks for several", { challenge: "Negotiate, NTLM" }, " and asks for Negotiate or NTLM"],
    ["asks for Digest", { challenge: 'Digest realm="a", nonce="b==", qop="auth"' }, " and asks for Digest"],
    ["asks for nothing", {}, ""],
    ["speaks of Bearer in a text only", { challenge: 'Basic realm="x, Bearer y"' }, " and asks for Basic"],
    ["begins with another word", { challenge: "Bearerish realm=x" }, " and asks for Bearerish"],
    ["has a key as its scheme", { challenge: "sk-live-0123456789abcdef" }, ""],
    ["has a page at every path", { otherwise: html }, ""],
    ["has some JSON at every path", { otherwise: json }, ""],
    ["has an error at every path", { otherwise: (response) => void response.writeHead(503).end() }, ""],
  ];

  test.each(cases)("leads to no sign-in: a server that %s", async (_, behaviour, asked) => {
    const { row, call } = await gatewayFor(behaviour, { headers: { "x-api-key": KEY } });
    const { state, lastError } = (await row()) ?? {};
    expect(state).not.toBe("needs_sign_in");
    expect(lastError).toBe(`api answered 401 Unauthorized${asked}: ${REFUSED}`);
    const answer = await call();
    expect(answer).toContain(REFUSED);
    expect(answer).not.toMatch(/sign.?in|cardea login|\/oauth\/connect/i);
    expect(answer).not.toContain(KEY);
  });

  test.each([
    ["has none", {}, undefined],
    ["has some in the URL", {}, (url: string) => `${url}?api_key=secret-in-the-query`],
    ["has Authorization", { headers: { authorization: "Basic dXNlcjpwYXNz" } }, undefined],
    ["wants no sign-in", { auth: { type: "none" } }, undefined],
  ])("has an error that fits, where the config %s", async (what, more, url) => {
    const { row, call } = await gatewayFor({ challenge: 'Basic realm="api"' }, more, url);
    const none = what === "has none" || what === "wants no sign-in";
    const { lastError = "", state } = (await row()) ?? {};
    expect(state).not.toBe("needs_sign_in");
    const hint = none ? ' (there are none: put them into "headers")' : "";
    expect(lastError).toBe(`api answered 401 Unauthorized and asks for Basic: ${REFUSED}${hint}`);
    expect(await call()).not.toMatch(/secret-in-the-query|dXNlcjpwYXNz/);
  });
});

describe("a 401 leads to a sign-in", () => {
  const resource = (origin: string) => ({ resource: `${origin}/mcp`, authorization_servers: [origin] });
  const cases: readonly (readonly [string, Behaviour, object])[] = [
    ["it asks for Bearer", { challenge: "Bearer" }, {}],
    ["it asks for bearer, in whatever case", { challenge: 'bearer realm="x"' }, {}],
    [
      "it asks for Bearer beside others",
      { challenge: 'Basic realm="a, b", Bearer error="invalid_token"' },
      {},
    ],
    [
      "it has resource metadata at its path",
      { documents: (at) => ({ "/.well-known/oauth-protected-resource/mcp": resource(at) }) },
      {},
    ],
    [
      "it has resource metadata at the root, and asks for Basic",
      {
        challenge: "Basic",
        documents: (at) => ({ "/.well-known/oauth-protected-resource": resource(at) }),
      },
      {},
    ],
    [
      "it has metadata of an authorization server only, as in 2025-03-26",
      { documents: (at) => ({ "/.well-known/oauth-authorization-server": { issuer: at } }) },
      {},
    ],
    ["the config says so", { challenge: "Basic" }, { auth: {} }],
  ];

  test.each(cases)("where %s", async (_, behaviour, more) => {
    const { row, call } = await gatewayFor(behaviour, more);
    expect(await row()).toMatchObject({ state: "needs_sign_in" });
    expect(await call()).toContain("cardea login api");
  });

  test("also with an API key in the config, where it asks for Bearer", async () => {
    const { row } = await gatewayFor({ challenge: "Bearer" }, { headers: { "x-api-key": "k" } });
    expect(await row()).toMatchObject({ state: "needs_sign_in" });
  });
});

test("the words of the server are quoted, without what the config keeps secret", async () => {
  const body = { message: `the key ${KEY} is not active` };
  const { row, call } = await gatewayFor({ body }, { headers: { "x-api-key": KEY } });
  const answer = await call();
  const { lastError = "" } = (await row()) ?? {};
  for (const text of [lastError, answer]) {
    expect(text).toContain(REFUSED);
    expect(text).toContain("is not active");
    expect(text).not.toContain(KEY);
  }
});

test("the metadata are asked for without the headers of the config", async () => {
  const { server } = await gatewayFor({ challenge: "Basic" }, { headers: { "x-api-key": "k" } });
  const gets = server.asked.filter(({ path }) => path.startsWith("/.well-known/"));
  expect(gets.length).toBeGreaterThan(0);
  expect(gets.every(({ headers }) => headers["x-api-key"] === undefined)).toBe(true);
});

describe("a 401 on the event stream alone", () => {
  test.each([
    ["a Bearer challenge", { "www-authenticate": 'Bearer realm="x"' }],
    ["no challenge", {}],
  ])("with %s leads to no sign-in: calls work without a stream", async (_, challenge) => {
    const gets: number[] = [];
    const server = await scriptedServer((asked, response) => {
      if (asked.method !== "POST") {
        gets.push(asked.path === "/mcp" ? 1 : 0);
        response.writeHead(asked.path === "/mcp" ? 401 : 404, challenge).end();
        return;
      }
      const { id, method } = JSON.parse(asked.body) as { id?: number; method: string };
      const results: Readonly<Record<string, object>> = {
        initialize: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "s", version: "1" },
        },
        "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text: "done" }] },
      };
      if (id === undefined) response.writeHead(202).end();
      else if (results[method] === undefined) response.writeHead(400).end();
      else
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
    });
    onTestFinished(() => server.close());
    const folder = mkdtempSync(join(tmpdir(), "cardea-refused-"));
    const config = configOf({ mcpServers: { api: { url: server.url } } });
    const features = await openedFeatures(config, { stateFolder: folder });
    const gateway = createGateway(config, { logger: SILENT, version: "0.0.0-test", features });
    const { adminUrl } = await listening(gateway);
    onTestFinished(async () => {
      await gateway.stop({ immediate: true });
      rmSync(folder, { recursive: true, force: true });
    });
    await gateway.lists("tools");
    await until("the stream to be refused", () => gets.includes(1));
    for (let times = 0; times < 20; times += 1) {
      const reply = await gateway.call("api__echo", {});
      expect(JSON.stringify(reply.kind === "result" ? reply.result.object : reply)).toContain("done");
    }
    const status = (await (await fetch(`${adminUrl}/api/v1/servers`)).json()) as { state: string }[];
    expect(status).toMatchObject([{ state: "ready" }]);
    expect(gets.filter((get) => get === 1)).toHaveLength(1);
  });
});
