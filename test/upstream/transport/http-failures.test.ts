/** Failures of an HTTP channel: statuses that are no response, connections that fail, redirects. */
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ErrorCode } from "../../../src/core/errors.js";
import { HttpStatusError } from "../../../src/upstream/transport/channel.js";
import { answer, json, type Respond } from "../../support/servers/scripted-http.js";
import { failure, open, request, serve } from "./http-support.js";

describe("a response that is not JSON-RPC tells whether the server is up, with the status as the cause:", () => {
  const html = "<html>no</html>";
  test.each([
    [
      "401",
      "upstream_unavailable",
      (_asked, response) => void response.writeHead(401, { "www-authenticate": "Bearer" }).end(html),
      "quiz answered 401 Unauthorized and asks for Bearer: the credentials in the config were refused",
    ],
    [
      "404",
      "upstream_rejected",
      (_asked, response) => void response.writeHead(404).end(html),
      /^quiz answered 404 Not Found: nothing is at 127\.0\.0\.1:\d+\/mcp, or its session has ended; it says: "no"$/,
    ],
    [
      "500",
      "upstream_unavailable",
      (_asked, response) => void response.writeHead(500).end(html),
      "quiz answered with HTTP status 500",
    ],
    [
      "an error for another id",
      "upstream_rejected",
      (_asked, response) =>
        json(response, { jsonrpc: "2.0", id: "server-error", error: { code: -32600, message: "x" } }, 400),
      "quiz answered with HTTP status 400",
    ],
    [
      "a result under an error status",
      "upstream_unavailable",
      (asked, response) => json(response, { jsonrpc: "2.0", id: asked.id, result: {} }, 500),
      "quiz answered with HTTP status 500",
    ],
    [
      "a page",
      "upstream_rejected",
      (_asked, response) => void response.writeHead(200, { "content-type": "text/html" }).end(html),
      "quiz answered with something that is no valid response: the message is not valid JSON",
    ],
    [
      "nothing",
      "upstream_rejected",
      (_asked, response) => void response.writeHead(202).end(),
      "quiz answered a request with an empty body (HTTP status 202)",
    ],
    [
      "another response",
      "upstream_rejected",
      (_asked, response) => json(response, { jsonrpc: "2.0", id: "8", result: {} }),
      "quiz answered with a message that is not the response to the request",
    ],
  ] satisfies [string, ErrorCode, Respond, string | RegExp][])(
    "%s: %s",
    async (_, code, respond, message) => {
      const server = await serve(respond);
      const error = await failure(open(server.url).exchange(request));
      expect(error).toMatchObject({ code, source: "upstream", retryable: false });
      expect(error.message).toMatch(message);
      expect(error.cause).toBeInstanceOf(HttpStatusError);
    },
  );

  test.each([
    [300, {}, "upstream_rejected"],
    [308, {}, "upstream_rejected"],
    [400, {}, "upstream_rejected"],
    [403, {}, "upstream_rejected"],
    [404, {}, "upstream_rejected"],
    [404, { "mcp-session-id": "s" }, "upstream_unavailable"],
    [408, {}, "upstream_unavailable"],
    [413, {}, "upstream_rejected"],
    [429, {}, "upstream_unavailable"],
    [431, { "mcp-session-id": "s" }, "upstream_rejected"],
    [499, {}, "upstream_rejected"],
    [500, {}, "upstream_unavailable"],
    [502, {}, "upstream_unavailable"],
    [599, {}, "upstream_unavailable"],
  ])("status %i, asked with %j: %s", async (status, headers, code) => {
    const server = await serve((_asked, response) => void response.writeHead(status).end());
    expect(await failure(open(server.url).exchange(request, { headers }))).toMatchObject({ code });
  });

  test("the status, the headers and the beginning of the body are available", async () => {
    const server = await serve(
      (_asked, response) => void response.writeHead(404, { "x-why": "gone" }).end("y".repeat(10_000)),
    );
    const { cause } = await failure(open(server.url).exchange(request));
    expect(cause).toMatchObject({ status: 404, body: "y".repeat(4096), headers: { "x-why": "gone" } });
  });

  test("a retry can help, after Retry-After where the server sends one", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) });
    onTestFinished(() => void vi.useRealTimers());
    const server = await serve((asked, response) => {
      const later = asked.path === "/mcp" ? "3" : "Thu, 01 Jan 2026 00:01:00 GMT";
      response.writeHead(503, { "retry-after": later }).end();
    });
    expect(await failure(open(server.url).exchange(request))).toMatchObject({
      retryable: true,
      options: { retryAfterMs: 3000 },
    });
    const { options } = await failure(open(`${server.origin}/other`).exchange(request));
    expect(options.retryAfterMs).toBe(60_000);
  });
});

