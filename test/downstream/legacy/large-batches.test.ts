/** Batches (2025-03-26) whose answers are large: what has run is delivered, and what cannot be is not run. */
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { createParser } from "eventsource-parser";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Gateway } from "../../../src/gateway/gateway.js";
import { gatewayOf } from "../../support/gateway.js";
import { httpWire } from "../../support/host/wires.mjs";
import type { Json } from "../../support/peers/host.js";
import { openLegacy } from "../../support/peers/raw.js";
import { sample } from "../../support/sample.js";
import { answer, type ScriptedServer, scriptedServer } from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";

const KB = 1024;
let server: ScriptedServer;
let gateway: Gateway;
let url = "";
let ran = 0;
const REVISION = "2025-03-26";

beforeAll(async () => {
  server = await scriptedServer((asked, response) => {
    if (asked.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(asked.body) as { id?: unknown; method: string; params?: Json };
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/call") ran += 1;
    const { kb = 0 } = (params?.arguments ?? {}) as { kb?: number };
    answer(asked, response, {
      ...{
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "x", version: "1" },
      },
      tools: [{ name: "give", inputSchema: { type: "object" } }],
      content: [{ type: "text", text: "x".repeat(kb * KB) }],
    });
  });
  gateway = await gatewayOf({
    listen: { http: { port: 0, legacySse: true }, admin: { port: 0 } },
    mcpServers: { s: { url: server.url, protocol: "legacy" } },
  });
  ({ url } = await gateway.start());
  await gateway.lists("tools");
});
afterAll(async () => {
  await gateway.stop({ immediate: true });
  await server.close();
});

const batchOf = (count: number, kb: number, from = 0): Json[] =>
  Array.from({ length: count }, (_, at) => ({
    jsonrpc: "2.0",
    id: from + at,
    method: "tools/call",
    params: { name: "s__give", arguments: { kb } },
  }));

/** POSTs a batch in a new session; resolves when the response begins. */
async function post(batch: readonly Json[], accept: string) {
  const host = await openLegacy(httpWire(url), { revision: REVISION });
  const headers = { "content-type": "application/json", accept, "mcp-session-id": host.session ?? "" };
  const sent: ClientRequest = request(url, { method: "POST", headers, agent: false });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once("response", resolve).once("error", reject);
  });
  sent.end(JSON.stringify(batch));
  return { host, sent, response };
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function messagesIn(response: IncomingMessage, text: string): Json[] {
  if (response.headers["content-type"] === "application/json") return JSON.parse(text) as Json[];
  const messages: Json[] = [];
  createParser({ onEvent: ({ data }) => data !== "" && messages.push(JSON.parse(data) as Json) }).feed(text);
  return messages;
}

const SIZES = [
  [40, 1000],
  [8, 3000],
  [40, 1200],
  [100, 600],
  [3, 12_000],
  [100, 1],
] as const;
const sizesFor = (reader: string) => sample(`batches for ${reader}`, SIZES, 1);

const READERS = [
  ["JSON alone", "application/json"],
  ["JSON and event streams", "application/json, text/event-stream"],
  ["event streams alone", "text/event-stream"],
] as const;

describe.each(sample("readers of batches", READERS, 1))("a host that reads %s", (name, accept) => {
  test.each(sizesFor(name))("gets each answer of a batch of %i with %i KB each", async (count, kb) => {
    ran = 0;
    const { host, response } = await post(batchOf(count, kb), accept);
    const arrived = await response;
    const messages = messagesIn(arrived, await textOf(arrived));
    expect(messages.map(({ id }) => id).sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: count }, (_, at) => at),
    );
    for (const { result } of messages) {
      const [block] = (result as Json).content as [{ text: string }];
      expect(block.text).toHaveLength(kb * KB);
    }
    expect(ran).toBe(count);
    await host.close();
  });

  test("that reads nothing of it has most of a large batch not run, and the rest not after it is gone", async () => {
    ran = 0;
    const { host, sent, response } = await post(batchOf(100, 2000), accept);
    const arrived = await response;
    await until("the first answers", () => ran >= 12);
    arrived.destroy();
    sent.destroy();
    // Its session and those of others live on.
    const after = { name: "s__give", arguments: { kb: 1 } };
    expect(await host.send("after", "tools/call", after)).toHaveProperty("result");
    await host.close();
    expect(ran).toBeLessThan(60);
  });
});

/** Sends the handshake of 2025-03-26. */
const INITIALIZE: Json = {
  jsonrpc: "2.0",
  id: "open",
  method: "initialize",
  params: { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: "h", version: "1" } },
};

const idsIn = (messages: readonly Json[]): readonly unknown[] =>
  messages
    .filter(({ result }) => result !== undefined)
    .map(({ id }) => id)
    .sort((a, b) => Number(a) - Number(b));

describe("a host on a pipe", () => {
  test.each(sizesFor("a pipe"))(
    "gets each answer of a batch of %i with %i KB each, in lines that are arrays",
    async (count, kb) => {
      ran = 0;
      const [input, output] = [new PassThrough(), new PassThrough()];
      void gateway.stdio(input, output);
      const documents: unknown[] = [];
      const messages = (): Json[] => documents.flat() as Json[];
      createInterface({ input: output }).on("line", (line) => documents.push(JSON.parse(line)));
      input.write(`${JSON.stringify(INITIALIZE)}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n`);
      await until("the handshake", () => documents.length === 1);
      input.write(`${JSON.stringify(batchOf(count, kb))}\n`);
      await until("all answers", () => messages().length === count + 1);
      expect(idsIn(messages().slice(1))).toEqual(Array.from({ length: count }, (_, at) => at));
      expect(documents.slice(1).every(Array.isArray)).toBe(true);
      if (kb === 1) expect(documents).toHaveLength(2);
      expect(ran).toBe(count);
      input.end();
    },
  );
});

describe("a host over HTTP+SSE", () => {
  test.each(sizesFor("HTTP+SSE"))("gets each answer of a batch of %i with %i KB each", async (count, kb) => {
    ran = 0;
    const origin = new URL(url).origin;
    const messages: Json[] = [];
    let endpoint = "";
    const stream = request(`${origin}/sse`, { agent: false }, (response) => {
      const parser = createParser({
        onEvent: ({ event, data }) => {
          if (event === "endpoint") endpoint = data;
          else messages.push(...([JSON.parse(data)].flat() as Json[]));
        },
      });
      response.setEncoding("utf8").on("data", (text: string) => parser.feed(text));
    });
    stream.on("error", () => {});
    stream.end();
    await until("the endpoint", () => endpoint !== "");
    const say = (message: unknown) =>
      fetch(origin + endpoint, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(message),
      });
    await say(INITIALIZE);
    await until("the handshake", () => messages.length === 1);
    await say({ jsonrpc: "2.0", method: "notifications/initialized" });
    await say(batchOf(count, kb));
    await until("all answers", () => messages.length === count + 1);
    expect(idsIn(messages.slice(1))).toEqual(Array.from({ length: count }, (_, at) => at));
    expect(ran).toBe(count);
    stream.destroy();
  });
});
