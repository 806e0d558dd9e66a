/** Attacks on other users of a gateway, against the whole gateway over real sockets. */
import { createHash } from "node:crypto";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Gateway } from "../../../src/gateway/gateway.js";
import { type JsonObject, objectAt, stringAt } from "../../../src/wire/json.js";
import { gatewayOf } from "../../support/gateway.js";
import {
  type Received,
  type RecordingServer,
  recordingServer,
} from "../../support/servers/recording-server.js";

const KEYS = { ann: `crd_${"a".repeat(43)}`, bob: `crd_${"b".repeat(43)}` };
type Person = keyof typeof KEYS;

let gateway: Gateway;
let url: string;
const servers: RecordingServer[] = [];
const received: Received[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

const CANARY = "AKIAIOSFODNN7EXAMPLE";

beforeAll(async () => {
  const offered = { tools: ["read", "write", "private", "ask"], resources: ["memo:1"] };
  for (const name of ["a", "b"]) {
    servers.push(await recordingServer(name, "modern", offered, (it) => void received.push(it), answer));
  }
  const hash = (key: string): string => `sha256:${createHash("sha256").update(key).digest("hex")}`;
  const config = {
    auth: { keys: Object.entries(KEYS).map(([id, key]) => ({ id, hash: hash(key) })) },
    mcpServers: Object.fromEntries(
      servers.map((server, at) => ["ab"[at], { type: "http", url: server.url }]),
    ),
    policy: {
      rules: [
        { name: "ann-alone", principals: ["bob"], tools: ["a__private"], effect: "hide" },
        {
          name: "no-keys",
          servers: ["b"],
          when: "text(args).matches('AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|-----BEGIN [A-Z ]*PRIVATE KEY-----')",
          effect: "deny",
          message: "keys do not go to this server",
        },
      ],
    },
  };
  gateway = await gatewayOf(config);
  ({ url } = await gateway.start());
  await gateway.lists("tools");
});

afterAll(async () => {
  agent.destroy();
  await gateway.stop({ immediate: true });
  await Promise.all(servers.map((server) => server.close()));
});

/** `read` returns the canary; `ask` never stops asking; `memo:1` may be cached, whatever the caller. */
function answer({ method, params }: Received): JsonObject | undefined {
  if (method === "resources/read") return { contents: [], ttlMs: 60_000, cacheScope: "private" };
  const name = stringAt(params, "name");
  if (name === "read") return { content: [{ type: "text", text: `the key is ${CANARY}` }] };
  if (name !== "ask") return undefined;
  const form = { mode: "form", message: "again?", requestedSchema: { type: "object", properties: {} } };
  const asked = { method: "elicitation/create", params: form };
  return { resultType: "input_required", inputRequests: { q: asked }, requestState: "s" };
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

function post(message: object, headers: Readonly<Record<string, string>>): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const accept = "application/json, text/event-stream";
    const sent = request(url, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", accept, ...headers },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8");
        const body = text.startsWith("{") ? (JSON.parse(text) as JsonObject) : {};
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    sent.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
  });
}

const as = (person: Person) => ({ authorization: `Bearer ${KEYS[person]}` });

let ids = 0;
/** One request of 2026-07-28. */
function ask(
  person: Person,
  method: string,
  params: JsonObject = {},
  more: Readonly<Record<string, string>> = {},
) {
  ids += 1;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
  };
  const target = stringAt(params, "name") ?? stringAt(params, "uri");
  return post(
    { id: ids, method, params: { ...params, _meta } },
    {
      ...as(person),
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(target !== undefined && { "mcp-name": target }),
      ...more,
    },
  );
}

async function openSession(
  person: Person,
  capabilities: JsonObject = {},
): Promise<Readonly<Record<string, string>>> {
  const params = { protocolVersion: "2025-06-18", capabilities, clientInfo: { name: "t", version: "1" } };
  const { headers } = await post({ id: 0, method: "initialize", params }, as(person));
  const session = { "mcp-session-id": String(headers["mcp-session-id"]) };
  await post({ method: "notifications/initialized" }, { ...as(person), ...session });
  return session;
}

const resultOf = ({ body }: Answered): JsonObject => objectAt(body, "result") ?? {};
const refusalOf = (answered: Answered): unknown =>
  objectAt(objectAt(resultOf(answered), "_meta"), "cardea/refusal")?.code ??
  objectAt(objectAt(objectAt(answered.body, "error"), "data"), "cardea")?.code;

describe("attack 6: what one server returned is sent to no other", () => {
  test("a canary of server a never reaches server b, however it is wrapped", async () => {
    const given = JSON.stringify(
      resultOf(await ask("ann", "tools/call", { name: "a__read", arguments: {} })),
    );
    expect(given).toContain(CANARY);
    const before = received.length;
    for (const args of [{ text: CANARY }, { a: [{ b: `key=${CANARY}!` }] }, { [CANARY]: 1 }]) {
      expect(refusalOf(await ask("ann", "tools/call", { name: "b__write", arguments: args }))).toBe("denied");
    }
    expect(received.slice(before).filter(({ body }) => body.includes(CANARY))).toEqual([]);
  });

  test.each([
    ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "denied"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE", "denied"],
    ["AKIA is a prefix", undefined],
    ["ghp_short", undefined],
    ["-----BEGIN PUBLIC KEY-----", undefined],
    ["0123456789abcdef0123456789abcdef01234567", undefined],
  ])("%j: %s", async (text, expected) => {
    expect(refusalOf(await ask("ann", "tools/call", { name: "b__write", arguments: { text } }))).toBe(
      expected,
    );
  });
});

