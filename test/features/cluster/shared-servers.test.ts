/** What replicas tell each other of their servers, with a real Redis and replicas over a real server. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { untilUp } from "../../../src/core/shared-store.js";
import { ServersOfReplicas } from "../../../src/features/cluster/shared-servers.js";
import { openStore } from "../../../src/features/cluster/store.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";
import { messagesInMemory } from "./peer-messages.js";
import { SECRET, startReplica } from "./replicas.js";

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

function pair() {
  const messagesOf = messagesInMemory();
  const messages = [messagesOf("rep00"), messagesOf("rep01")] as const;
  const [one, two] = messages.map((each) => new ServersOfReplicas(each, SECRET, SILENT).of(IDENTITY));
  if (one === undefined || two === undefined) throw new Error("no pair");
  return { one, two, messages };
}

describe("replicas", () => {
  test("share the detected era, until it changes, and also after the one that found it has ended", async () => {
    const { one, two, messages } = pair();
    expect(await two.readEra()).toBeUndefined();
    one.keepEra(ERA);
    await until("the era", async () => (await two.readEra()) !== undefined);
    expect(await two.readEra()).toEqual(ERA);
    messages[0].isGone = true;
    expect(await two.readEra()).toEqual(ERA);
    messages[0].isGone = false;
    one.keepEra({});
    await until("the end", async () => (await two.readEra()) === undefined);
  });

  test("detect the era themselves where they do not reach each other", async () => {
    const { one, two, messages } = pair();
    messages[1].isCutOff = true;
    one.keepEra(ERA);
    one.listChanged("tools", TOOLS);
    expect(await two.readEra()).toBeUndefined();
  });

  test("receive from each other, and not from themselves, which list changed and whether they have it", async () => {
    const { one, two } = pair();
    const heard: unknown[] = [];
    two.onListChanged((kind, isSame) => heard.push([kind, isSame(TOOLS), isSame([])]));
    one.onListChanged(() => heard.push("own"));
    one.listChanged("tools", TOOLS);
    await until("a hint", () => heard.length > 0);
    expect(heard).toEqual([["tools", true, false]]);
  });
});

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

  test("probe a legacy server once, and show a tool that it announced to one of them only", async () => {
    const server = await startLegacy();
    const { all, prefix } = await stores();
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
    // What is believed of servers is not there, so it cannot be written there.
    const keys = (await all[0].command(["KEYS", `${prefix}:*`])) as string[];
    expect(keys.filter((key) => !key.includes("{replicas}") && !key.includes("session:"))).toEqual([]);
  });
});
