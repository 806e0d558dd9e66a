/**
 * Attack 23: no call bypasses a rule by another notation. The whole gateway, over real sockets: rules have evaluated
 * exactly the server, target and bytes that a server receives.
 *
 * `CARDEA_RUNS=100000 npx vitest run test/features/policy/differential` sends that number; by default it is 1,000.
 */
import { Agent, request } from "node:http";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { RuleSet } from "../../../../src/features/policy/rules/rule-set.js";
import type { Gateway } from "../../../../src/gateway/gateway.js";
import { type JsonObject, objectAt, stringAt } from "../../../../src/wire/json.js";
import { decodeHeaderValue } from "../../../../src/wire/mirrored-headers.js";
import fc from "../../../support/fast-check.js";
import { ofServers } from "../../../support/features.js";
import { gatewayOf } from "../../../support/gateway.js";
import { TAKES_ALL } from "../../../support/sample.js";
import {
  type Received,
  type RecordingServer,
  recordingServer,
} from "../../../support/servers/recording-server.js";
import { type GeneratedRequest, type Known, requests, textOf } from "./requests.js";

const RUNS = Number(process.env.CARDEA_RUNS ?? (TAKES_ALL ? 2_000 : 1_000));
const AT_ONCE = 16;

const tool = (server: string, name: string, properties: object = {}) => ({
  name,
  description: `${server}/${name}`,
  inputSchema: { type: "object", properties },
});
const env = { env: { type: "string", "x-mcp-header": "Env" } };

/** Names that meet once prefixes stand before them, or that look alike. */
const SERVERS = {
  a: {
    era: "modern",
    tools: [tool("a", "b__c"), tool("a", "b"), tool("a", "B"), tool("a", "drop", env), tool("a", "naïve")],
  },
  a__b: { era: "legacy", tools: [tool("a__b", "c"), tool("a__b", "drop"), tool("a__b", "hidden")] },
  x: {
    era: "modern",
    tools: [
      tool("x", "ok", env),
      tool("x", "drop"),
      tool("x", "Drop"),
      tool("x", "ｄrop"),
      tool("x", "run", env),
      tool("x", "__proto__"),
    ],
  },
  bare: {
    era: "legacy",
    tools: [tool("bare", "a__drop"), tool("bare", "tool"), tool("bare", "constructor")],
  },
} as const;

const CONFIG = {
  rules: [
    { name: "hidden", tools: ["*hidden*"], effect: "hide" },
    { name: "no-prod", when: "args.env == 'prod'", effect: "deny" },
    { name: "no-bc", tools: ["a__b__c"], effect: "deny" },
    { name: "no-drop", tools: ["x__drop", "*__a__drop"], effect: "deny" },
    { name: "no-etc", resources: ["*/etc/*"], effect: "deny" },
    { name: "no-secrets", prompts: ["*secret*"], effect: "deny" },
  ],
};

