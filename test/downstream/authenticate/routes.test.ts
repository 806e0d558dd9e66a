/** Every path of the main listener without credentials, and the HTTP responses to requests with a token. */
import { METHODS as KNOWN_TO_NODE } from "node:http";
import { describe, expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { NO_AUTHENTICATION } from "../../../src/downstream/authenticate/authentication.js";
import { routeTable } from "../../../src/downstream/http-routes.js";
import { createLegacyEdge } from "../../../src/downstream/legacy/edge.js";
import { BodyBudget } from "../../../src/downstream/read-body.js";
import { rebindingProtection } from "../../../src/http/check-request-head.js";
import { fakePort, textReply } from "../../support/fake-port.js";
import { modernRequest, raw, type Sent, send } from "../../support/http-host.js";
import { issuer } from "../../support/issuer.js";
import { listening, recordingEdge } from "../../support/listening.js";
import { authenticationOf, jwtConfig, keyConfig } from "./support.js";

const KEY = "cardea_key-of-alice";
const keys = [keyConfig("alice", KEY)];
const JSON_TYPE = { "content-type": "application/json" };
const ping: Sent = { headers: JSON_TYPE, body: '{"jsonrpc":"2.0","id":7,"method":"ping"}' };
const METADATA = "/.well-known/oauth-protected-resource";

/** The paths that the listener really serves, parameters filled in. */
const PATHS = routeTable({
  listen: { path: "/mcp", maxBodyBytes: 1 },
  gateway: fakePort(),
  modern: recordingEdge(),
  legacy: recordingEdge(),
  sse: recordingEdge(),
  readiness: () => ({ ready: true, reasons: [] }),
  authentication: NO_AUTHENTICATION,
  rebindingProtection: rebindingProtection({ bind: "127.0.0.1", allowedHosts: [], allowedOrigins: [] }),
  bodyBudget: new BodyBudget(),
  logger: SILENT,
}).map(({ path }) => path.replace(":name", "files").replace(/^\*$/, "/nothing").replace(/\*$/, "mcp"));

/** The paths that need no credentials: health and token metadata. */
const PUBLIC = ["/healthz", "/readyz", METADATA, `${METADATA}/mcp`];

describe("without credentials", () => {
  // Node 20.19 does not parse QUERY and answers 400 by itself.
  const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"].filter((method) =>
    KNOWN_TO_NODE.includes(method),
  );
  const walk = [
    ...PATHS,
    "/",
    "/mcp/",
    "/mcp/files/",
    "/mcp/nobody",
    "/sse/",
    "//mcp",
    "/mcp/a/b",
    "/MCP",
    "/mcp%2ffiles",
  ];

  test("the list of routes is complete", () => {
    expect(PATHS).toEqual([...PUBLIC, "/mcp", "/mcp/files", "/sse", "/messages", "/nothing"]);
  });

  test("every path and method is answered 401 except the public list, and nothing is reached", async () => {
    const { url: issuerUrl } = await issuer();
    const sse = recordingEdge();
    const { origin, legacy } = await listening({
      sse,
      gateway: fakePort({ scopes: ["files"] }),
      authentication: authenticationOf({ keys, jwt: jwtConfig(issuerUrl) }),
    });
    const found: string[] = [];
    for (const path of walk) {
      for (const method of METHODS) {
        const answer = await send(`${origin}${path}`, method === "POST" ? ping : { method });
        if (answer.status !== 401) found.push(`${method} ${path} ${answer.status}`);
        else expect(answer.headers["www-authenticate"]).toMatch(/^Bearer resource_metadata="/);
      }
    }
    const others = METHODS.filter((method) => method !== "GET" && method !== "HEAD");
    const expected = PUBLIC.flatMap((path) => [
      `GET ${path} 200`,
      `HEAD ${path} 200`,
      ...others.map((method) => `${method} ${path} 405`),
    ]);
    expect(found.sort()).toEqual(expected.sort());
    expect([sse.seen, legacy.seen]).toEqual([[], []]);
  });

  test("the body of an unauthenticated request is never read", async () => {
    const { url } = await listening({ authentication: authenticationOf({ keys }) });
    const answer = await send(url, { ...ping, body: "x".repeat(5_000_000) });
    expect(answer.status).toBe(401);
    expect(answer.json()).toEqual({
      jsonrpc: "2.0",
      error: {
        code: -31401,
        message: "this needs an API key: send Authorization: Bearer …",
        data: { cardea: { code: "unauthenticated", retryable: false } },
      },
    });
  });

  test.each([["?access_token="], ["?api_key="], ["?key="], ["?Authorization=Bearer%20"]])(
    "a key in the query (%s) is no key",
    async (query) => {
      const { url, legacy } = await listening({ authentication: authenticationOf({ keys }) });
      expect((await send(`${url}${query}${KEY}`, ping)).status).toBe(401);
      expect(legacy.seen).toEqual([]);
    },
  );

  test("a browser's CORS preflight is answered, and reveals nothing more", async () => {
    const { url } = await listening({ authentication: authenticationOf({ keys }) });
    const headers = {
      origin: "http://localhost:3000",
      "access-control-request-headers": "authorization, x-api-key, x-other",
    };
    const asked = await send(url, { method: "OPTIONS", headers });
    expect([asked.status, asked.headers["access-control-allow-headers"], asked.text]).toEqual([
      204,
      "authorization, x-api-key",
      "",
    ]);
    const called = await send(url, { ...ping, headers: { ...JSON_TYPE, origin: headers.origin } });
    expect(called.status).toBe(401);
    expect(called.headers["access-control-expose-headers"]).toContain("WWW-Authenticate");
  });
});

describe("with credentials", () => {
  test.each([
    ["Authorization", { authorization: `Bearer ${KEY}` }],
    ["X-API-Key", { "x-api-key": KEY }],
  ] as [string, Record<string, string>][])(
    "in %s the request has that principal",
    async (_where, headers) => {
      const gateway = fakePort({ handlers: { "tools/list": () => textReply("x") } });
      const { url } = await listening({ gateway, authentication: authenticationOf({ keys }) });
      expect((await send(url, modernRequest("tools/list", {}, { headers }))).status).toBe(200);
      expect(gateway.calls.map(({ client }) => client.principal.id)).toEqual(["alice"]);
      expect((await send(`${url}x`, { method: "GET", headers })).status).toBe(404);
    },
  );

  test("two Authorization headers are refused: a proxy in front may have checked the other", async () => {
    const { port, legacy } = await listening({ authentication: authenticationOf({ keys }) });
    const lines = ["GET /mcp HTTP/1.1", "Host: localhost", "Connection: close"];
    for (const second of [`Authorization: Bearer ${KEY}`, "authorization: Bearer other"]) {
      const heard = await raw(port, [...lines, `Authorization: Bearer ${KEY}`, second, "", ""].join("\r\n"));
      expect(heard).toMatch(/^HTTP\/1\.1 400 /);
    }
    expect(legacy.seen).toEqual([]);
  });
});

describe("the metadata of the resource", () => {
  test("is served at both well-known paths, and behind a reverse proxy", async () => {
    const from = await issuer();
    const resource = "https://example.com/tools/mcp";
    const { origin, url } = await listening({
      authentication: authenticationOf({ resource, jwt: jwtConfig(from.url), requiredScopes: ["mcp"] }),
    });
    const document = {
      resource,
      authorization_servers: [from.url],
      scopes_supported: ["mcp"],
      bearer_methods_supported: ["header"],
      resource_name: "Cardea",
    };
    for (const path of ["", "/", "/mcp", "/tools/mcp", "/mcp?x=1"]) {
      const answer = await send(`${origin}${METADATA}${path}`, { method: "GET" });
      expect([path, answer.status, answer.json()]).toEqual([path, 200, document]);
    }
    for (const path of ["/other", "/mcp/files/x", "/tools", "x"]) {
      const status = path === "x" ? 401 : 404;
      expect((await send(`${origin}${METADATA}${path}`, { method: "GET" })).status).toBe(status);
    }
    const asked = await send(url, ping);
    expect(asked.headers["www-authenticate"]).toBe(
      `Bearer resource_metadata="https://example.com${METADATA}/tools/mcp", scope="mcp"`,
    );
  });

  test.each([
    ["only keys are taken", authenticationOf({ keys })],
    ["nobody has to say who they are", NO_AUTHENTICATION],
  ])("is not there where %s", async (_what, authentication) => {
    const { origin } = await listening({ authentication });
    expect((await send(`${origin}${METADATA}`, { method: "GET" })).status).toBe(404);
    expect((await send(`${origin}${METADATA}/mcp`, { method: "GET" })).status).toBe(404);
  });

  test("is kept from pages of other origins and from names that DNS was rebound to", async () => {
    const from = await issuer();
    const { origin } = await listening({ authentication: authenticationOf({ jwt: jwtConfig(from.url) }) });
    const get = (headers: Record<string, string>) => send(`${origin}${METADATA}`, { method: "GET", headers });
    expect((await get({ origin: "https://evil.example.com" })).status).toBe(403);
    expect((await get({ host: "evil.example.com" })).status).toBe(403);
    expect((await get({ origin: "http://localhost:6274" })).headers["access-control-allow-origin"]).toBe(
      "http://localhost:6274",
    );
  });
});

describe("a call that needs more than its token grants", () => {
  const reply = {
    kind: "error",
    refusal: "forbidden",
    scopes: ["db:read", "db:write"],
    error: { code: -31403, message: "no", data: { cardea: { code: "forbidden", retryable: false } } },
  } as const;

  async function gateway(handler = () => reply as ReturnType<typeof textReply>) {
    const from = await issuer();
    const port = fakePort({ handlers: { "tools/call": handler } });
    const legacy = createLegacyEdge({
      gateway: port,
      sessions: { max: 9, idleMs: 60_000 },
      keepAliveMs: 15_000,
    });
    const authentication = authenticationOf({ jwt: jwtConfig(from.url), requiredScopes: ["mcp"] });
    const { url } = await listening({ gateway: port, legacy, authentication });
    const token = (scope: string) => from.token({ scope });
    return { url, token };
  }
  const challenge = `Bearer error="insufficient_scope", resource_metadata="https://mcp.example.com${METADATA}/mcp", scope="mcp db:read db:write"`;
  const body = { jsonrpc: "2.0", id: 5, error: reply.error };

  test("is answered 403 with all of its scopes at once, in the modern era", async () => {
    const { url, token } = await gateway();
    const headers = { authorization: `Bearer ${await token("mcp")}` };
    const answer = await send(url, modernRequest("tools/call", { name: "t" }, { id: 5, headers }));
    expect([answer.status, answer.headers["www-authenticate"], answer.json()]).toEqual([
      403,
      challenge,
      body,
    ]);
  });

  test("and in the legacy one; but not in a stream that has begun, nor in a batch", async () => {
    const { url, token } = await gateway();
    const headers = { ...JSON_TYPE, authorization: `Bearer ${await token("mcp")}` };
    const initialize = (protocolVersion: string) => ({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } },
    });
    const call = { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "t" } };
    const post = (message: unknown, more: Record<string, string> = {}) =>
      send(url, { headers: { ...headers, ...more }, body: JSON.stringify(message) });
    const opened = await post(initialize("2025-03-26"));
    const session = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
    const refused = await post(call, session);
    expect([refused.status, refused.headers["www-authenticate"], refused.json()]).toEqual([
      403,
      challenge,
      body,
    ]);
    const batch = await post([call], session);
    expect([batch.status, batch.json()]).toEqual([200, [body]]);
    const streamed = await post(call, { ...session, accept: "text/event-stream" });
    expect([streamed.status, streamed.events()]).toEqual([200, expect.arrayContaining([body])]);
  });

  test("a token with fewer scopes than every call needs is rejected earlier", async () => {
    const { url, token } = await gateway();
    const headers = { authorization: `Bearer ${await token("other")}` };
    const answer = await send(url, modernRequest("tools/call", { name: "t" }, { headers }));
    expect([answer.status, answer.json().error]).toMatchObject([
      403,
      { code: -31403, message: "the token needs the scopes mcp" },
    ]);
    expect(answer.headers["www-authenticate"]).toContain('error="insufficient_scope"');
  });
});

test("an unreachable issuer is 503 with Retry-After, and the gateway keeps serving", async () => {
  const from = await issuer();
  from.failing = (response) => response.writeHead(503).end();
  const { url } = await listening({ authentication: authenticationOf({ keys, jwt: jwtConfig(from.url) }) });
  const answer = await send(url, {
    ...ping,
    headers: { ...JSON_TYPE, authorization: `Bearer ${await from.token()}` },
  });
  expect([answer.status, answer.headers["retry-after"], answer.json().error]).toEqual([
    503,
    "5",
    {
      code: -31401,
      message: "tokens cannot be checked now: the keys of the issuer cannot be fetched",
      data: { cardea: { code: "unauthenticated", retryable: true } },
    },
  ]);
  const withKey = await send(url, { ...ping, headers: { ...JSON_TYPE, "x-api-key": KEY } });
  expect(withKey.status).toBe(200);
});