describe("attack 8: what a host brings for the gateway goes no further", () => {
  const FOREIGN = {
    cookie: "session=s3cret",
    "x-forwarded-for": "10.0.0.1",
    "x-forwarded-host": "evil.example",
    forwarded: "for=10.0.0.1",
    "proxy-authorization": "Basic s3cret",
    "x-real-ip": "10.0.0.1",
    via: "1.1 s3cret",
  };

  test.each(["modern", "legacy"])("no header of a %s host reaches a server", async (era) => {
    const before = received.length;
    const params = { name: "a__write", arguments: {} };
    if (era === "modern") await ask("ann", "tools/call", params, { ...FOREIGN });
    else {
      const session = await openSession("ann");
      await post({ id: 9, method: "tools/call", params }, { ...as("ann"), ...session, ...FOREIGN });
    }
    const calls = received.slice(before);
    expect(calls).toHaveLength(1);
    for (const { headers, body } of calls) {
      for (const name of ["authorization", "x-api-key", ...Object.keys(FOREIGN)])
        expect(headers[name]).toBeUndefined();
      expect(JSON.stringify(headers) + body).not.toMatch(/s3cret|crd_|10\.0\.0\.1|evil/);
    }
  });
});

describe("attack 10: no session, cursor or state of another principal is accepted", () => {
  test("a session of another is not there, and its owner is not disturbed", async () => {
    const session = await openSession("ann");
    const call = { id: 1, method: "tools/call", params: { name: "a__write", arguments: {} } };
    const before = received.length;
    expect((await post(call, { ...as("bob"), ...session })).status).toBe(404);
    expect((await post(call, session)).status).toBe(401);
    expect(received.length).toBe(before);
    expect((await post(call, { ...as("ann"), ...session })).status).toBe(200);
  });

  test("a session that was made up is not there, and is not made", async () => {
    for (const id of ["1", "x".repeat(64), "../etc"]) {
      const made = { ...as("ann"), "mcp-session-id": id };
      expect((await post({ id: 1, method: "tools/list" }, made)).status).toBe(404);
    }
  });

  test("the state of another's question opens nothing", async () => {
    const params = { name: "a__ask", arguments: {} };
    const { requestState } = resultOf(await ask("ann", "tools/call", params));
    const answers = { requestState, inputResponses: { q: { action: "accept", content: {} } } };
    const before = received.length;
    expect(refusalOf(await ask("bob", "tools/call", { ...params, ...answers }))).toBe("state_rejected");
    expect(received.length).toBe(before);
    expect(resultOf(await ask("ann", "tools/call", { ...params, ...answers })).resultType).toBe(
      "input_required",
    );
  });
});

describe("attack 24: no principal is shown the cached list of another", () => {
  test("lists that differ by principal stay apart under concurrent requests, and are private", async () => {
    const asked = Array.from({ length: 128 }, async (_, at) => {
      const person: Person = at % 2 === 0 ? "ann" : "bob";
      const { tools, cacheScope } = resultOf(await ask(person, "tools/list")) as {
        tools: JsonObject[];
        cacheScope: string;
      };
      const sees = tools.some(({ name }) => name === "a__private");
      expect([sees, cacheScope]).toEqual([person === "ann", "private"]);
    });
    await Promise.all(asked);
    expect(refusalOf(await ask("bob", "tools/call", { name: "a__private", arguments: {} }))).toBe(
      "unknown_target",
    );
    expect(refusalOf(await ask("ann", "tools/call", { name: "a__private", arguments: {} }))).toBeUndefined();
  });

  test("the result for one is requested again for the other", async () => {
    const reads = () => received.filter(({ method }) => method === "resources/read").length;
    const read = (person: Person) => ask(person, "resources/read", { uri: "a+memo:1" });
    await Promise.all([read("ann"), read("bob")]);
    const before = reads();
    expect(before).toBe(2);
    await Promise.all([read("ann"), read("bob"), read("ann")]);
    expect(reads()).toBe(before);
  });
});

describe("attack 25: a server that never stops asking", () => {
  test("has its state sealed, and cannot forge one", async () => {
    const { requestState } = resultOf(await ask("ann", "tools/call", { name: "a__ask", arguments: {} }));
    expect(requestState).toMatch(/^cardea4\./);
    expect(requestState).not.toContain("s3cret");
  });

  test("gets an end from a host that answers and answers", async () => {
    const session = await openSession("ann", { elicitation: {} });
    const headers = { ...as("ann"), ...session };
    const before = received.length;
    const stream = await listenAndAnswer(headers, {
      id: 5,
      method: "tools/call",
      params: { name: "a__ask", arguments: {} },
    });
    expect(stream.asked).toBeLessThanOrEqual(8);
    expect(stream.asked).toBeGreaterThan(1);
    expect(JSON.stringify(stream.end)).toContain("asked for more input");
    expect(received.length - before).toBeLessThanOrEqual(10);
  });
});

/** Answers every question on the stream of a call, until the call has its end. */
function listenAndAnswer(
  headers: Readonly<Record<string, string>>,
  message: object,
): Promise<{ readonly asked: number; readonly end: JsonObject }> {
  return new Promise((resolve, reject) => {
    let asked = 0;
    let text = "";
    const accept = "application/json, text/event-stream";
    const sent = request(url, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", accept, ...headers },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
          const data = /^data: (\{.*)$/m.exec(text.slice(0, end))?.[1];
          text = text.slice(end + 2);
          if (data === undefined) continue;
          const heard = JSON.parse(data) as JsonObject;
          if (heard.method === "elicitation/create") {
            asked += 1;
            void post({ id: heard.id, result: { action: "accept", content: {} } }, headers);
          } else if (heard.id === 5) resolve({ asked, end: heard });
        }
      });
    });
    sent.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
  });
}