let gateway: Gateway;
let endpoint: URL;
const servers: RecordingServer[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

/** Evaluated and allowed calls that were not received yet, with their number. */
const judged = new Map<string, number>();
const faults: string[] = [];
let received = 0;
let refused = 0;
/** The server and own name of the tool that has the exposed name. */
let ownerOf: ReadonlyMap<string, string>;

beforeAll(async () => {
  const judge = RuleSet.prototype.evaluate;
  vi.spyOn(RuleSet.prototype, "evaluate").mockImplementation(function (this: RuleSet, matter) {
    const decision = judge.call(this, matter);
    if (decision.effect === "allow") {
      const key = keyOf(matter.route.upstream, matter.route.target, matter.args);
      judged.set(key, (judged.get(key) ?? 0) + 1);
    } else refused += 1;
    return decision;
  });
  const entries: Record<string, object> = {};
  for (const [name, { era, tools }] of Object.entries(SERVERS)) {
    const offered = {
      tools,
      prompts: ["hello", "secret", "Secret", "b__secret"],
      resources: ["file:///srv/data/x", "file:///etc/passwd", "memo:1"],
      templates: ["file:///srv/data/{name}", "file:///etc/{name}"],
      ...(name === "x" && { capabilities: { experimental: { ext: {} } } }),
    };
    const server = await recordingServer(name, era, offered, hear);
    servers.push(server);
    entries[name] = { type: "http", url: server.url, ...(name === "bare" && { prefix: "" }) };
  }
  const given = { arguments: { fixed: { env: "test" }, defaults: { n: 1 } } };
  entries.x = { ...entries.x, overrides: { run: { name: "go", ...given } } };
  gateway = await gatewayOf({ mcpServers: entries, policy: CONFIG });
  endpoint = new URL((await gateway.start()).url);
});

afterAll(async () => {
  vi.restoreAllMocks();
  agent.destroy();
  await gateway.stop({ immediate: true });
  await Promise.all(servers.map((server) => server.close()));
});

const keyOf = (server: string, target: string, args: unknown): string =>
  `${server}\0${target}\0${JSON.stringify(args ?? {})}`;

/** What a server makes of what it gets. Whatever is wrong is kept for the end: a server cannot fail a test. */
function hear({ server, body, headers, method, params }: Received): void {
  received += 1;
  // What a host follows is kept together for all of them, and asked for again when it changes.
  const followed =
    method.startsWith("resources/") && method.endsWith("subscribe") ? [targetOf(params) ?? ""] : [];
  const listened = objectAt(params, "notifications")?.resourceSubscriptions;
  const uris = [...followed, ...(Array.isArray(listened) ? listened.map(String) : [])];
  if (uris.flatMap(spellings).some((uri) => uri.includes("/etc/"))) fault("follows what is in /etc/", body);
  if (followed.length > 0 || method === "subscriptions/listen") return;
  const target = targetOf(params);
  const args = objectAt(params, "arguments");
  const key = keyOf(server, target ?? "", args);
  const times = judged.get(key) ?? 0;
  if (times > 0) judged.set(key, times - 1);
  // An unknown method that names nothing has nothing to evaluate.
  else if (!method.startsWith("ext/") || (target !== undefined && ownerOf.has(target)))
    fault("was not judged", body);
  if (args !== undefined && !body.includes(`"arguments":${JSON.stringify(args)}`))
    fault("has other bytes", body);
  if (args?.env === "prod") fault("is for prod", body);
  if (server === "x" && target === "run" && args?.env !== "test") fault("lacks what is fixed", body);
  const forbidden = ["a__b__c", "x__drop"].map((name) => ownerOf.get(name));
  if (method === "tools/call" && forbidden.includes(`${server}/${target}`)) fault("is forbidden", body);
  if (method === "tools/call" && target === "hidden") fault("is hidden", body);
  if (method === "prompts/get" && target?.includes("secret")) fault("is secret", body);
  if (method.startsWith("resources/") && spellings(target ?? "").some((uri) => uri.includes("/etc/")))
    fault("is in /etc/", body);
  checkHeaders({ server, headers, method, params, body });
}

function checkHeaders({ server, headers, method, params, body }: Received): void {
  if (headers["mcp-protocol-version"] !== "2026-07-28") return;
  if (headers["mcp-method"] !== method) fault("says another method in its header", body);
  const name = headers["mcp-name"];
  if (typeof name === "string" && decodeHeaderValue(name) !== targetOf(params))
    fault("says another name in its header", body);
  const param = headers["mcp-param-env"];
  // A header that no schema explains is carried on as it came; one that a schema does must say what the body says.
  const explained = method === "tools/call" && EXPLAINED[server]?.includes(stringAt(params, "name") ?? "");
  if (typeof param !== "string" || explained !== true) return;
  const said = objectAt(params, "arguments")?.env;
  if (decodeHeaderValue(param) !== String(said)) fault(`says ${param} in its header`, body);
}

/** The tools whose schema names a header for the argument. */
const EXPLAINED: Readonly<Record<string, readonly string[]>> = { a: ["drop"], x: ["ok", "run"] };

const fault = (what: string, body: string): void => void faults.push(`a request ${what}: ${body}`);

function targetOf(params: JsonObject): string | undefined {
  const ref = objectAt(params, "ref");
  return stringAt(params, "uri") ?? stringAt(ref, "uri") ?? stringAt(ref, "name") ?? stringAt(params, "name");
}

function spellings(uri: string): readonly string[] {
  const resolved = URL.canParse(uri) ? new URL(uri).href : uri;
  const decoded = (text: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const opened = decoded(uri);
  return [uri, resolved, decoded(resolved), URL.canParse(opened) ? new URL(opened).href : opened];
}

function post(
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly session: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      endpoint,
      {
        method: "POST",
        agent,
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
      },
      (response) => {
        const session = response.headers["mcp-session-id"];
        response.resume();
        response.on("end", () => resolve({ session: typeof session === "string" ? session : undefined }));
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

/** A session of a revision, with the headers that every request in it needs. */
async function openSession(protocolVersion: string): Promise<Readonly<Record<string, string>>> {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const { session } = await post(JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }), {});
  if (session === undefined) throw new Error("there is no session");
  const headers = { "mcp-session-id": session, "mcp-protocol-version": protocolVersion };
  await post('{"jsonrpc":"2.0","method":"notifications/initialized"}', headers);
  return headers;
}

test(`the policy evaluates exactly what a server receives, for ${RUNS} requests`, {
  timeout: 600_000,
}, async () => {
  const [tools, resources] = await Promise.all([gateway.lists("tools"), gateway.lists("resources")]);
  const nameOf = (item: JsonObject): string => String(item.name);
  ownerOf = new Map(tools.map(({ item }) => [nameOf(item), String(item.description)]));
  // All but the one that is hidden.
  expect(ownerOf.size).toBe(Object.values(SERVERS).flatMap((it) => it.tools).length - 1);
  expect([...ownerOf.keys()].filter((name) => name.startsWith("a__b__c"))).toHaveLength(2);
  const own = Object.values(SERVERS).flatMap((it) => it.tools.map(({ name }) => name));
  const prompts = [
    "a__hello",
    "a__secret",
    "a__b__secret",
    "x__Secret",
    "secret",
    "hello",
    "a__b__b__secret",
  ];
  const known: Known = {
    names: [...new Set([...ownerOf.keys(), ...own, ...prompts])],
    uris: [
      ...ofServers(resources.map(({ item }) => item)).map(({ uri }) => String(uri)),
      "a+file:///srv/data/y",
      "x+file:///etc/shadow",
      "memo:2",
    ],
  };
  const [legacy, batch] = await Promise.all([openSession("2025-06-18"), openSession("2025-03-26")]);
  const sessions = { modern: {}, legacy, batch };

  const seed = Number(process.env.CARDEA_SEED ?? 20_261_120);
  let id = 0;
  for (let done = 0; done < RUNS; done += 1_000) {
    const chunk: GeneratedRequest[] = fc.sample(requests(known), {
      numRuns: Math.min(1_000, RUNS - done),
      seed: seed + done,
    });
    const work = chunk.values();
    const worker = async (): Promise<void> => {
      for (const each of work) {
        id += 10;
        await post(textOf(each, id), { ...sessions[each.kind], ...each.headers });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect({ seed: seed + done, faults: faults.slice(0, 3) }).toEqual({ seed: seed + done, faults: [] });
  }
  // Requests that no server accepts would prove nothing.
  expect(received).toBeGreaterThan(RUNS / 10);
  expect(refused).toBeGreaterThan(RUNS / 50);
});