describe("a connection that fails", () => {
  test("before the request was sent: unavailable, and a retry can help", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    expect(await failure(open(`http://127.0.0.1:${port}/mcp`).exchange(request))).toMatchObject({
      code: "upstream_unavailable",
      message: `quiz cannot be reached: connection refused (127.0.0.1:${port})`,
      retryable: true,
    });
  });

  test.each([
    ["ENOTFOUND", "host not found"],
    ["EAI_AGAIN", "the host name could not be looked up just now"],
  ])("because DNS does not resolve its name (%s) names the cause", async (code, words) => {
    const found = Object.assign(new Error(`getaddrinfo ${code}`), { code });
    const lookup = vi
      .spyOn(dns, "lookup")
      .mockImplementation(
        ((_name: string, _options: object, done: (error: Error) => void) =>
          void setImmediate(done, found)) as unknown as typeof dns.lookup,
      );
    syncBuiltinESMExports();
    onTestFinished(async () => {
      lookup.mockRestore();
      syncBuiltinESMExports();
    });
    expect((await failure(open("http://no-such-host.invalid/mcp").exchange(request))).message).toBe(
      `quiz cannot be reached: ${words} (no-such-host.invalid)`,
    );
  });

  test("after it was sent: closed", async () => {
    const server = await serve((_asked, response) => void response.destroy());
    const error = await failure(open(server.url).exchange(request));
    expect(error).toMatchObject({ code: "upstream_closed", retryable: true });
    expect(error.message).toMatch(/^quiz gave no answer: the connection was (closed|reset)/);
  });

  test("because the peer is not HTTP is reported so", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    expect((await failure(open(server.url.replace("http:", "https:")).exchange(request))).message).toContain(
      "it does not speak TLS on this port (is it http, not https?)",
    );
    const other = createServer(
      (socket) =>
        void socket
          .on("error", () => {})
          .resume()
          .end("SSH-2.0-OpenSSH\r\n"),
    );
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise<void>((resolve) => other.close(() => resolve())));
    const { port } = other.address() as { port: number };
    expect((await failure(open(`http://127.0.0.1:${port}/`).exchange(request))).message).toContain(
      "it answered with something that is not HTTP",
    );
  });

  test("a truncated document fails, also without a Content-Length", async () => {
    const server = await serve((_asked, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"jsonrpc":"2.0","id":7,"result":{');
      setImmediate(() => response.destroy());
    });
    expect((await failure(open(server.url).exchange(request))).code).toBe("upstream_closed");
  });
});

describe("a redirect", () => {
  test("within the origin is followed with the same method and body, and remembered if permanent", async () => {
    const server = await serve((asked, response) => {
      if (asked.path === "/mcp") response.writeHead(308, { location: "/v2/mcp?x=1" }).end("moved");
      else answer(asked, response, { path: asked.path });
    });
    const channel = open(server.url);
    for (let i = 0; i < 2; i++) {
      expect((await channel.exchange(request)).message.result).toEqual({ path: "/v2/mcp?x=1" });
    }
    expect(server.asked.map(({ method, path, id }) => [method, path, id])).toEqual([
      ["POST", "/mcp", 7],
      ["POST", "/v2/mcp?x=1", 7],
      ["POST", "/v2/mcp?x=1", 7],
    ]);
  });

  test("that is temporary is followed each time, unless only a trailing slash differs", async () => {
    const server = await serve((asked, response) => {
      if (asked.path === "/mcp") response.writeHead(307, { location: "/other" }).end();
      else if (asked.path === "/slash") response.writeHead(307, { location: "/slash/" }).end();
      else answer(asked, response);
    });
    for (const channel of [open(server.url), open(`${server.origin}/slash`)]) {
      await channel.exchange(request);
      await channel.exchange(request);
    }
    expect(server.asked.map(({ path }) => path)).toEqual([
      "/mcp",
      "/other",
      "/mcp",
      "/other",
      "/slash",
      "/slash/",
      "/slash/",
    ]);
  });

  test("to another origin is not followed", async () => {
    const thief = await serve((asked, response) => answer(asked, response));
    const server = await serve(
      (_asked, response) => void response.writeHead(307, { location: `${thief.url}?secret=1` }).end(),
    );
    const error = await failure(
      open(server.url, { headers: { authorization: "Bearer t" } }).exchange(request),
    );
    expect(error.message).toBe(
      `quiz redirects elsewhere, to ${thief.url}, and is not followed there; if that is right, write it in the config`,
    );
    expect(thief.asked).toHaveLength(0);
  });

  test("that would turn a POST into a GET is not followed, nor a redirect loop", async () => {
    const server = await serve((asked, response) => {
      if (asked.path === "/found") response.writeHead(302, { location: "/mcp" }).end();
      else response.writeHead(307, { location: asked.path === "/a" ? "/b" : "/a" }).end();
    });
    expect((await failure(open(`${server.origin}/found`).exchange(request))).message).toContain(
      "redirects elsewhere",
    );
    expect(server.asked).toHaveLength(1);
    expect((await failure(open(`${server.origin}/a`).exchange(request))).message).toContain(
      "redirects elsewhere",
    );
    expect(server.asked.length).toBeLessThan(10);
  });
});
