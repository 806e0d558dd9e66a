/**
 * Attack 23: no call bypasses a rule by JSON that its server parses differently. Messages to servers, through the edges
 * of the whole gateway, are parsed by Go, Python and Node; none of the results may be forbidden by a rule.
 *
 * `npm run differential` sends 100,000 requests; by default it is 2,000.
 */
import { Agent, request } from "node:http";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Gateway } from "../../../../src/gateway/gateway.js";
import fc from "../../../support/fast-check.js";
import { gatewayOf } from "../../../support/gateway.js";
import { TAKES_ALL } from "../../../support/sample.js";
import { type RecordingServer, recordingServer } from "../../../support/servers/recording-server.js";
import { until } from "../../../support/until.js";
import { goReader, isForbidden, isThere, nodeReader, pythonReader, type Reader } from "./json-readers.js";
import { type JsonRequest, jsonRequests } from "./json-requests.js";

const RUNS = Number(process.env.CARDEA_RUNS ?? (TAKES_ALL ? 2_000 : 1_000));
const AT_ONCE = 16;
/** Every tenth goes through a pipe. */
const ON_PIPE = 10;

const RULES = [
  { name: "no-prod", when: "args.env == 'prod'", effect: "deny" },
  { name: "no-drop", tools: ["*__drop"], effect: "deny" },
  { name: "no-secrets", prompts: ["*__secret"], effect: "deny" },
  { name: "no-etc", resources: ["*/etc/*"], effect: "deny" },
];
const OFFERED = {
  tools: ["ok", "drop"],
  prompts: ["hello", "secret"],
  resources: ["file:///srv/x", "file:///etc/x"],
};

const arrived: string[] = [];
const sent: string[] = [];
const servers: RecordingServer[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
let gateway: Gateway;
let endpoint: URL;

beforeAll(async () => {
  const entries: Record<string, object> = {};
  for (const [name, era] of [
    ["x", "modern"],
    ["a", "legacy"],
  ] as const) {
    const server = await recordingServer(name, era, OFFERED, ({ body }) => void arrived.push(body));
    servers.push(server);
    entries[name] = { type: "http", url: server.url };
  }
  gateway = await gatewayOf({
    mcpServers: entries,
    policy: { rules: RULES },
  });
  endpoint = new URL((await gateway.start()).url);
  await gateway.lists("tools");
});

afterAll(async () => {
  agent.destroy();
  await gateway.stop({ immediate: true });
  await Promise.all(servers.map((server) => server.close()));
});

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

const textOf = ({ rest }: JsonRequest, id: number): string => `{"jsonrpc":"2.0","id":${id},${rest}`;

/** The headers of a modern request say what its body says to a reader of ours. */
function headersOf({ kind }: JsonRequest, text: string): Readonly<Record<string, string>> {
  if (kind === "legacy") return {};
  const { method, params = {} } = JSON.parse(text) as {
    readonly method?: unknown;
    readonly params?: { readonly name?: unknown; readonly uri?: unknown };
  };
  const target = method === "resources/read" ? params.uri : params.name;
  return {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": typeof method === "string" ? method : "none",
    ...(typeof target === "string" && { "mcp-name": target }),
  };
}

function post(body: string, headers: Readonly<Record<string, string>>): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const always = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const posted = request(endpoint, { method: "POST", agent, headers: { ...always, ...headers } });
    posted.on("error", reject);
    posted.on("response", (response) => {
      const session = response.headers["mcp-session-id"];
      response.resume();
      response.on("end", () => resolve(typeof session === "string" ? session : undefined));
      response.on("error", reject);
    });
    posted.end(body);
  });
}

/** Sends the lines through a pipe, and resolves when each was answered. */
async function throughPipe(lines: readonly string[]): Promise<void> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let answers = 0;
  output.on("data", (bytes: Buffer) => {
    for (const byte of bytes) if (byte === 10) answers += 1;
  });
  const done = gateway.stdio(input, output);
  input.write(`${JSON.stringify(INITIALIZE)}\n${INITIALIZED}\n`);
  for (let at = 0; at < lines.length; at += 500) {
    const some = lines.slice(at, at + 500);
    input.write(`${some.join("\n")}\n`);
    await until("the answers", () => answers >= 1 + at + some.length);
  }
  input.end();
  await done;
}

test(`Go, Python and Node read no forwarded request as one that a rule denies, for ${RUNS} requests`, {
  timeout: 1_800_000,
}, async () => {
  const session = await post(JSON.stringify(INITIALIZE), {});
  if (session === undefined) throw new Error("there is no session");
  const legacy = { "mcp-session-id": session, "mcp-protocol-version": "2025-06-18" };
  await post(INITIALIZED, legacy);
  const seed = Number(process.env.CARDEA_SEED ?? 20_261_122);
  const piped: string[] = [];
  for (let id = 1; id <= RUNS; ) {
    const numRuns = Math.min(1_000, RUNS - id + 1);
    const work = fc.sample(jsonRequests, { numRuns, seed: seed + id }).values();
    const worker = async (): Promise<void> => {
      for (const each of work) {
        const text = textOf(each, id);
        id += 1;
        sent.push(text);
        if (id % ON_PIPE === 0) piped.push(text);
        else await post(text, each.kind === "legacy" ? legacy : headersOf(each, text));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
  await throughPipe(piped);

  const go = isThere("go", "version", "apt-get install golang-go") ? goReader() : undefined;
  const python = isThere("python3", "--version", "apt-get install python3") ? [pythonReader] : [];
  const readers: readonly Reader[] = [nodeReader, ...python, ...(go === undefined ? [] : [go])];
  const told: Record<string, object> = {};
  for (const reader of readers) {
    const forbidden = (bodies: readonly string[]): readonly string[] =>
      reader
        .read(bodies)
        .flatMap(({ readings, doubled }, at) =>
          doubled || readings.some(isForbidden) ? [bodies[at] ?? ""] : [],
        );
    const hostile = forbidden(sent).length;
    told[reader.name] = { sent: sent.length, forbidden: hostile, arrived: arrived.length };
    expect({ seed, reader: reader.name, forbidden: forbidden(arrived).slice(0, 3) }).toEqual({
      seed,
      reader: reader.name,
      forbidden: [],
    });
    // Requests without a rule, or that all parsers read alike, would prove nothing.
    expect(hostile).toBeGreaterThan(RUNS / 5);
  }
  go?.remove();
  if (process.env.CARDEA_RUNS !== undefined) console.info(JSON.stringify(told));
  expect(sent).toHaveLength(RUNS);
  expect(arrived.length).toBeGreaterThan(RUNS / 20);
});
