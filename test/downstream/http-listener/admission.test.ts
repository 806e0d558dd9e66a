/** Which requests reach an edge, and how the others are refused. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { ANONYMOUS, type Principal } from "../../../src/core/client.js";
import { GatewayError } from "../../../src/core/errors.js";
import {
  type Authentication,
  NO_AUTHENTICATION,
} from "../../../src/downstream/authenticate/authentication.js";
import { fakePort } from "../../support/fake-port.js";
import { modernRequest, raw, type Sent, send } from "../../support/http-host.js";
import { listening, recordingEdge } from "../../support/listening.js";

const JSON_TYPE = { "content-type": "application/json" };
const ping: Sent = { headers: JSON_TYPE, body: '{"jsonrpc":"2.0","id":7,"method":"ping"}' };
const withHeaders = (headers: Record<string, string>): Sent => ({
  ...ping,
  headers: { ...JSON_TYPE, ...headers },
});

describe("Host x Origin x method x content type", () => {
  const hosts = [
    ["localhost:1", true],
    ["127.0.0.1", true],
    ["evil.example.com", false],
  ] as const;
  const origins = [
    [undefined, true],
    ["http://localhost:3000", true],
    ["https://app.example.com", true],
    ["http://evil.example.com", false],
    ["null", false],
  ] as const;
  const bodies = [
    ["POST", "application/json", 200],
    ["POST", "Application/JSON; charset=utf-8", 200],
    ["POST", "text/plain", 415],
    ["POST", "application/x-www-form-urlencoded", 415],
    ["POST", "multipart/form-data; boundary=x", 415],
    ["POST", "application/json-seq", 415],
    ["POST", undefined, 415],
    ["GET", undefined, 200],
    ["DELETE", undefined, 204],
    ["PUT", "application/json", 405],
    ["PATCH", "application/json", 405],
    ["HEAD", undefined, 405],
    ["TRACE", undefined, 405],
    ["OPTIONS", undefined, 204],
  ] as const;

  test("only what is allowed in every respect reaches an edge", async () => {
    const { url, legacy } = await listening({ listen: { allowedOrigins: ["https://app.example.com"] } });
    let reached = 0;
    for (const [host, hostOk] of hosts) {
      for (const [origin, originOk] of origins) {
        for (const [method, type, status] of bodies) {
          const headers = { host, ...(origin && { origin }), ...(type && { "content-type": type }) };
          const answer = await send(url, {
            method,
            headers,
            ...(method === "POST" && { body: ping.body as string }),
          });
          const expected = hostOk && originOk ? status : 403;
          expect([host, origin, method, type, answer.status]).toEqual([host, origin, method, type, expected]);
          if (expected === 200 || (method === "DELETE" && expected === 204)) reached += 1;
          expect(legacy.seen).toHaveLength(reached);
        }
      }
    }
    expect(reached).toBe(2 * 3 * 4);
  });

  test("a refusal has its code and whether a retry can help", async () => {
    const { url } = await listening();
    const answer = await send(url, withHeaders({ origin: "http://evil.example.com" }));
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.json()).toEqual({
      jsonrpc: "2.0",
      error: {
        code: -31403,
        message: "this Origin is not allowed here; listen.http.allowedOrigins names those that are",
        data: { cardea: { code: "forbidden", retryable: false } },
      },
    });
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });
});

describe("repeated headers", () => {
  const head = (lines: string[]) =>
    [
      "POST /mcp HTTP/1.1",
      "Content-Type: application/json",
      `Content-Length: ${ping.body?.length}`,
      "Connection: close",
      ...lines,
      "",
      ping.body,
    ].join("\r\n");

  test.each([
    ["two Host headers", ["Host: localhost", "Host: evil.example.com"], "exactly one Host"],
    ["the same Host twice", ["Host: localhost", "host: localhost"], "exactly one Host"],
    [
      "two versions",
      ["Host: localhost", "MCP-Protocol-Version: 2025-06-18", "mcp-protocol-version: x"],
      "-32020",
    ],
    ["two sessions", ["Host: localhost", "Mcp-Session-Id: a", "Mcp-Session-Id: b"], "-32020"],
  ])("%s", async (_what, lines, told) => {
    const { port, legacy } = await listening();
    const heard = await raw(port, head(lines));
    expect(heard).toMatch(/^HTTP\/1\.1 400 /);
    expect(heard).toContain(told);
    expect(legacy.seen).toEqual([]);
  });

  test("no Host at all", async () => {
    const { port, legacy } = await listening();
    expect(await raw(port, head([]).replace("HTTP/1.1", "HTTP/1.0"))).toMatch(/^HTTP\/1\.[01] 400 /);
    expect(legacy.seen).toEqual([]);
  });

  test.each(["/healthz", "/readyz"])(
    "no Host at all is no fault of a probe of %s over HTTP/1.0",
    async (path) => {
      const { port } = await listening();
      expect(await raw(port, `GET ${path} HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1\.[01] 200 /);
      const withOrigin = `GET ${path} HTTP/1.0\r\nOrigin: http://evil.example.com\r\n\r\n`;
      expect(await raw(port, withOrigin)).toMatch(/^HTTP\/1\.[01] 403 /);
    },
  );

  test("a target that names another authority", async () => {
    const { port, legacy } = await listening();
    const heard = await raw(port, head(["Host: localhost"]).replace("/mcp", "http://evil.example.com/mcp"));
    expect(heard).toMatch(/^HTTP\/1\.1 400 /);
    expect(legacy.seen).toEqual([]);
  });
});

describe("credentials", () => {
  test("become the principal of the exchange, and the body of unauthenticated requests is never read", async () => {
    const authentication: Authentication = {
      ...NO_AUTHENTICATION,
      authenticate({ headers }) {
        if (headers.authorization === "Bearer alice") return { ...ANONYMOUS, id: "alice" };
        throw new GatewayError("unauthenticated", "downstream", "who are you?");
      },
    };
    const gateway = fakePort();
    const { url } = await listening({ gateway, authentication });
    const stranger = await send(url, { ...ping, body: "x".repeat(100_000) });
    expect([stranger.status, stranger.json().error]).toMatchObject([401, { code: -31401 }]);
    await send(url, modernRequest("tools/list", {}, { headers: { authorization: "Bearer alice" } }));
    expect(gateway.calls.map((call) => call.client.principal.id)).toEqual(["alice"]);
  });

  test.each(["GET", "POST"])(
    "of a %s whose host disconnects in the meantime reach no edge",
    async (method) => {
      let looked: Promise<Principal> | undefined;
      const hangUp = async (request: IncomingMessage): Promise<Principal> => {
        const closed = new Promise((resolve) => request.once("close", resolve));
        host.destroy();
        await closed;
        return ANONYMOUS;
      };
      const authentication: Authentication = {
        ...NO_AUTHENTICATION,
        authenticate(request) {
          looked = hangUp(request as IncomingMessage);
          return looked;
        },
      };
      const { url, origin, legacy } = await listening({ authentication });
      const host = httpRequest(url, { method, agent: false, headers: JSON_TYPE });
      host.on("error", () => {}).end(method === "POST" ? ping.body : undefined);
      await new Promise((hungUp) => host.once("close", hungUp));
      expect(await looked).toBe(ANONYMOUS);
      await send(`${origin}/healthz`, { method: "GET" });
      expect(legacy.seen).toEqual([]);
    },
  );
});

describe("paths", () => {
  test("a name after the path is the scope", async () => {
    const { url, legacy } = await listening({ gateway: fakePort({ scopes: ["files", "a/b"] }) });
    expect((await send(`${url}/files`, { method: "GET" })).status).toBe(200);
    expect((await send(`${url}/a%2Fb?x=1`, { method: "GET" })).status).toBe(200);
    expect((await send(`${url}/`, { method: "GET" })).status).toBe(200);
    expect(legacy.seen).toEqual(["get files", "get a/b", "get "]);
  });

  test.each(["/mcp/nobody", "/mcp/__proto__", "/mcp/files/tools", "/other", "/", "/mcpx"])(
    "%s is 404",
    async (path) => {
      const { origin, legacy } = await listening({ gateway: fakePort({ scopes: ["files"] }) });
      const answer = await send(`${origin}${path}`, ping);
      expect(answer.status).toBe(404);
      expect(answer.json().error).toMatchObject({ data: { cardea: { code: "unknown_target" } } });
      expect(legacy.seen).toEqual([]);
    },
  );

  test("OPTIONS has an Allow header, without an Origin too", async () => {
    const { origin } = await listening({ gateway: fakePort({ scopes: ["files"] }), sse: recordingEdge() });
    for (const [path, allow] of [
      ["/mcp", "GET, POST, DELETE, OPTIONS"],
      ["/mcp/files", "GET, POST, DELETE, OPTIONS"],
      ["/sse", "GET, OPTIONS"],
      ["/messages", "POST, OPTIONS"],
    ]) {
      const answer = await send(`${origin}${path}`, { method: "OPTIONS" });
      expect([path, answer.status, answer.headers.allow, answer.text]).toEqual([path, 204, allow, ""]);
    }
  });

  test("GET and DELETE with a modern header are 405 with Allow", async () => {
    const { url, legacy } = await listening();
    for (const method of ["GET", "DELETE"]) {
      const answer = await send(url, { method, headers: { "mcp-protocol-version": "2026-07-28" } });
      expect([answer.status, answer.headers.allow]).toEqual([405, "POST, OPTIONS"]);
    }
    expect(legacy.seen).toEqual([]);
  });
});

describe("the paths of 2024-11-05", () => {
  test("are there when they are served, under the same checks", async () => {
    const sse = recordingEdge();
    const { origin, legacy } = await listening({ sse });
    expect((await send(`${origin}/sse`, { method: "GET" })).status).toBe(200);
    expect((await send(`${origin}/messages?sessionId=1`, ping)).status).toBe(200);
    expect(sse.seen).toEqual(["get ", `post ${String(ping.body)}`]);
    expect((await send(`${origin}/sse`, ping)).status).toBe(405);
    expect((await send(`${origin}/messages`, { method: "GET" })).status).toBe(405);
    const rebound = { headers: { ...JSON_TYPE, host: "evil.example.com" } };
    expect((await send(`${origin}/messages`, { ...ping, ...rebound })).status).toBe(403);
    expect(
      (await send(`${origin}/messages`, { ...ping, headers: { "content-type": "text/plain" } })).status,
    ).toBe(415);
    expect([sse.seen.length, legacy.seen]).toEqual([2, []]);
  });

  test.each([
    ["HEAD", "/sse", "GET, OPTIONS"],
    ["DELETE", "/sse", "GET, OPTIONS"],
    ["PUT", "/sse", "GET, OPTIONS"],
    ["DELETE", "/messages", "POST, OPTIONS"],
    ["PUT", "/messages", "POST, OPTIONS"],
  ])("list the allowed methods for %s %s", async (method, path, allow) => {
    const { delete: _, ...sse } = recordingEdge();
    const { origin } = await listening({ sse });
    const answer = await send(`${origin}${path}`, { method });
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
  });

  test("are 404 otherwise, with the setting that enables them", async () => {
    const { origin } = await listening();
    for (const request of [
      send(`${origin}/sse`, { method: "GET" }),
      send(`${origin}/messages?sessionId=1`, ping),
    ]) {
      const answer = await request;
      expect(answer.status).toBe(404);
      expect(answer.json().error).toMatchObject({
        message: "the HTTP+SSE transport of 2024-11-05 is disabled; set listen.http.legacySse",
      });
    }
  });
});
