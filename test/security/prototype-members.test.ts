/** Members that set a prototype where JavaScript copies them are refused in messages of hosts and of servers. */
import "../features/admin/needed.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Gateway } from "../../src/gateway/gateway.js";
import { HOSTS, openHost } from "../scenarios/host.js";
import { openStage, type Stage } from "../scenarios/stage.js";
import { inRepository } from "../support/cardea.js";
import { gatewayOf, listening } from "../support/gateway.js";
import type { Wire } from "../support/host/host.mjs";
import { httpWire } from "../support/host/wires.mjs";
import type { Json } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { sample } from "../support/sample.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { answer, type ScriptedServer, scriptedServer } from "../support/servers/scripted-http.js";
import { until } from "../support/until.js";
import { SETTERS } from "./prototype-setters.js";

/** JSON texts of objects without one. */
const PLAIN: readonly string[] = [
  '{"constructor":"x","prototype":{}}',
  '{"constructor":{"name":"Array"},"prototype":{"constructor":1}}',
  '{"constructor":[{"prototype":{}}]}',
  '{"constructor":{"a":{"prototype":{}}}}',
  '{"constructor":"a","b":{"prototype":{}}}',
  '{"text":"__proto__","more":"{\\"__proto__\\":{\\"env\\":1}}"}',
  '{"_proto_":1,"__proto":2,"__PROTO__":3,"__proto__ ":4,"\\\\u005f_proto__":5}',
  '{"code":"constructor.prototype = \\"__proto__\\": {}","hasOwnProperty":1,"toString":{}}',
  '["__proto__",{"a":"constructor"},{"prototype":["\\u005f_proto__"]}]',
];

const TOOLS = `{"tools":[{"name":"first","inputSchema":{"type":"object"}},{"name":"evil","inputSchema":{"type":"object","properties":{"__proto__":{"type":"string"}}}},{"name":"annotated","inputSchema":{"type":"object"},"_meta":{"x":{"constructor":{"prototype":{}}}}},{"name":"last","inputSchema":{"type":"object","properties":{"constructor":{"type":"string"},"prototype":{"type":"object"}}}}]}`;

const ADMIN_TOKEN = "admin-token-of-this-test";

