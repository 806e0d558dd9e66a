/** The fetch for URLs that a peer named: where it goes, and what it takes. */
import type { LookupAddress, lookup } from "node:dns";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { fetchJson } from "../../src/downstream/authenticate/issuer-keys.js";
import { FetchError, guardedFetch, whyNotFetched } from "../../src/outgoing/guarded-fetch.js";
import { canaryListener } from "../support/canary-listener.js";

async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((closed) => server.close(() => closed()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const resolvingTo = (...addresses: string[]) =>
  ((_host: string, _options: unknown, done: (error: null, found: LookupAddress[]) => void) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    )) as unknown as typeof lookup;

/** The error of a fetch. */
async function errorOf(promise: Promise<unknown>): Promise<FetchError> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  if (error instanceof FetchError) return error;
  throw new Error("it did not fail as expected", { cause: error });
}

const PUBLIC = "https://mcp.example.com/mcp";

describe("a URL may be fetched", () => {
  test.each([
    ["https://as.example.com/token", PUBLIC, undefined],
    ["https://8.8.8.8/", PUBLIC, undefined],
    // The config is taken at its word.
    ["http://10.0.0.7:8080/.well-known/x", "http://10.0.0.7:8080/mcp", undefined],
    ["http://127.0.0.1:3000/a", "http://localhost:8080/mcp", undefined],
    ["http://[::1]:3000/a", "http://127.0.0.1:8080/mcp", undefined],
    ["http://as.example.com/token", PUBLIC, "is not https:"],
    ["http://127.0.0.1:3000/a", PUBLIC, "is not https:"],
    ["http://10.0.0.7:9090/a", "http://10.0.0.7:8080/mcp", "is not https:"],
    ["https://127.0.0.1/a", PUBLIC, "private network"],
    ["https://169.254.169.254/", PUBLIC, "private network"],
    ["https://[::ffff:169.254.169.254]/", PUBLIC, "private network"],
    ["https://2130706433/", PUBLIC, "private network"],
    ["https://10.0.0.8/a", "https://10.0.0.7/mcp", "private network"],
    ["https://169.254.169.254/", "http://127.0.0.1:1/mcp", "private network"],
    ["file:///etc/passwd", PUBLIC, "is not https:"],
    ["data:application/json,{}", PUBLIC, "is not https:"],
    ["https://a:b@as.example.com/", PUBLIC, "has credentials in it"],
    ["nonsense", PUBLIC, "is no URL"],
  ])("%s for the server %s: %s", (url, serverUrl, reason) => {
    const found = whyNotFetched(url, { serverUrl });
    if (reason === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(reason);
  });

  test.each(["10.0.0.8", "10.0.0.8:8443", "LOGIN.corp.example", "fd00::1"])(
    "if allowHosts has %s, over https only",
    (allowed) => {
      const host = { "LOGIN.corp.example": "login.corp.example", "fd00::1": "[fd00::1]" }[allowed] ?? allowed;
      const options = { serverUrl: PUBLIC, allowHosts: [allowed] };
      expect(whyNotFetched(`https://${host}/token`, options)).toBeUndefined();
      expect(whyNotFetched(`http://${host}/token`, options)).toContain("is not https:");
      expect(whyNotFetched("https://10.0.0.9/token", options)).toContain("add the host to auth.allowHosts");
      const ofHosts = { ...options, allowKey: "auth.signIn.allowHosts" };
      expect(whyNotFetched("https://10.0.0.9/token", ofHosts)).toContain("to auth.signIn.allowHosts");
    },
  );
});

describe("a name that resolves to a private address", () => {
  test.each([[["127.0.0.1"]], [["8.8.8.8", "127.0.0.1"]], [["::1"]], [["::ffff:7f00:1"]], [[]]])(
    "%j is not connected to",
    async (addresses) => {
      const canary = await canaryListener();
      const fetch = guardedFetch({ serverUrl: PUBLIC, resolve: resolvingTo(...addresses) });
      const error = await errorOf(fetch(`https://rebinding.example.com:${canary.port}/secret?token=geheim`));
      expect([error.kind, canary.touched]).toEqual(["blocked", 0]);
      expect(error.message).toBe(
        `https://rebinding.example.com:${canary.port}/secret: rebinding.example.com is an address of this machine or of a private network; where that is intended, add the host to auth.allowHosts`,
      );
    },
  );

  test("is connected to if allowHosts has it", async () => {
    const canary = await canaryListener();
    const resolve = resolvingTo("127.0.0.1");
    const fetch = guardedFetch({ serverUrl: PUBLIC, allowHosts: ["login.corp.example"], resolve });
    const error = await errorOf(fetch(`https://login.corp.example:${canary.port}/`));
    // The listener speaks no TLS; the connection was made.
    expect([error.kind === "blocked", canary.touched]).toEqual([false, 1]);
  });
});

describe("a redirect", () => {
  test("of a GET is followed three times, with each hop checked", async () => {
    let asked = 0;
    const origin = await serving((request, response) => {
      asked += 1;
      const left = Number(new URL(request.url ?? "/", "http://x").searchParams.get("left"));
      if (left === 0) response.end("{}");
      else response.writeHead(302, { location: `/?left=${left - 1}` }).end();
    });
    const fetch = guardedFetch({ serverUrl: origin });
    expect((await fetch(`${origin}/?left=3`)).status).toBe(200);
    expect(asked).toBe(4);
    expect((await errorOf(fetch(`${origin}/?left=4`))).message).toContain("more than 3 redirects");
    expect(asked).toBe(8);
  });

  test("to a private address is not followed", async () => {
    const origin = await serving((_request, response) => {
      response.writeHead(301, { location: "https://169.254.169.254/latest?x" }).end();
    });
    const error = await errorOf(guardedFetch({ serverUrl: origin })(`${origin}/a`));
    expect(error.message).toContain("https://169.254.169.254/latest: 169.254.169.254 is an address of");
    expect(error.kind).toBe("blocked");
  });

  test("of a POST is not followed, and its body is not sent on", async () => {
    const bodies: string[] = [];
    const origin = await serving((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on("end", () => {
        bodies.push(`${request.url} ${body}`);
        response.writeHead(307, { location: "/elsewhere" }).end();
      });
    });
    const fetch = guardedFetch({ serverUrl: origin });
    const response = await fetch(`${origin}/token`, {
      method: "POST",
      body: new URLSearchParams({ code: "c" }),
    });
    expect([response.status, bodies]).toEqual([307, ["/token code=c"]]);
  });
});

describe("a compressed answer", () => {
  const FORMS = [
    ["gzip", gzipSync],
    ["X-GZIP", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
    ["deflate, gzip", (bytes: Buffer) => gzipSync(deflateSync(bytes))],
  ] as const;
  /** Asks a server that answers with these bytes. */
  async function fetched(encoding: string, body: Buffer, status = 200): Promise<Response> {
    const origin = await serving((request, response) => {
      expect(request.headers["accept-encoding"]).toBe("identity");
      response.writeHead(status, { "content-encoding": encoding }).end(body);
    });
    return guardedFetch({ serverUrl: origin })(`${origin}/a`);
  }

  test.each(FORMS)("inflates an answer in %s, and no bomb", async (encoding, compress) => {
    const response = await fetched(encoding, compress(Buffer.from('{"issuer":"世"}')));
    expect(await response.json()).toEqual({ issuer: "世" });
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(await (await fetched(encoding, compress(Buffer.from('{"error":"x"}')), 400)).text()).toContain(
      "x",
    );
    const bomb = await errorOf(fetched(encoding, compress(Buffer.alloc(1024 * 1024))));
    expect(bomb.message).toContain(`its content (${encoding}) is larger than 262144 bytes`);
    const cut = compress(Buffer.from('{"issuer":"世"}')).subarray(0, -5);
    expect((await errorOf(fetched(encoding, cut))).message).toMatch(/is cut off|is not what its content/);
  });

  test("in an unknown encoding is named", async () => {
    const error = await errorOf(fetched("snappy", Buffer.from("?")));
    expect([error.kind, error.message]).toEqual([
      "lost",
      expect.stringContaining('/a: its response has the content encoding "snappy", which is not supported'),
    ]);
  });

  test("of the keys of an issuer is read too", async () => {
    const origin = await serving((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync('{"keys":[]}'));
    });
    const { signal } = new AbortController();
    expect(await fetchJson(`${origin}/keys`, signal, "anywhere")).toEqual({ keys: [] });
  });
});

describe("a fetch that fails", () => {
  test("before the connection was established was not sent", async () => {
    const origin = await serving((_request, response) => response.end());
    const closed = origin.replace(/\d+$/, "1");
    expect(await errorOf(guardedFetch({ serverUrl: closed })(`${closed}/x?secret=1`))).toMatchObject({
      kind: "unreachable",
      message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/x: .*ECONNREFUSED/),
    });
  });

  test.each([
    ["closed", (_request, response) => void response.destroy()],
    ["silent", () => {}],
    [
      "broken off",
      (_request, response) => {
        response.writeHead(200, { "content-length": "9" }).write("{");
        setImmediate(() => response.destroy());
      },
    ],
    [
      "endless",
      (_request, response) => {
        response.writeHead(200);
        const more = (): void => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
          response.once("drain", more);
        };
        more();
      },
    ],
  ] as [string, RequestListener][])(
    "after the request was sent may have been processed: %s",
    async (_, answer) => {
      const origin = await serving(answer);
      const fetch = guardedFetch({ serverUrl: origin, timeoutMs: 300 });
      expect((await errorOf(fetch(`${origin}/token`, { method: "POST", body: "a" }))).kind).toBe("lost");
    },
  );

  test("because its caller cancelled reports that", async () => {
    const caller = new AbortController();
    const origin = await serving(() => caller.abort());
    const error = await errorOf(
      guardedFetch({ serverUrl: origin })(`${origin}/a`, { signal: caller.signal }),
    );
    expect([error.kind, error.message]).toEqual(["lost", `${origin}/a: the request was cancelled`]);
  });
});
