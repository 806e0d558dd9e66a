/** A gateway whose config has a lock beside it, in front of a server that changes what it says, and of an honest one. */
import "../../../src/features/trust/feature.js";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { readConfig } from "../../../src/config/read.js";
import { type Logger, SILENT } from "../../../src/core/logger.js";
import { EMPTY_LOCK, type Lock, readServer, writeLock } from "../../../src/features/trust/lock/lock.js";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.js";
import { isObject, type JsonObject, stringAt } from "../../../src/wire/json.js";
import { inThisBuild } from "../../support/cardea.js";
import { CHANNELS, openedFeatures, SECTIONS } from "../../support/features.js";
import { listening } from "../../support/gateway.js";
import { openLegacy, openModern, type RawHost } from "../../support/peers/raw.js";
import { recordingServer } from "../../support/servers/recording-server.js";

export type Era = "legacy" | "modern";

/** The four pairs of host and server. */
export const PAIRS = (["legacy", "modern"] as const).flatMap((host) =>
  (["legacy", "modern"] as const).map((server) => ({ host, server })),
);

/** What the server says now; a test changes it. */
export interface Said {
  tools: readonly JsonObject[];
  prompts: readonly JsonObject[];
  resources: readonly JsonObject[];
  resourceTemplates: readonly JsonObject[];
  instructions: string;
  name: string;
  /** What it answers where a host that can be asked wants its tools; undefined: the same as to others. */
  forCapable?: () => JsonObject | undefined;
}

export const search: JsonObject = {
  name: "search",
  description: "Searches.",
  inputSchema: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
};
export const drop: JsonObject = {
  name: "drop",
  description: "Drops.",
  inputSchema: { type: "object", properties: {} },
};

export const said = (more: Partial<Said> = {}): Said => ({
  tools: [search, drop],
  prompts: [{ name: "greet", description: "Greets." }],
  resources: [{ uri: "memo://one", name: "one", size: 1 }],
  resourceTemplates: [],
  instructions: "Be kind.",
  name: "shifty",
  ...more,
});

export interface Trusted {
  readonly gateway: Gateway;
  readonly adminUrl: string;
  /** The path of the lock. */
  readonly file: string;
  /** Sentences of the log, warnings only. */
  readonly warnings: readonly string[];
  /** Calls that reached the servers. */
  readonly called: readonly string[];
  host(era: Era): Promise<RawHost>;
  /** Writes a lock with all that the servers say now, and has the gateway read it. */
  lock(): Promise<Lock>;
  /** Writes this text as the lock, and has the gateway read it. */
  writeLock(text: string): Promise<void>;
  /** The server lists again. */
  restart(): Promise<void>;
  /** A page of the listener for operators. */
  get(path: string): Promise<Response>;
  page(): Promise<JsonObject>;
}

