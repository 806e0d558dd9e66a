/** Memory amplification: no peer makes the gateway use a hundred times the bytes that it sends. */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inRepository, type Serving, serve } from "../support/cardea.js";
import { modernRequest, send } from "../support/http-host.js";
import { growth } from "../support/memory.js";
import { openModern, type RawHost } from "../support/peers/raw.js";
import { sample } from "../support/sample.js";
import { answer, type ScriptedServer, scriptedServer } from "../support/servers/scripted-http.js";

const MIB = 1024 * 1024;
const LIMIT = 4 * MIB;
const TOO_MUCH = 100;
/** The memory that a process uses temporarily in any case. */
const NOISE = 32 * MIB;

let server: ScriptedServer;
let gateway: Serving;
let host: RawHost;

/** What the tools of the server answer, by their names. */
const ANSWERS: Readonly<Record<string, () => object>> = {
  quiet: () => ({ content: [] }),
  long: () => ({ content: [{ type: "text", text: "x".repeat(50 * MIB) }] }),
  many: () => ({ content: Array.from({ length: 500_000 }, () => ({})) }),
};

beforeAll(async () => {
  server = await scriptedServer((asked, response) => {
    if (asked.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(asked.body) as {
      id?: unknown;
      method: string;
      params?: { name: string };
    };
    if (id === undefined) return void response.writeHead(202).end();
    const tools = [...Object.keys(ANSWERS), "bomb", "endless", "deep"].map((name) => ({
      name,
      inputSchema: { type: "object" },
    }));
    if (method === "initialize") {
      return answer(asked, response, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "x", version: "1" },
      });
    }
    if (method === "tools/list") return answer(asked, response, { tools });
    if (params?.name === "bomb") {
      const body = gzipSync(
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          result: { content: [{ type: "text", text: "0".repeat(10 * MIB) }] },
        }),
      );
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(body);
    } else if (params?.name === "endless") {
      response.writeHead(200, { "content-type": "application/json" });
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(MIB)));
        response.once("drain", more);
      };
      more();
    } else if (params?.name === "deep") {
      const deep = "[".repeat(5_000) + "]".repeat(5_000);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"deep":${deep}}}}`,
      );
    } else answer(asked, response, ANSWERS[params?.name ?? "quiet"]?.());
  });
  const pipe = {
    command: process.execPath,
    args: [inRepository("test/support/servers/endless-line.mjs")],
  };
  gateway = await serve({ mcpServers: { web: { url: server.url, protocol: "legacy" }, pipe } });
  host = await openModern({ url: gateway.url });
});
afterAll(async () => {
  await gateway.stop();
  await server.close();
});

const call = (args: string) => {
  const request = modernRequest("tools/call", { name: "web__quiet", arguments: "ARGUMENTS" });
  return { ...request, body: request.body.replace('"ARGUMENTS"', args) };
};
/** Repeats `part` until the whole is nearly as long as a body may be. */
const fill = (open: string, part: (at: number) => string, close: string): string => {
  const parts: string[] = [open];
  for (let length = 0, at = 0; length < LIMIT - 2_000; at += 1) {
    const next = part(at);
    parts.push(next);
    length += Buffer.byteLength(next);
  }
  return [...parts, close].join("");
};

/** In objects of 10,000 members: one may have 65,536. */
const members = (at: number): string =>
  at % 10_000 === 9_999 ? '},{"a":0' : `,"${at}":{"a":{"a":{"a":{}}}}`;

describe.skipIf(process.platform !== "linux")("a request of 4 MiB", () => {
  const requests: readonly [string, () => string][] = [
    ["of empty lists", () => fill('{"a":[[]', () => ",[]", "]}")],
    ["of members of members", () => fill('{"a":[{"a":0', members, "}]}")],
    ["of one text", () => fill('{"a":"', () => "x".repeat(1_000), '"}')],
    ["of escapes", () => fill('{"a":"', () => "\\u0000", '"}')],
  ];

  test.each(sample("large requests", requests, 1))(
    "%s allocates less than a hundred times its size",
    async (_what, args) => {
      const request = call(args());
      const taken = await growth(gateway.process.pid, async () => {
        expect((await send(gateway.url, request)).status).toBe(200);
      });
      expect(taken).toBeLessThan(TOO_MUCH * LIMIT);
    },
  );

  test("plus one byte, or nested too deep, is refused before it is parsed", async () => {
    const large = call(`{"a":"${"x".repeat(LIMIT)}"}`);
    // Otherwise the connection is closed after the response, while the test is still sending.
    const headers = { ...large.headers, connection: "keep-alive" };
    const deep = call(`{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`);
    const taken = await growth(gateway.process.pid, async () => {
      expect((await send(gateway.url, { ...large, headers })).status).toBe(413);
      expect((await send(gateway.url, deep)).status).toBe(400);
    });
    expect(taken).toBeLessThan(NOISE + 2 * LIMIT);
  });
});

describe.skipIf(process.platform !== "linux")("a server", () => {
  const told = async (name: string): Promise<string> =>
    JSON.stringify(await host.request("tools/call", { name, arguments: {} }));

  test("that sends a decompression bomb gets no more memory than a small answer", async () => {
    const taken = await growth(gateway.process.pid, async () => {
      expect(await told("web__bomb")).toContain(
        "its compressed response (gzip) inflates to more than 100 times its size",
      );
    });
    expect(taken).toBeLessThan(NOISE);
  });

  test("that sends an endless response is cut off at 64 MiB", async () => {
    const taken = await growth(gateway.process.pid, async () => {
      expect(await told("web__endless")).toContain("a response longer than");
    });
    expect(taken).toBeLessThan(3 * 64 * MIB + NOISE);
  });

  test("that sends an endless line is cut off at 10 MiB", async () => {
    const taken = await growth(gateway.process.pid, async () => {
      expect(await told("pipe__endless")).toContain("sent a line longer than");
    });
    expect(taken).toBeLessThan(2 * 10 * MIB + NOISE);
  });

  const responses: readonly [string, number][] = [
    ["long", 50 * MIB],
    ["many", 1.5 * MIB],
    ["deep", 10_000],
  ];

  test.each(sample("large responses", responses, 1))(
    "whose response is %s does not affect other calls",
    async (name, size) => {
      const taken = await growth(gateway.process.pid, async () => {
        expect((await told(`web__${name}`)).length).toBeGreaterThan(0);
      });
      expect(taken).toBeLessThan(TOO_MUCH * size + NOISE);
      expect(await told("web__quiet")).toContain('"content":[]');
    },
  );
});
