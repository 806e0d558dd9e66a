/** A gateway whose way out leads through a proxy, and servers with certificates of a private authority. */
import "../features/admin/needed.js";
import { createServer as createSecureServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { fetchJson } from "../../src/downstream/authenticate/issuer-keys.js";
import { guardedFetch } from "../../src/outgoing/guarded-fetch.js";
import { documentOf, startApi } from "../support/api.js";
import { CERTIFICATE, EXPIRED, KEY } from "../support/certificates.js";
import { startCollector } from "../support/collector.js";
import { connectProxy, proxyEnvironment, type Route } from "../support/connect-proxy.js";
import { testOf } from "../support/features.js";
import { gatewayOf, listening } from "../support/gateway.js";
import { openModern } from "../support/peers/raw.js";
import { serveHttp, serveSse } from "../support/server/http.mjs";

interface Message {
  readonly id?: unknown;
  readonly method: string;
}

const TOOL = { name: "where", inputSchema: { type: "object" } };

/** A server of one era with one tool. */
const answerOf =
  (era: "legacy" | "modern") =>
  ({ id, method }: Message): object | undefined => {
    if (id === undefined) return undefined;
    const complete = era === "modern" ? { resultType: "complete" } : {};
    const result = (content: object): object => ({ jsonrpc: "2.0", id, result: { ...complete, ...content } });
    const info = { serverInfo: { name: "far", version: "1" }, capabilities: { tools: {} } };
    if (era === "modern" && method === "server/discover")
      return result({ supportedVersions: ["2026-07-28"], ...info });
    if (era === "legacy" && method === "initialize")
      return result({ protocolVersion: "2025-11-25", ...info });
    if (method === "tools/list") return result({ tools: [TOOL] });
    if (method === "tools/call") return result({ content: [{ type: "text", text: "far away" }] });
    return { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown method" } };
  };

async function farServer(era: "legacy" | "modern", transport: "http" | "sse" = "http"): Promise<number> {
  const server = await (transport === "sse" ? serveSse : serveHttp)(answerOf(era));
  onTestFinished(() => server.stop());
  return server.port;
}

/** The same over TLS. */
async function secureServer(options: ServerOptions): Promise<number> {
  const answer = answerOf("modern");
  const server = createSecureServer({ key: KEY, cert: CERTIFICATE, ...options }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const reply =
        request.method === "POST" ? answer(JSON.parse(Buffer.concat(chunks).toString())) : undefined;
      if (reply === undefined) response.writeHead(request.method === "POST" ? 202 : 405).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((closed) => server.close(() => closed()));
  });
  return (server.address() as AddressInfo).port;
}

/** A gateway in front of the server `far`, and what a call of it says: its text, or why there is none. */
async function callFar(far: object, config: object = {}): Promise<string> {
  const gateway = await gatewayOf({ mcpServers: { far }, startupWait: "10m", ...config });
  onTestFinished(() => gateway.stop({ immediate: true }));
  const { url, adminUrl } = await listening(gateway);
  const host = await openModern({ url });
  onTestFinished(() => host.close());
  const listed = await host.list("tools");
  if (listed.length === 0) {
    const rows: unknown = await (await fetch(`${adminUrl}/api/v1/servers`)).json();
    const [row] = rows as readonly { readonly lastError?: string }[];
    return String(row?.lastError);
  }
  const { result, error } = await host.request("tools/call", { name: listed[0]?.name, arguments: {} });
  const [content] = (result?.content ?? []) as { readonly text?: string }[];
  return content?.text ?? String(error?.message);
}

/** Without a resolver at hand the lookup fails in another way. */
const NO_HOST = /^far cannot be reached: (?:host not found|the host name could not be looked up just now)/;

const leadsTo =
  (port: number): Route =>
  () =>
    port;

describe("HTTP_PROXY and HTTPS_PROXY", () => {
  test.each([
    ["a modern server", "modern", "http"],
    ["a legacy server", "legacy", "http"],
    ["a server over HTTP+SSE", "legacy", "sse"],
  ] as const)("lead to %s, whose name only the proxy knows", async (_, era, transport) => {
    const proxy = await connectProxy(leadsTo(await farServer(era, transport)));
    proxyEnvironment({ HTTP_PROXY: proxy.url });
    const path = transport === "sse" ? "sse" : "mcp";
    expect(await callFar({ type: transport, url: `http://mcp.corp.test/${path}` })).toBe("far away");
    expect(new Set(proxy.asked)).toEqual(new Set(["mcp.corp.test:80"]));
  });

  testOf("openapi")("lead to an API and to its OpenAPI document", async () => {
    const paths = { "/here": { get: { operationId: "where", responses: { 200: { description: "ok" } } } } };
    const document = documentOf(paths, { servers: [{ url: "http://api.corp.test:8080/" }] });
    const text = { headers: { "content-type": "text/plain" }, body: "far away" };
    const api = await startApi(({ url }) =>
      url === "/api.json" ? { body: JSON.stringify(document) } : text,
    );
    const proxy = await connectProxy(leadsTo(Number(new URL(api.url).port)));
    proxyEnvironment({ http_proxy: proxy.url });
    const far = {
      type: "openapi",
      url: "http://docs.corp.test/api.json",
      baseUrl: "http://api.corp.test:8080/",
    };
    expect(await callFar(far)).toBe("far away");
    expect(proxy.asked).toEqual(["docs.corp.test:80", "api.corp.test:8080"]);
  });

  testOf("tracing")("lead to the collector of traces", async () => {
    const collector = await startCollector();
    onTestFinished(() => collector.stop());
    const server = await farServer("modern");
    const proxy = await connectProxy(() => Number(new URL(collector.endpoint).port));
    proxyEnvironment({ HTTP_PROXY: proxy.url });
    const telemetry = { otlp: { endpoint: "http://collector.corp.test:4318" } };
    expect(await callFar({ url: `http://127.0.0.1:${server}/mcp` }, { telemetry })).toBe("far away");
    await collector.received(1);
    expect(proxy.asked[0]).toBe("collector.corp.test:4318");
  });

  test("lead to authorization servers and to the keys of an issuer", async () => {
    const api = await startApi(() => ({ headers: { "content-type": "application/json" }, body: '{"a":1}' }));
    const proxy = await connectProxy(leadsTo(Number(new URL(api.url).port)));
    proxyEnvironment({ HTTP_PROXY: proxy.url });
    const metadata = await guardedFetch({ serverUrl: "http://mcp.corp.test/mcp" })("http://mcp.corp.test/as");
    expect(await metadata.json()).toEqual({ a: 1 });
    const keys = fetchJson("http://login.corp.test/keys", new AbortController().signal, "anywhere");
    expect(await keys).toEqual({ a: 1 });
    expect(proxy.asked).toEqual(["mcp.corp.test:80", "login.corp.test:80"]);
  });

  test("are not used for loopback, for hosts of NO_PROXY, and where the server says none", async () => {
    const port = await farServer("modern");
    const proxy = await connectProxy(() => ({ status: 403 }));
    proxyEnvironment({ HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });
    expect(await callFar({ url: `http://127.0.0.1:${port}/mcp` })).toBe("far away");
    expect(await callFar({ url: `http://localhost:${port}/mcp` })).toBe("far away");
    const far = { url: "http://mcp.corp.test/mcp" };
    expect(await callFar({ ...far, proxy: "none" })).toMatch(NO_HOST);
    proxyEnvironment({ HTTP_PROXY: proxy.url, NO_PROXY: ".corp.test" });
    expect(await callFar(far)).toMatch(NO_HOST);
    expect(proxy.asked).toEqual([]);
  });
});

test("the proxy of a server has precedence, gets its credentials, and may itself speak TLS", async () => {
  const port = await farServer("legacy");
  const other = await connectProxy(() => ({ status: 403 }));
  const proxy = await connectProxy(leadsTo(port));
  proxyEnvironment({ HTTP_PROXY: other.url });
  const url = "http://mcp.corp.test:81/mcp";
  const given = proxy.url.replace("//", "//me:pass%40word@");
  expect(await callFar({ url, proxy: given })).toBe("far away");
  expect(new Set(proxy.asked)).toEqual(new Set(["mcp.corp.test:81"]));
  expect(proxy.authorizations[0]).toBe(`Basic ${Buffer.from("me:pass@word").toString("base64")}`);
  expect(other.asked).toEqual([]);
  // The certificate of that proxy is not trusted here.
  const secure = await connectProxy(leadsTo(port), true);
  const shown = `${secure.url.replace("127.0.0.1", "localhost")} (proxy of the config)`;
  expect(await callFar({ url, proxy: secure.url.replace("127.0.0.1", "localhost") })).toBe(
    `far cannot be reached: the proxy ${shown} cannot be reached: its certificate is self-signed (mcp.corp.test:81)`,
  );
});

describe("a proxy that does not open the tunnel is named, without its password, as another cause than the server", () => {
  const refusals: readonly (readonly [
    status: number,
    headers: Readonly<Record<string, string>>,
    why: string,
  ])[] = [
    [
      407,
      { "proxy-authenticate": "Basic realm=x" },
      "PROXY refused the credentials in its URL: it answered 407 Proxy Authentication Required",
    ],
    [
      407,
      { "proxy-authenticate": "Negotiate, NTLM" },
      "PROXY refused the credentials in its URL: it answered 407 Proxy Authentication Required; it takes Negotiate, NTLM, and the gateway has Basic only",
    ],
    [403, {}, "PROXY does not allow connections to mcp.corp.test:443: it answered 403 Forbidden"],
    [502, {}, "PROXY cannot reach mcp.corp.test:443: it answered 502 Bad Gateway"],
    [504, {}, "PROXY cannot reach mcp.corp.test:443: it answered 504 Gateway Timeout"],
    [405, {}, "PROXY opens no tunnel to mcp.corp.test:443: it answered 405 Method Not Allowed"],
    [418, {}, "PROXY refused the connection to mcp.corp.test:443: it answered 418 I'm a Teapot"],
  ];
  test.each(refusals)("with %i and %j", async (status, headers, why) => {
    const proxy = await connectProxy(() => ({ status, headers }));
    proxyEnvironment({ HTTPS_PROXY: proxy.url.replace("//", "//me:hunter22@") });
    const named = why.replace("PROXY", `the proxy ${proxy.url} (HTTPS_PROXY)`);
    expect(await callFar({ url: "https://mcp.corp.test/mcp" })).toBe(
      `far cannot be reached: ${named} (mcp.corp.test)`,
    );
  });

  test("where it cannot be reached, and where its variable is none", async () => {
    proxyEnvironment({ HTTPS_PROXY: "http://me:hunter22@127.0.0.1:1" });
    const far = { url: "https://mcp.corp.test/mcp" };
    expect(await callFar(far)).toBe(
      "far cannot be reached: the proxy http://127.0.0.1:1 (HTTPS_PROXY) cannot be reached: connection refused (mcp.corp.test)",
    );
    proxyEnvironment({ https_proxy: "socks5://me:hunter22@127.0.0.1:1" });
    expect(await callFar(far)).toBe(
      "far cannot be reached: the variable https_proxy is not the http: or https: URL of a proxy (mcp.corp.test)",
    );
  });
});

describe("tls of a server", () => {
  const tls = { ca: CERTIFICATE };

  test("makes its private authority trusted, directly and through a proxy that leads to its name", async () => {
    proxyEnvironment({});
    const port = await secureServer({});
    expect(await callFar({ url: `https://localhost:${port}/mcp`, tls })).toBe("far away");
    const proxy = await connectProxy(leadsTo(port));
    proxyEnvironment({ HTTPS_PROXY: proxy.url });
    const far = { url: "https://mcp.corp.test/mcp", tls };
    expect(await callFar(far)).toBe(
      "far cannot be reached: its certificate is for another host (mcp.corp.test)",
    );
    expect(await callFar({ ...far, tls: { ...tls, serverName: "localhost" } })).toBe("far away");
  });

  test("gives the client certificate that the server requires", async () => {
    proxyEnvironment({});
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      const required = { requestCert: true, rejectUnauthorized: true, ca: CERTIFICATE, maxVersion };
      const far = { url: `https://localhost:${await secureServer(required)}/mcp`, tls };
      expect(await callFar({ ...far, tls: { ...tls, cert: CERTIFICATE, key: KEY } })).toBe("far away");
      expect(await callFar(far)).toMatch(/requires? a client certificate \(tls\.cert and tls\.key\)/);
    }
  });

  test("says what is wrong with the certificate of the server", async () => {
    proxyEnvironment({});
    const port = await secureServer({});
    expect(await callFar({ url: `https://localhost:${port}/mcp` })).toContain(
      "its certificate is self-signed",
    );
    expect(await callFar({ url: `https://127.0.0.1:${port}/mcp`, tls })).toContain(
      "its certificate is for another host",
    );
    const old = await secureServer({ cert: EXPIRED });
    expect(await callFar({ url: `https://localhost:${old}/mcp`, tls: { ca: EXPIRED } })).toContain(
      "its certificate has expired",
    );
  });

  test("is for its own origin: another one gets neither the client certificate nor its trust", async () => {
    proxyEnvironment({});
    const own = await secureServer({ requestCert: true, rejectUnauthorized: true, ca: CERTIFICATE });
    const other = await secureServer({});
    const serverUrl = `https://localhost:${own}/mcp`;
    const network = { tls: { ca: CERTIFICATE, cert: CERTIFICATE, key: KEY } };
    const get = guardedFetch({ serverUrl, network });
    expect((await get(`https://localhost:${own}/.well-known/oauth-protected-resource`)).status).toBe(405);
    await expect(get(`https://localhost:${other}/token`)).rejects.toThrow("self-signed certificate");
  });
});
