/** Calls that wait for an answer keep what they need to continue, and not what they were made of. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { HOSTS, openHost } from "../../scenarios/host.js";
import { openStage, type Stage } from "../../scenarios/stage.js";
import { collectGarbage } from "../../support/heap.js";

const MIB = 1024 * 1024;
const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** A legacy server that asks in the middle of each call and never answers, and keeps nothing of what it was sent. */
async function asking() {
  const streams = new Set<ServerResponse>();
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "asking", version: "1" },
    },
    "tools/list": { tools: [{ name: "ask", inputSchema: { type: "object" } }] },
  };
  const respond = (head: { id: number; method: string }, response: ServerResponse): void => {
    if (head.method !== "tools/call") {
      const result = results[head.method];
      if (result === undefined) response.writeHead(head.method === "server/discover" ? 404 : 202).end();
      else {
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: head.id, result }));
      }
      return;
    }
    streams.add(response);
    const params = { message: "Which?", requestedSchema: { type: "object", properties: {} } };
    const question = { jsonrpc: "2.0", id: `q${head.id}`, method: "elicitation/create", params };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify(question)}\n\n`);
  };
  const server = createServer((request: IncomingMessage, response) => {
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    let head = "";
    request.on("data", (chunk: Buffer) => {
      if (head.length < 200) head += chunk.toString("latin1", 0, 200);
    });
    request.on("end", () => {
      const [, method = ""] = /"method":"([^"]*)"/.exec(head) ?? [];
      respond({ id: Number(/"id":(\d+)/.exec(head)?.[1]), method }, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** Heap and buffers, when what was let go of is gone: buffers go in a turn after the one that collects them. */
async function held(): Promise<number> {
  for (let round = 0; round < 4; round += 1) {
    collectGarbage();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test("parked calls of a megabyte each hold less than an eighth of that", async () => {
  const url = await asking();
  const stage: Stage = await openStage([], { config: { mcpServers: { asks: { type: "http", url } } } });
  open.push(stage);
  const host = await openHost(stage, HOSTS.modernHttp);
  const ask = async (text: string): Promise<void> => {
    const params = { name: "asks__ask", arguments: { text } };
    last += 1;
    const { result } = (await host.raw.send(last, "tools/call", params)) as {
      result: { resultType: string };
    };
    expect(result.resultType).toBe("input_required");
  };
  let last = 0;
  await ask("small");
  // V8 compiles what large bodies run through, which is no memory of a call.
  for (let at = 0; at < 4; at += 1) await ask("x".repeat(MIB));
  // What the first scrape loads and compiles is none either.
  await stage.metric("cardea_parked_calls");
  const before = await held();
  for (let at = 0; at < 24; at += 1) await ask(String(at).repeat(MIB / String(at).length));
  expect(await stage.metric("cardea_parked_calls")).toBe(29);
  const after = await held();
  expect((after - before) / MIB).toBeLessThan(3);
});