/** The servers are `shifty`, which says `now`, and `honest`. `text`: the lock that is there from the start; `config`: more of it. */
export async function trusted(
  now: Said,
  {
    era = "modern",
    trust,
    text,
    config: more = {},
  }: { readonly era?: Era; readonly trust?: object; readonly text?: string; readonly config?: object } = {},
): Promise<Trusted> {
  const folder = mkdtempSync(join(tmpdir(), "trust-"));
  const file = join(folder, "cardea.lock");
  if (text !== undefined) writeFileSync(file, text);
  const called: string[] = [];
  const shifty = await recordingServer(
    "shifty",
    era,
    { resources: [] },
    () => {},
    (received) => {
      const { method, params } = received;
      if (method === "tools/call") called.push(String(params.name));
      if (method === "tools/list")
        return (received.body.includes('"elicitation"') && now.forCapable?.()) || { tools: now.tools };
      if (method === "prompts/list") return { prompts: now.prompts };
      if (method === "resources/list") return { resources: now.resources };
      if (method === "resources/templates/list") return { resourceTemplates: now.resourceTemplates };
      const { instructions } = now;
      const own = { instructions, serverInfo: { name: now.name, version: "1" }, capabilities: CAPABILITIES };
      if (method === "initialize") return { protocolVersion: "2025-06-18", ...own };
      if (method === "server/discover") return { supportedVersions: ["2026-07-28"], ...own };
      return undefined;
    },
  );
  const honest = await recordingServer("honest", era, { tools: ["work"] }, ({ method, params }) => {
    if (method === "tools/call") called.push(String(params.name));
  });
  const config = inThisBuild({
    listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
    mcpServers: {
      shifty: { type: "http", url: shifty.url },
      honest: { type: "http", url: honest.url },
    },
    startupWait: "10m",
    ...(trust !== undefined && { trust }),
    ...more,
  });
  const read = readConfig(JSON.stringify(config), join(folder, "cardea.json"), {
    env: {},
    sections: SECTIONS,
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const warnings: string[] = [];
  const logger: Logger = { ...SILENT, warn: (_, sentence) => void warnings.push(sentence) };
  const features = await openedFeatures(read.config, { logger, servesHosts: true });
  const gateway = createGateway(read.config, { logger, version: "0.0.0-test", features, channels: CHANNELS });
  const { url, adminUrl } = await listening(gateway);
  await gateway.lists("tools");
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    await Promise.all([shifty.close(), honest.close()]);
    rmSync(folder, { recursive: true });
  });
  const post = async (path: string): Promise<void> => {
    const response = await fetch(`${adminUrl}/api/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...TOKEN_HEADER },
      body: "{}",
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    await response.text();
  };
  const put = async (content: string): Promise<void> => {
    writeFileSync(file, content);
    await post("trust/shifty/approved/all");
  };
  return {
    ...{ gateway, adminUrl, file, warnings, called },
    host: (hostEra) => (hostEra === "legacy" ? openLegacy({ url }) : openModern({ url })),
    async lock() {
      const lock = await lockNow(gateway);
      await put(writeLock(lock));
      return lock;
    },
    writeLock: put,
    restart: () => post("servers/shifty/restart"),
    get: (path) => fetch(`${adminUrl}/${path}`, { headers: TOKEN_HEADER }),
    page: async () => (await gateway.page("trust")) as JsonObject,
  };
}

const TOKEN = "t".repeat(32);
const TOKEN_HEADER = { authorization: `Bearer ${TOKEN}` };
const CAPABILITIES = { tools: {}, prompts: {}, resources: {} };

async function lockNow(gateway: Gateway): Promise<Lock> {
  const page = (await gateway.page("trust", new URLSearchParams({ definitions: "true" }))) as JsonObject;
  const rows = Array.isArray(page.servers) ? page.servers.filter(isObject) : [];
  const servers = rows.map(
    (row) => [stringAt(row, "server") ?? "", readServer(row.definitions, "")] as const,
  );
  return { ...EMPTY_LOCK, servers: new Map(servers) };
}

/** The lock of servers that say this. */
export async function lockOf(now: Said): Promise<string> {
  const running = await trusted(now, { trust: { pin: "off" } });
  const { servers } = await lockNow(running.gateway);
  return writeLock({ servers: new Map([...servers].map(([name, lock]) => [name, { ...lock, start: {} }])) });
}

/** The names of a list, as the host sees them. */
export const namesOf = async (
  host: RawHost,
  list: "tools" | "prompts" | "resources",
): Promise<readonly unknown[]> => (await host.list(list)).map(({ name, uri }) => uri ?? name);

let lastId = 0;

/** The response to a request. */
export async function asked(host: RawHost, method: string, params: JsonObject): Promise<JsonObject> {
  lastId += 1;
  return host.send(`trust-${lastId}`, method, { ...params });
}

/** The result of a call of a tool. */
export const resultOf = async (host: RawHost, name: string): Promise<unknown> =>
  (await asked(host, "tools/call", { name, arguments: {} })).result;
