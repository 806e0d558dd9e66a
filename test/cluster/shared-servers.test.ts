/** What replicas tell each other of their servers, with a real Redis and replicas over a real server. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ServersInStore } from "../../src/cluster/shared-servers.js";
import { type OpenStore, openStore } from "../../src/cluster/store.js";
import { untilUp } from "../../src/core/cluster.js";
import { SILENT } from "../../src/core/logger.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../support/redis.js";
import { SECRET, startReplica } from "../support/replicas.js";
import { until } from "../support/until.js";

const IDENTITY = '{"transport":{"url":"http://files.example","headers":{"authorization":"Bearer s3cret"}}}';
const TOOLS = [{ name: "read", inputSchema: { type: "object" as const } }];
const ERA = { legacy: { transport: "http", learnedAt: 1_700_000_000_000 } };

/** A legacy server over HTTP, what it was asked, and the sessions that it has. */
async function startLegacy() {
  const methods: string[] = [];
  const sessions = new Map<
    string,
    { readonly server: Server; readonly transport: StreamableHTTPServerTransport }
  >();
  const tools = [...TOOLS];
  async function opened(): Promise<StreamableHTTPServerTransport> {
    const server = new Server(
      { name: "old", version: "1" },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, { server, transport }),
    });
    await server.connect(transport);
    return transport;
  }
  const listener = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const method = (body as { method?: string } | undefined)?.method;
    if (method !== undefined) methods.push(method);
    const known = sessions.get(String(request.headers["mcp-session-id"]))?.transport;
    const transport = known ?? (isInitializeRequest(body) ? await opened() : undefined);
    if (transport !== undefined) return transport.handleRequest(request, response, body);
    response.writeHead(400).end();
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`,
    methods,
    tools,
    /** Tells one session only. */
    tellFirst: async () => [...sessions.values()][0]?.server.sendToolListChanged(),
  };
}

/** The keys of one cluster. */
async function keysOf(store: OpenStore, prefix: string): Promise<readonly string[]> {
  const scan = await store.command(["SCAN", "0", "MATCH", `${prefix}:*`, "COUNT", "1000"]);
  return (scan as [string, string[]])[1];
}

/** The tools that a modern host sees. */
async function listed(url: string): Promise<readonly unknown[]> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "host", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/list",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } }),
  });
  const { result } = (await response.json()) as { result: { tools: readonly unknown[] } };
  return result.tools;
}

describe.runIf(hasRedis)("replicas that share a store", () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  let clusters = 0;
  /** The connections of two replicas. */
  async function stores(url = redis.url) {
    clusters += 1;
    const prefix = `servers-${clusters}`;
    const open = async () => {
      const store = await openStore({ config: { url, prefix }, logger: SILENT, ...PATIENT });
      onTestFinished(() => store.close());
      return store;
    };
    return { prefix, all: [await open(), await open()] as const };
  }

  async function pair() {
    const { prefix, all } = await stores();
    for (const store of all) expect(await untilUp(store, 60_000)).toBe(true);
    const [one, two] = all.map((store, at) => new ServersInStore(store, SECRET, `rep${at}`).of(IDENTITY));
    if (one === undefined || two === undefined) throw new Error("no pair");
    return { one, two, prefix, store: all[0] };
  }

  test("share the detected era, until it changes", async () => {
    const { one, two } = await pair();
    expect(await two.readEra()).toBeUndefined();
    one.keepEra(ERA);
    await until("the era", async () => (await two.readEra()) !== undefined);
    expect(await two.readEra()).toEqual(ERA);
    one.keepEra({});
    await until("the end", async () => (await two.readEra()) === undefined);
  });

  test("cache it for an hour, under a name that does not reveal the server", async () => {
    const { one, two, prefix, store } = await pair();
    one.keepEra(ERA);
    await until("the era", async () => (await two.readEra()) !== undefined);
    const keys = await keysOf(store, prefix);
    expect(keys).toEqual([expect.stringMatching(new RegExp(`^${prefix}:era:[\\w-]{43}$`))]);
    expect(Number(await store.command(["PTTL", keys[0] ?? ""]))).toBeLessThanOrEqual(3_600_000);
  });

  test("ignore values in the store that are not JSON objects", async () => {
    const { one, two, prefix, store } = await pair();
    one.keepEra(ERA);
    await until("the era", async () => (await two.readEra()) !== undefined);
    const keys = await keysOf(store, prefix);
    for (const damaged of ["{", "[1]", "null", ""]) {
      await store.command(["SET", keys[0] ?? "", damaged]);
      expect(await two.readEra()).toBeUndefined();
    }
  });

  test("detect the era themselves if the store refuses", async () => {
    const { one, two, prefix, store } = await pair();
    one.keepEra(ERA);
    const key = await until("the era", async () => (await keysOf(store, prefix))[0]);
    await store.command(["DEL", key]);
    await store.command(["LPUSH", key, "a list"]);
    expect(await two.readEra()).toBeUndefined();
  });

  test("continue without shared state while the store is unavailable", async () => {
    const { all } = await stores("redis://127.0.0.1:1");
    const server = new ServersInStore(all[0], SECRET, "rep0").of(IDENTITY);
    expect(await server.readEra()).toBeUndefined();
    server.keepEra(ERA);
    server.listChanged("tools", TOOLS);
  });

  test("receive from each other, and not from themselves, which list changed and whether they have it", async () => {
    const { one, two } = await pair();
    const heard: unknown[] = [];
    two.onListChanged((kind, isSame) => heard.push([kind, isSame(TOOLS), isSame([])]));
    one.onListChanged(() => heard.push("own"));
    await until("a hint", () => {
      one.listChanged("tools", TOOLS);
      return heard.length > 0;
    });
    expect(heard[0]).toEqual(["tools", true, false]);
    expect(heard).not.toContain("own");
  });

  test("probe a legacy server once, and show a tool that it announced to one of them only", async () => {
    const server = await startLegacy();
    const { all } = await stores();
    const start = async (store: (typeof all)[number]) => {
      expect(await untilUp(store, 60_000)).toBe(true);
      const replica = await startReplica(store, {
        mcpServers: { old: { type: "http", url: server.url, prefix: "" } },
      });
      onTestFinished(() => replica.gateway.stop());
      const count = async () => (await listed(replica.url)).length;
      await until("the server", async () => (await count()) === 1);
      return { count };
    };
    await start(all[0]);
    const two = await start(all[1]);
    expect(server.methods.filter((method) => method === "server/discover")).toHaveLength(1);
    expect(server.methods.filter((method) => method === "initialize")).toHaveLength(2);
    server.tools.push({ name: "write", inputSchema: { type: "object" } });
    await server.tellFirst();
    await until("the tool", async () => (await two.count()) === 2);
  });
});