/** Answers as `raw-results.mjs` does, over HTTP. */
const rawServer = (era: "legacy" | "modern", asStream: boolean): Promise<ScriptedServer> =>
  scriptedServer((asked, response) => {
    if (asked.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(asked.body) as { id?: unknown; method: string; params?: Json };
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "subscriptions/listen") return void response.writeHead(405).end();
    const write = (text: string): void => {
      if (!asStream || method !== "tools/call") {
        response.writeHead(200, { "content-type": "application/json" }).end(text);
      } else response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${text}\n\n`);
    };
    const { text, before } = (params?.arguments ?? {}) as { text?: string; before?: string };
    const filled = (raw: string): string => raw.replaceAll("$ID", JSON.stringify(id));
    if (method === "tools/list") write(filled(`{"jsonrpc":"2.0","id":$ID,"result":${TOOLS}}`));
    else if (text !== undefined) {
      const events = [before, text].flatMap((one) => (one === undefined ? [] : [`data: ${filled(one)}\n\n`]));
      if (before === undefined) write(filled(text));
      else response.writeHead(200, { "content-type": "text/event-stream" }).end(events.join(""));
    } else {
      answer(asked, response, {
        ...(era === "legacy"
          ? { protocolVersion: "2025-11-25", capabilities: { tools: {} } }
          : { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }),
        serverInfo: { name: "raw", version: "1" },
        content: [{ type: "text", text: JSON.stringify(params?.arguments ?? {}) }],
      });
    }
  });

describe("a host", () => {
  let server: ScriptedServer;
  let gateway: Gateway;
  let url = "";
  let admin = "";
  beforeAll(async () => {
    server = await rawServer("modern", false);
    gateway = await gatewayOf({
      listen: { http: { port: 0 }, admin: { port: 0, token: ADMIN_TOKEN } },
      mcpServers: { s: { url: server.url, protocol: "modern" } },
    });
    ({ url, adminUrl: admin } = await listening(gateway));
    await gateway.lists("tools");
  });
  afterAll(async () => {
    await gateway.stop({ immediate: true });
    await server.close();
  });

  const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`;
  const callWith = (args: string, more = ""): string =>
    `{"jsonrpc":"2.0","id":"it","method":"tools/call","params":{"name":"s__first","arguments":${args}${more},${META}}}`;
  const post = async (body: string) => {
    const headers = {
      ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
      ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "s__first" },
    };
    return (await (await fetch(url, { method: "POST", headers, body })).json()) as Json;
  };

  test.each(sample("setters in arguments", SETTERS, 5))(
    "may not send %s in arguments, at any depth and in any spelling",
    async (args, path) => {
      const before = server.asked.length;
      for (const body of [callWith(args), callWith(`{"in":{"side":[${args}]}}`)]) {
        const side = body.includes('"side"') ? "in.side.0." : "";
        expect(await post(body)).toMatchObject({
          id: "it",
          error: { code: -32_602, message: expect.stringContaining(`"params.arguments.${side}${path}"`) },
        });
      }
      expect(server.asked).toHaveLength(before);
    },
  );

  test.each(sample("setters in long texts", SETTERS, 4))(
    "may not send %s in a text of 100 KB, in metadata or in answers",
    async (text, path) => {
      const before = server.asked.length;
      const long = callWith(`{"filler":"${"x".repeat(100_000)}","filter":${text}}`);
      const inMeta = callWith("{}").replace('"_meta":{', `"_meta":{"com.example/x":${text},`);
      const inAnswers = callWith("{}", `,"inputResponses":{"q":{"action":"accept","content":${text}}}`);
      const inBoth = callWith(`[${text}]`.slice(1, -1), `,"filler":"${"x".repeat(70_000)}"`);
      for (const body of [long, inMeta, inAnswers, inBoth]) {
        expect(await post(body)).toMatchObject({
          id: "it",
          error: { code: -32_602, message: expect.stringContaining(`.${path}"`) },
        });
      }
      expect(server.asked).toHaveLength(before);
    },
  );

  test.each(sample("plain members", PLAIN, 4))("may send %s, also in a long text", async (text) => {
    for (const filler of ["", "x".repeat(100_000)]) {
      const { result } = await post(callWith(`{"filler":"${filler}","it":${text}}`));
      const [block] = (result as Json).content as [{ text: string }];
      expect((JSON.parse(block.text) as Json).it).toEqual(JSON.parse(text));
    }
  });

  test("gets the same answer from cardea call and cardea explain", async () => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${ADMIN_TOKEN}` };
    const body = '{"name":"s__first","arguments":{"a":{"__proto__":{}}}}';
    const called = await fetch(`${admin}/api/v1/calls`, { method: "POST", headers, body });
    const explained = await fetch(
      `${admin}/api/v1/explain?name=s__first&args=${encodeURIComponent('{"__proto__":{}}')}`,
      { headers },
    );
    expect(await called.text()).toContain('a.__proto__\\" sets a prototype');
    expect(await explained.text()).toContain("__proto__");
    expect(explained.status).toBe(400);
  });
});

describe.each(Object.values(HOSTS).map((kind) => [kind.name, kind] as const))("%s", (_name, kind) => {
  let stage: Stage;
  const kinds = UPSTREAMS.filter(({ transport }) => transport === "http");
  const [{ key } = { key: "" }] = kinds;
  beforeAll(async () => {
    stage = await openStage(kinds);
  });
  afterAll(() => stage.close());

  test("is refused with an error under the id of its call, which is not the end of its connection", async () => {
    const host = await openHost(stage, kind);
    const params = JSON.parse(`{"name":"${key}__echo","arguments":{"text":"a","__proto__":{"b":1}}}`) as Json;
    if (kind.door === "sse") {
      await expect(host.raw.send("odd", "tools/call", params)).rejects.toThrow("__proto__");
    } else {
      expect(await host.raw.send("odd", "tools/call", params)).toMatchObject({
        error: { code: -32_602, message: expect.stringContaining("params.arguments.__proto__") },
      });
    }
    const plain = { name: `${key}__echo`, arguments: { text: "a", constructor: "b" } };
    expect(await host.raw.send("even", "tools/call", plain)).toMatchObject({
      result: { content: [{ text: "a" }] },
    });
    await host.leave();
  });
});

describe("in a batch of a legacy host", () => {
  test("one member is refused, and the others are served", async () => {
    const server = await rawServer("legacy", false);
    const gateway = await gatewayOf({ mcpServers: { s: { url: server.url, protocol: "legacy" } } });
    const { url } = await gateway.start();
    await gateway.lists("tools");
    const host = await openLegacy(httpWire(url), { revision: "2025-03-26" });
    const call = (id: number, args: string): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"s__first","arguments":${args}}}`;
    const body = `[${call(1, '{"a":1}')},${call(2, '{"__proto__":{}}')},{"jsonrpc":"2.0","method":"notifications/x","params":{"__proto__":{}}},${call(3, '{"constructor":{}}')},${call(4, '{"b":{"constructor":{"prototype":1}}}')}]`;
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-session-id": host.session ?? "",
    };
    const answers = (await (await fetch(url, { method: "POST", headers, body })).json()) as Json[];
    const byId = (id: unknown) => answers.filter((one) => one.id === id);
    expect(byId(2)).toMatchObject([{ error: { code: -32_602 } }]);
    expect(byId(4)).toMatchObject([{ error: { code: -32_602 } }]);
    expect(byId(1)).toMatchObject([{ result: {} }]);
    expect(byId(3)).toMatchObject([{ result: {} }]);
    expect(answers).toHaveLength(5);
    await host.close();
    await gateway.stop({ immediate: true });
    await server.close();
  });
});

