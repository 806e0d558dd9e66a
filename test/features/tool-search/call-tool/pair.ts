/** Two equal gateways in front of one server; the hosts of the second call every tool through `call_tool`. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogFields } from "../../../../src/core/logger.js";
import { createGateway } from "../../../../src/gateway/gateway.js";
import { CHANNELS, hasFeature, openedFeatures } from "../../../support/features.js";
import { configOf, listening } from "../../../support/gateway.js";
import { type Era, type Host, openHost } from "../../../support/host/host.mjs";
import { type Answer, serveHttp } from "../../../support/server/http.mjs";

export type Json = Readonly<Record<string, unknown>>;
type Person = "ann" | "bob";

/** What a server does with one request of a tool: the messages that come first, and the rest of the response. */
export interface Turn {
  readonly first: readonly Json[];
  readonly response: Json;
}

export interface Call {
  readonly person: Person;
  readonly era: Era;
  readonly params: Json & { readonly name: string };
  readonly turns: readonly Turn[];
  /** The answers of the person to the questions of each round; the others are refused. */
  readonly answers: readonly (Json | undefined)[];
}

/** Everything that a call is seen by. */
export interface Seen {
  readonly conversations: readonly unknown[];
  readonly requests: readonly unknown[];
  readonly log: readonly Json[];
  readonly audit: readonly unknown[];
  readonly metrics: readonly string[];
  /** Calls that came through `call_tool`, as the metrics have them. */
  readonly searchCalls: number;
}

export interface Side {
  play(config: object, calls: readonly Call[]): Promise<Seen>;
}

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const KEYS: Readonly<Record<Person, string>> = {
  ann: `crd_${"a".repeat(43)}`,
  bob: `crd_${"b".repeat(43)}`,
};

/** What differs between any two gateways or calls: random texts, and the size of what the host has sent. */
const RANDOM_MEMBERS = new Set(["requestState", "taskId", "hash", "prev"]);
const RANDOM_METRICS = /^(?:#|cardea_search_calls_total|nodejs_|process_|cardea_process_)/;

/** Opens both. `ends` gets what closes them. */
export async function openPair(
  tools: readonly Json[],
  entries: (url: string) => object,
  ends: (end: () => Promise<void>) => void,
): Promise<readonly [straight: Side, through: Side]> {
  let turns: Turn[] = [];
  let requests: unknown[] = [];
  const answer: Answer = ({ id, method, params }: Json, say, { headers }) => {
    if (id === undefined) return undefined;
    const respond = (rest: Json): Json => ({ jsonrpc: "2.0", id, ...rest });
    const known = KNOWN[method as string];
    if (known !== undefined) return respond({ result: { resultType: "complete", ...known } });
    if (method === "tools/list") return respond({ result: { resultType: "complete", tools } });
    if (method !== "tools/call") return respond({ error: { code: -32601, message: "unknown method" } });
    requests.push({ method, params, headers: headersOf(headers) });
    const turn = turns.shift() ?? { first: [], response: { result: COMPLETE } };
    for (const message of turn.first) say({ jsonrpc: "2.0", ...message });
    return respond(turn.response);
  };
  const server = await serveHttp(answer, { sessions: false, sse: true });
  ends(() => server.stop());

  async function open(throughCallTool: boolean): Promise<Side> {
    const folder = mkdtempSync(join(tmpdir(), "cardea-call-tool-"));
    const file = join(folder, "audit.jsonl");
    const configured = (config: object) =>
      configOf({
        auth: { keys: Object.entries(KEYS).map(([id, key]) => ({ id, hash: hashOf(key) })) },
        keys: { state: "k".repeat(43) },
        mcpServers: entries(server.url),
        tools: { exposure: "auto", autoThreshold: 10_000_000 },
        ...(hasFeature("audit") && { audit: { file, required: true, arguments: "full" } }),
        ...config,
      });
    const config = configured({});
    const log: Json[] = [];
    const write =
      (level: string) =>
      (fields: LogFields, sentence: string): void =>
        void log.push({ level, ...fields, sentence });
    const logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
    const options = { logger, version: "0.0.0-test", redact: (text: string) => text };
    const features = await openedFeatures(config, options);
    const gateway = createGateway(config, { ...options, features, channels: CHANNELS });
    const { url, adminUrl } = await listening(gateway);
    ends(async () => {
      await gateway.stop({ immediate: true });
      await rm(folder, { recursive: true, force: true });
    });
    await gateway.lists("tools");
    let audited = 0;

    return {
      async play(more, calls) {
        await gateway.reload(configured(more));
        log.length = 0;
        requests = [];
        const before = await metricsAt(adminUrl);
        const conversations: unknown[] = [];
        const hosts = new Map<string, Promise<Host>>();
        for (const { person, era, params, answers, ...call } of calls) {
          turns = [...call.turns];
          const key = `${person} ${era}`;
          const headers = { authorization: `Bearer ${KEYS[person]}` };
          const opened =
            hosts.get(key) ?? openHost(url, era, { capabilities: CAPABILITIES, throughCallTool, headers });
          hosts.set(key, opened);
          const left = [...answers];
          const respond = () => left.shift() ?? Promise.reject(new Error("refused"));
          const host = await opened;
          conversations.push(
            await host.converse("tools/call", params, respond).catch((error: Error) => error.message),
          );
        }
        for (const host of hosts.values()) await (await host).close();
        const lines = hasFeature("audit") ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
        const fresh = lines
          .slice(audited)
          .map((line) => JSON.parse(line) as Json)
          .filter(({ kind }) => kind !== "reload");
        audited = lines.length;
        const after = await metricsAt(adminUrl);
        return {
          conversations: conversations.map(comparable),
          requests: requests.map(comparable),
          log: log.map(comparable),
          audit: fresh.map(comparable),
          metrics: after.filter((line) => !RANDOM_METRICS.test(line)),
          searchCalls: searchCallsIn(after) - searchCallsIn(before),
        };
      },
    };
  }
  return [await open(false), await open(true)];
}

const COMPLETE = { resultType: "complete", content: [{ type: "text", text: "done" }] };
const KNOWN: Readonly<Record<string, Json>> = {
  "server/discover": {
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name: "git", version: "1" },
  },
  ping: {},
};

const hashOf = (key: string): string => `sha256:${createHash("sha256").update(key).digest("hex")}`;

const headersOf = (headers: Json): Json =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:mcp|x|cardea)-/.test(name)));

async function metricsAt(adminUrl: string): Promise<readonly string[]> {
  const response = await fetch(new URL("/metrics", adminUrl));
  const text = await response.text();
  if (!response.ok) throw new Error(`/metrics: ${response.status} ${text}`);
  return text.split("\n");
}

const searchCallsIn = (metrics: readonly string[]): number =>
  metrics
    .filter((line) => line.startsWith("cardea_search_calls_total{"))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);

/** What only a call through `call_tool` says after the name of a tool that there is not. */
const HINT = /(?<=^unknown tool: \w+); (?:find_tools says which there are|the nearest are .+)$/;

/** The same value; of random texts only that they are there. */
function comparable<T>(value: T): T;
function comparable(value: unknown): unknown {
  if (typeof value === "string") return value.replace(HINT, "");
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null || value instanceof Error) return value;
  const members = Object.entries(value).map(([key, member]) => [
    key,
    RANDOM_MEMBERS.has(key) ? typeof member : comparable(member),
  ]);
  return Object.fromEntries(members);
}
