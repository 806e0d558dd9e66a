/**
 * No rule about resources is bypassed by another spelling of a URI. The whole gateway, over real sockets, in both eras:
 * URIs that reach a server are parsed like servers parse them, by Node, Python and Go, and none of the results is
 * forbidden by a rule. `npm run differential` sends 100,000; `npm test` 1,000.
 */
import { Agent, request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Gateway } from "../../../../src/gateway/gateway.js";
import { type JsonObject, objectAt, stringAt } from "../../../../src/wire/json.js";
import fc from "../../../support/fast-check.js";
import { gatewayOf } from "../../../support/gateway.js";
import { TAKES_ALL } from "../../../support/sample.js";
import {
  type Received,
  type RecordingServer,
  recordingServer,
} from "../../../support/servers/recording-server.js";
import { PATHS, type UriRequest, uriRequests } from "../../../support/uri-requests.js";
import { type Opened, READERS } from "./readers/readers.js";

const RUNS = Number(process.env.CARDEA_RUNS ?? (TAKES_ALL ? 3_000 : 1_000));
const AT_ONCE = 16;

const under = (folder: string, path: string): boolean => path.startsWith(`${folder}/`);
const inSecret = ({ paths }: Opened): boolean => paths.some((path) => under("/secret", path));
const outsidePub = ({ paths }: Opened): boolean =>
  paths.some((path) => path !== "/pub" && !under("/pub", path));

/** Each server, and what its rules, filters or profile must keep its readers from. */
const SERVERS: Readonly<
  Record<
    string,
    {
      readonly era: "legacy" | "modern";
      readonly config?: object;
      readonly forbidden: (opened: Opened) => boolean;
    }
  >
> = {
  files: { era: "legacy", forbidden: inSecret },
  pub: { era: "modern", forbidden: outsidePub },
  when: { era: "modern", forbidden: inSecret },
  whenpub: { era: "legacy", forbidden: outsidePub },
  filtered: {
    era: "modern",
    config: { resources: { allow: ["file:///pub/*"], deny: ["file:///pub/secret/*"] } },
    forbidden: (opened) => outsidePub(opened) || opened.paths.some((path) => under("/pub/secret", path)),
  },
  plain: { era: "legacy", forbidden: inSecret },
  bare: { era: "modern", config: { prefix: "" }, forbidden: inSecret },
  web: {
    era: "modern",
    forbidden: ({ addresses }) =>
      addresses.some(
        ([host, path]) =>
          ["evil.test", "127.0.0.1"].includes(host) || (host === "good.test" && under("/secret", path)),
      ),
  },
};

const RULES = [
  { resources: ["files+file:///secret/*"], effect: "deny" },
  { resources: ["pub+file:///pub/*"], effect: "allow" },
  { servers: ["pub"], effect: "deny" },
  { servers: ["when"], when: "target.startsWith('when+file:///secret/')", effect: "deny" },
  { servers: ["whenpub"], when: "target.startsWith('whenpub+file:///pub/')", effect: "allow" },
  { servers: ["whenpub"], effect: "deny" },
  { servers: ["bare"], resources: ["file:///secret/*"], effect: "deny" },
  {
    servers: ["web"],
    resources: ["http{,s}://{evil.test,127.0.0.1}/*", "http{,s}://good.test/secret/*"],
    effect: "deny",
  },
];

/** Where each request goes in, and what stands before the server's own URI there. */
const DOORS: Readonly<Record<string, { readonly path: string; readonly prefix: string }>> = {
  files: { path: "/mcp", prefix: "files+" },
  own: { path: "/mcp/files", prefix: "" },
  pub: { path: "/mcp", prefix: "pub+" },
  when: { path: "/mcp", prefix: "when+" },
  whenpub: { path: "/mcp", prefix: "whenpub+" },
  filtered: { path: "/mcp", prefix: "filtered+" },
  part: { path: "/mcp/part", prefix: "plain+" },
  bare: { path: "/mcp", prefix: "" },
  web: { path: "/mcp/web", prefix: "" },
};

