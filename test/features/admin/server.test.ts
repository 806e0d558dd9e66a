import { connect, Server } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { PageHandler } from "../../../src/core/admin-page.js";
import { BadQuery } from "../../../src/core/admin-page.js";
import { GatewayError } from "../../../src/core/errors.js";
import { type LogFields, SILENT } from "../../../src/core/logger.js";
import type { StopSignal } from "../../../src/core/stop.js";
import {
  type AdminListener,
  type AdminListenerOptions,
  createAdminListener,
} from "../../../src/features/admin/server.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import { pagesOf } from "../../support/admin-pages.js";

const pages = {
  status: () => ({
    version: "1.2.3",
    node: "v20",
    pid: 1,
    uptimeSeconds: 5,
    ready: true,
    reasons: [],
  }),
  servers: async () => [{ name: "files", transport: "stdio", state: "ready", required: false }],
  catalog: () => ({
    tools: [{ name: "files__read", server: "files" }],
    prompts: [],
    resources: [],
    resourceTemplates: [],
  }),
  sessions: () => [],
  questions: () => [],
  decisions: (query) => ({ limit: query.get("limit") }),
} satisfies Readonly<Record<string, PageHandler>>;

let admin: AdminListener | undefined;
afterEach(async () => {
  await admin?.stop();
  admin = undefined;
});

async function started(changes: Partial<AdminListenerOptions> = {}) {
  admin = createAdminListener({
    host: "127.0.0.1",
    port: 0,
    logger: SILENT,
    metrics: new Metrics({ version: "1.2.3", process: false }),
    readiness: () => ({ ready: true, reasons: [] }),
    pages: pagesOf(pages),
    ...changes,
  });
  return admin.start();
}

/** The answer to exactly these bytes; `fetch` would not send them. */
function raw(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // The server ends the connection. A client that ended its half first could lose the response.
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
  });
}