describe.each([
  ["a legacy server over HTTP", "legacy", "json"],
  ["a legacy server over an event stream", "legacy", "stream"],
  ["a legacy server on a pipe", "legacy", "stdio"],
  ["a modern server over HTTP", "modern", "json"],
  ["a modern server over an event stream", "modern", "stream"],
] as const)("%s", (name, era, transport) => {
  let server: ScriptedServer | undefined;
  let gateway: Gateway;
  let url = "";
  let admin = "";
  const logged: unknown[] = [];
  beforeAll(async () => {
    if (transport !== "stdio") server = await rawServer(era, transport === "stream");
    const entry =
      server === undefined
        ? {
            command: process.execPath,
            args: [inRepository("test/support/servers/raw-results.mjs")],
            env: { RAW_TOOLS: TOOLS },
          }
        : { url: server.url };
    gateway = await gatewayOf(
      { mcpServers: { s: { ...entry, protocol: era } } },
      { warn: (...given: unknown[]) => logged.push(given) },
    );
    ({ url, adminUrl: admin } = await listening(gateway));
    await gateway.lists("tools");
  });
  afterAll(async () => {
    await gateway.stop({ immediate: true });
    await server?.close();
  });
  const each = async (use: (host: RawHost) => Promise<void>) => {
    for (const open of [openLegacy, openModern]) {
      const host = await open(httpWire(url));
      await use(host);
      await host.close();
    }
  };
  const say = (host: RawHost, id: string, args: Json) =>
    host.send(id, "tools/call", { name: "s__first", arguments: args });

  test.each(sample(`setters of ${name}`, SETTERS, 2))(
    "may not answer with %s, and its connection lives on",
    async (text, path) => {
      await each(async (host) => {
        const results = [
          `{"content":[],"structuredContent":${text}}`,
          `{"content":[],"_meta":{"x":${text}}}`,
          `{"content":[{"type":"text","text":"${"x".repeat(100_000)}"}],"structuredContent":{"rows":[${text}]}}`,
          `{"tools":[${text}],"content":[]}`,
        ];
        for (const [at, result] of results.entries()) {
          const [, other] = await Promise.all([
            say(host, `bad ${at}`, { text: `{"jsonrpc":"2.0","id":$ID,"result":${result}}` }).then(
              (response) =>
                expect(response).toMatchObject({
                  error: {
                    code: -32_602,
                    message: expect.stringMatching(/^s answered with something that is no valid response/),
                    data: { cardea: { server: "s", retryable: false } },
                  },
                }),
            ),
            say(host, `good ${at}`, { n: at }),
          ]);
          expect(other).toMatchObject({ result: { content: [{ text: `{"n":${at}}` }] } });
        }
        const inError = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-31000,"message":"no","data":${text}}}`;
        const { error } = (await say(host, "error", { text: inError })) as { error: { message: string } };
        expect(error.message).toContain(`error.data.${path}`);
      });
    },
  );

  test.each(sample(`plain members of ${name}`, PLAIN, 2))(
    "may answer with %s, which arrives unchanged",
    async (text) => {
      await each(async (host) => {
        const result = `{"content":[],"structuredContent":{"a":${text}}}`;
        expect(
          await say(host, "it", { text: `{"jsonrpc":"2.0","id":$ID,"result":${result}}` }),
        ).toMatchObject({
          result: JSON.parse(result) as Json,
        });
      });
    },
  );

  test("has its other tools listed, and the ones with such a member are reported", async () => {
    await each(async (host) => {
      expect((await host.list("tools")).map(({ name }) => name)).toEqual(["s__first", "s__last"]);
    });
    const [row] = (await (await fetch(`${admin}/api/v1/servers`)).json()) as [{ malformed: Json[] }];
    expect(row.malformed).toMatchObject([
      { list: "tools", name: "evil", member: "inputSchema.properties.__proto__" },
      { list: "tools", name: "annotated", member: "_meta.x.constructor.prototype" },
    ]);
  });

  test("may not notify with one: the notification is dropped, and the call continues", async () => {
    if (transport === "json") return;
    await each(async (host) => {
      const received: Json[] = [];
      const level = { level: "error", data: { n: 1 } };
      const params = JSON.stringify(level).replace('"n"', '"__proto__"');
      const { message } = await host.exchange(
        "tools/call",
        {
          name: "s__first",
          arguments: {
            before: `{"jsonrpc":"2.0","method":"notifications/message","params":${params}}`,
            text: '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}',
          },
        },
        { onMessage: (one) => received.push(one) },
      );
      expect(message).toMatchObject({ result: { content: [] } });
      expect(received).toEqual([]);
    });
  });
});

test("a question with such a member is refused with -32602, and so is the answer of a host", async () => {
  const gateway = await gatewayOf({
    mcpServers: {
      s: {
        command: process.execPath,
        args: [inRepository("test/support/servers/raw-results.mjs")],
        env: { RAW_TOOLS: TOOLS },
        protocol: "legacy",
      },
    },
  });
  const { url } = await gateway.start();
  await gateway.lists("tools");
  const wire = httpWire(url);
  const refusals: { readonly status: number }[] = [];
  const post: Wire["post"] = (message, options) =>
    wire.post(message, options).catch((error: { readonly status: number }) => void refusals.push(error));
  const recorded: Wire = Object.assign(Object.create(wire) as Wire, { post });
  const host = await openLegacy(recorded, { capabilities: { elicitation: { form: {} } } });
  const ask = (id: string, schema: string): string =>
    `{"jsonrpc":"2.0","id":"${id}","method":"elicitation/create","params":{"message":"m","requestedSchema":${schema}}}`;
  const answersOf = async () => {
    const { result } = (await host.send("look", "tools/call", { name: "s__first" })) as {
      result: { structuredContent: { answers: readonly Json[] } };
    };
    return result.structuredContent.answers;
  };
  const plain = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}';
  await host.converse(
    "tools/call",
    {
      name: "s__first",
      arguments: { before: ask("q1", '{"type":"object","properties":{"__proto__":{}}}'), text: plain },
    },
    () => ({ action: "accept", content: {} }),
  );
  const [refused] = await until("the refusal of the question", async () => {
    const all = await answersOf();
    return all.length > 0 && all;
  });
  expect(refused).toMatchObject({ error: { code: -32_602 } });

  // While two calls run, a pipe does not attribute questions: the next call waits until this one was asked.
  await new Promise<void>((reached) => {
    const asked = host.converse(
      "tools/call",
      { name: "s__first", arguments: { before: ask("q2", '{"type":"object","properties":{}}'), text: "" } },
      () => {
        reached();
        return JSON.parse('{"action":"accept","content":{"__proto__":{"env":"prod"}}}') as Json;
      },
    );
    // The call is never answered: its question is what matters.
    asked.catch(() => {});
  });
  const [, second] = await until("the refusal of the answer", async () => {
    const all = await answersOf();
    return all.length > 1 && all;
  });
  expect(second).toMatchObject({ error: { code: -32_602, message: expect.stringContaining("__proto__") } });
  expect(refusals).toMatchObject([{ status: 400 }]);
  await gateway.stop({ immediate: true });
});

test("no prototype was changed", () => {
  expect(({} as Json).env).toBeUndefined();
  expect(Object.getPrototypeOf(Object.prototype)).toBeNull();
});