let gateway: Gateway;
let endpoint: URL;
const servers: RecordingServer[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
/** By server, every URI that reached it, in whatever method. */
const reached = new Map<string, Set<string>>(Object.keys(SERVERS).map((name) => [name, new Set()]));
let calls = 0;

function hear({ server, params }: Received): void {
  const listened = objectAt(params, "notifications")?.resourceSubscriptions;
  const uris = [
    stringAt(params, "uri"),
    stringAt(objectAt(params, "ref"), "uri"),
    ...(Array.isArray(listened) ? listened.map(String) : []),
  ].filter((uri) => uri !== undefined);
  calls += uris.length;
  for (const uri of uris) reached.get(server)?.add(uri);
}

beforeAll(async () => {
  const entries: Record<string, object> = {};
  for (const [name, { era, config }] of Object.entries(SERVERS)) {
    const skills = { "io.modelcontextprotocol/skills": { directoryRead: true } };
    const offered = {
      templates: ["file:///{+path}"],
      capabilities: { experimental: { ext: {} }, extensions: skills },
    };
    const server = await recordingServer(name, era, offered, hear);
    servers.push(server);
    entries[name] = { type: "http", url: server.url, ...config };
  }
  gateway = await gatewayOf({
    mcpServers: entries,
    profiles: { part: { servers: ["plain"], resources: { deny: ["plain+file:///secret/*"] } } },
    policy: { rules: RULES },
  });
  endpoint = new URL((await gateway.start()).url);
  await gateway.lists("resources");
});

afterAll(async () => {
  agent.destroy();
  await gateway.stop({ immediate: true });
  await Promise.all(servers.map((server) => server.close()));
});

function post(
  path: string,
  message: JsonObject,
  headers: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const options = {
      ...{ method: "POST", agent },
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
    };
    const sent = request(new URL(path, endpoint), options, (response) => {
      const session = response.headers["mcp-session-id"];
      response.resume();
      response.on("end", () => resolve(typeof session === "string" ? session : undefined));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
  });
}

/** The limit of subscriptions in one legacy session. */
const CALLS_A_SESSION = 500;
const sessions = new Map<string, { readonly opened: Promise<string>; left: number }>();

function sessionAt(path: string): Promise<string> {
  const known = sessions.get(path);
  if (known !== undefined && known.left > 0) {
    known.left -= 1;
    return known.opened;
  }
  const open = async (): Promise<string> => {
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    };
    const session = await post(path, { id: 0, method: "initialize", params }, {});
    if (session === undefined) throw new Error("there is no session");
    await post(path, { method: "notifications/initialized" }, { "mcp-session-id": session });
    return session;
  };
  const opened = open();
  sessions.set(path, { opened, left: CALLS_A_SESSION });
  return opened;
}

const base64 = (text: string): string => `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;

async function send({ to, method, uri: own }: UriRequest, id: number): Promise<void> {
  const { path, prefix } = DOORS[to] ?? { path: "/mcp", prefix: "" };
  const uri = prefix + own;
  const params: JsonObject =
    method === "completion/complete"
      ? { ref: { type: "ref/resource", uri }, argument: { name: "path", value: "" } }
      : { uri };
  // Only legacy hosts follow one by one; every other request comes from a host of the other era.
  if (method === "resources/subscribe" || id % 2 === 0) {
    const headers = { "mcp-session-id": await sessionAt(path), "mcp-protocol-version": "2025-06-18" };
    await post(path, { id, method, params }, headers);
    if (method === "resources/subscribe") {
      await post(path, { id, method: "resources/unsubscribe", params }, headers);
    }
    return;
  }
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(params.uri !== undefined && { "mcp-name": base64(uri) }),
  };
  await post(path, { id, method, params: { ...params, _meta } }, headers);
}

const doors = Object.keys(DOORS).filter((door) => door !== "web");

/** What all tests look at: requests that write their URIs oddly, and plain ones. */
beforeAll(async () => {
  const seed = Number(process.env.CARDEA_SEED ?? 20_261_120);
  let id = 0;
  for (let done = 0; done < RUNS; done += 1_000) {
    const chunk = fc.sample(uriRequests(doors, "web"), {
      numRuns: Math.min(1_000, RUNS - done),
      seed: seed + done,
    });
    const work = chunk.values();
    const worker = async (): Promise<void> => {
      for (const each of work) {
        id += 1;
        await send(each, id);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
  for (const to of doors) {
    for (const path of PATHS) {
      await send({ to, method: "resources/read", uri: `file://${path}` }, 1);
    }
  }
}, 3_600_000);

test(`of ${RUNS} requests with unusual URI spellings some reach their servers, and so do all plain ones`, () => {
  // Requests that reach no server would prove nothing.
  expect(calls).toBeGreaterThan(RUNS / 10);
  for (const [name, uris] of reached) {
    if (name !== "web")
      expect([name, [...uris]]).toEqual([name, expect.arrayContaining(["file:///pub/a.md"])]);
  }
});

test.each(READERS.map((reader) => reader()))(
  "no forwarded URI is read by $name as one that a rule denies",
  {
    timeout: 600_000,
  },
  async ({ name, read }) => {
    if (read === undefined) {
      console.warn(`SKIPPED: ${name} is not installed, so nobody reads URIs as its servers do`);
      return;
    }
    let opens = 0;
    const faults: string[] = [];
    const all = [...reached.values()].flatMap((uris) => [...uris]);
    const openedByAll = [...(await read(all))];
    for (const [server, found] of reached) {
      const uris = [...found];
      const opened = openedByAll.splice(0, uris.length);
      const isForbidden = (_: string, at: number) =>
        SERVERS[server]?.forbidden(opened[at] as Opened) === true;
      faults.push(...uris.filter(isForbidden).map((uri) => `${server}: ${uri}`));
      opens += opened.filter(({ paths, addresses }) => paths.length + addresses.length > 0).length;
    }
    expect(faults).toEqual([]);
    console.info(`${name} opened ${opens} of the ${all.length} URIs`);
    expect(opens).toBeGreaterThan(RUNS / 50);
  },
);