describe("health", () => {
  test("/healthz is 200 even if everything else fails", async () => {
    const { url } = await started({ readiness: () => ({ ready: false, reasons: ["files is down"] }) });
    const response = await fetch(`${url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
  });

  test("/readyz is 200 and names what is degraded", async () => {
    const { url } = await started({ readiness: () => ({ ready: true, reasons: ["git is restarting"] }) });
    const response = await fetch(`${url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { ready: true, reasons: ["git is restarting"] },
    ]);
  });

  test("/readyz is 503 with the reasons when the gateway is not ready", async () => {
    const { url } = await started({ readiness: () => ({ ready: false, reasons: ["files is down"] }) });
    const response = await fetch(`${url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      503,
      { ready: false, reasons: ["files is down"] },
    ]);
  });
});

test("/metrics is Prometheus text", async () => {
  const { url } = await started();
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await response.text()).toContain('cardea_build_info{version="1.2.3"');
});

describe("the API", () => {
  test.each(["status", "servers", "catalog", "sessions"] as const)(
    "/api/v1/%s is the page as JSON",
    async (name) => {
      const { url } = await started();
      const response = await fetch(`${url}/api/v1/${name}`);
      expect(response.headers.get("content-type")).toContain("application/json");
      expect(await response.json()).toEqual(await pages[name]());
    },
  );

  test("a page gets the query", async () => {
    const { url } = await started();
    expect(await (await fetch(`${url}/api/v1/decisions?limit=7`)).json()).toEqual({ limit: "7" });
  });

  test.each(["nothing", "__proto__", "constructor", "toString"])(
    "an unknown page %s is 404",
    async (name) => {
      const { url } = await started();
      expect((await fetch(`${url}/api/v1/${name}`)).status).toBe(404);
    },
  );

  test("an invalid query is 400 with the reason", async () => {
    const refused = () => {
      throw new BadQuery("name=… says which tool");
    };
    const { url } = await started({ pages: pagesOf({ ...pages, explain: refused }) });
    const response = await fetch(`${url}/api/v1/explain`);
    expect([response.status, await response.json()]).toEqual([400, { error: "name=… says which tool" }]);
  });

  test.each([
    [
      "a page that misses a server",
      new GatewayError("upstream_unavailable", "upstream", "at /mcp/s3cr3t: 404"),
    ],
    ["a query that it cannot read", new BadQuery("as=s3cr3t is nobody")],
  ])("redacts secrets in the error of %s", async (_what, error) => {
    const status = (): never => {
      throw error;
    };
    const redact = (text: string): string => text.replaceAll("s3cr3t", "[redacted]");
    const { url } = await started({ redact, pages: pagesOf({ ...pages, status }) });
    const text = await (await fetch(`${url}/api/v1/status`)).text();
    expect([text.includes("[redacted]"), text.includes("s3cr3t")]).toEqual([true, false]);
  });

  test("a page that misses a server is 503, and names it", async () => {
    const lists = () => {
      throw new GatewayError("upstream_unavailable", "upstream", "required server a is not connected");
    };
    const { url } = await started({ pages: pagesOf({ ...pages, lists }) });
    const response = await fetch(`${url}/api/v1/lists`);
    expect([response.status, await response.json()]).toEqual([
      503,
      { error: "required server a is not connected" },
    ]);
  });

  test("a page that waits is cancelled when its client disconnects", async () => {
    let ended: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => {
      ended = resolve;
    });
    let asked: (() => void) | undefined;
    const waits = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const lists = (_: URLSearchParams, signal: StopSignal) => {
      signal.addEventListener("abort", () => ended?.());
      asked?.();
      return gone;
    };
    const { url } = await started({ pages: pagesOf({ ...pages, lists }) });
    const client = new AbortController();
    const response = fetch(`${url}/api/v1/lists`, { signal: client.signal });
    await waits;
    client.abort();
    await expect(response).rejects.toThrow("aborted");
    await gone;
  });

  test("a page that fails is 500; the error is in the log, not in the response", async () => {
    const errors: LogFields[] = [];
    const logger = { ...SILENT, error: (fields: LogFields) => void errors.push(fields) };
    const failure = new Error("with a secret in it");
    const { url } = await started({
      logger,
      pages: pagesOf({
        ...pages,
        status: () => {
          throw failure;
        },
      }),
    });
    const response = await fetch(`${url}/api/v1/status`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect(errors).toMatchObject([{ path: "/api/v1/status", error: failure }]);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });
});

describe("access", () => {
  const PATHS = ["/", "/healthz", "/readyz", "/metrics", "/api/v1/status", "/console.js", "/nothing"];

  test.each(PATHS)("%s is refused for a foreign Host header (DNS rebinding)", async (path) => {
    const { port } = await started();
    const answer = await raw(port, `GET ${path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  });

  test.each(PATHS)("%s is refused for another origin, without CORS headers", async (path) => {
    const { url } = await started();
    const response = await fetch(url + path, { headers: { origin: "https://evil.example" } });
    expect(response.status).toBe(403);
    expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("beyond loopback the listener accepts any IP address and the configured host names as Host, and no other name", async () => {
    const { port } = await started({
      host: "0.0.0.0",
      token: "a-token-of-some-length",
      allowedHosts: ["gateway.example"],
    });
    const status = async (host: string, origin?: string) => {
      const from = origin === undefined ? "" : `Origin: ${origin}\r\n`;
      const answer = await raw(
        port,
        `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n${from}Connection: close\r\n\r\n`,
      );
      return Number(answer.slice(9, 12));
    };
    for (const host of ["10.0.0.7:8081", "[fd00::1]:8081", "localhost:9000", "gateway.example:8081"]) {
      expect([host, await status(host), await status(host, `http://${host}`)]).toEqual([host, 200, 200]);
      expect([host, await status(host, "http://localhost:3000"), await status(host, "null")]).toEqual([
        host,
        403,
        403,
      ]);
    }
    expect(await status("rebound.evil.example")).toBe(403);
  });

  test("two Host headers are refused", async () => {
    const { port } = await started();
    const answer = await raw(
      port,
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  test.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("the method %s is refused", async (method) => {
    const { url } = await started();
    const response = await fetch(`${url}/api/v1/servers`, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("POST /api/v1/calls", () => {
  const calls: string[] = [];
  const call = async (body: string): Promise<string> => {
    calls.push(body);
    return '{"kind":"result"}';
  };
  const post = (url: string, headers: Record<string, string>) =>
    fetch(`${url}/api/v1/calls`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json", ...headers },
    });
  const authorization = "Bearer secret-of-the-owner";

  test.each([
    ["the token of the owner", {}, { authorization }, 200],
    ["the configured token", { token: "t" }, { authorization: "Bearer t" }, 200],
    ["no token, also where the pages need none", {}, {}, 401],
    ["a wrong token", { token: "t" }, { authorization: "Bearer u" }, 401],
    ["the origin of another page of this machine", {}, { authorization, origin: "http://localhost:1" }, 403],
    ["a request of another site", {}, { authorization, "sec-fetch-site": "cross-site" }, 403],
    ["a content type that forms can send", {}, { authorization, "content-type": "text/plain" }, 415],
  ] as [string, object, Record<string, string>, number][])("with %s", async (_, changes, headers, status) => {
    calls.length = 0;
    const { url } = await started({ call, ownerToken: "secret-of-the-owner", ...changes });
    expect((await post(url, headers)).status).toBe(status);
    expect(calls).toHaveLength(status === 200 ? 1 : 0);
  });

  test("is 404 where no calls are served", async () => {
    const { url } = await started({ ownerToken: "secret-of-the-owner" });
    expect((await post(url, { authorization })).status).toBe(405);
  });
});

describe("the console", () => {
  test("is a page without inline scripts that loads only from its own origin", async () => {
    const { url } = await started();
    const response = await fetch(`${url}/`);
    const html = await response.text();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'self'");
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|\son\w+=|style=|https?:\/\//);
    const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? "");
    for (const link of new Set(links)) {
      const loaded = await fetch(url + link);
      expect([link, loaded.status]).toEqual([link, 200]);
      expect(loaded.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("inserts text of servers as text, not markup", async () => {
    const { url } = await started();
    const script = await (await fetch(`${url}/console.js`)).text();
    expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function/);
  });

  test.each(["/../package.json", "/console.js/../../server.ts", "/%2e%2e/package.json", "//etc/passwd"])(
    "serves no file outside its folder: %s",
    async (path) => {
      const { port } = await started();
      const answer = await raw(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    },
  );
});

describe("start and stop", () => {
  test("a port in use is an error (EADDRINUSE)", async () => {
    const { port } = await started();
    const second = createAdminListener({
      host: "127.0.0.1",
      port,
      logger: SILENT,
      metrics: new Metrics({ version: "1", process: false }),
      readiness: () => ({ ready: true, reasons: [] }),
      pages: pagesOf(pages),
    });
    await expect(second.start()).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("stopping closes keep-alive connections", async () => {
    const { url } = await started();
    await (await fetch(`${url}/healthz`)).text();
    await admin?.stop();
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    admin = undefined;
  });
});

test("a failed accept of a connection does not affect the others", async () => {
  const listen = vi.spyOn(Server.prototype, "listen");
  const said: string[] = [];
  const logger = { ...SILENT, error: (_: LogFields, sentence: string) => void said.push(sentence) };
  const { url } = await started({ logger });
  const [server] = listen.mock.contexts as Server[];
  listen.mockRestore();
  server?.emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }));
  expect(said).toEqual(["an admin connection could not be accepted"]);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});
