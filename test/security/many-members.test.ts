/** Messages of hosts with more members than the gateway can read at once are refused; so is a single object of arguments with more than can be written. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Gateway } from "../../src/gateway/gateway.js";
import { gatewayOf } from "../support/gateway.js";
import { JSON_HEADERS, modernRequest, send } from "../support/http-host.js";
import { sample, TAKES_ALL } from "../support/sample.js";
import { startUpstream, UPSTREAMS } from "../support/scripted/upstreams.js";

/** More than any limit. */
const COUNT = TAKES_ALL ? 150_000 : 70_000;
const MANY = Object.fromEntries(Array.from({ length: COUNT }, (_, at) => [`k${at}`, at]));
const REQUEST = { jsonrpc: "2.0", id: 7 };
const CALL = { name: "one__echo", arguments: { text: "here" } };

let upstream: Awaited<ReturnType<typeof startUpstream>>;
let gateway: Gateway;
let url: string;
let session: string;

const post = (body: unknown) =>
  send(url, {
    headers: { ...JSON_HEADERS, "mcp-session-id": session, "mcp-protocol-version": "2025-03-26" },
    body: JSON.stringify(body),
  });

const initialize = (capabilities: object) => ({
  ...REQUEST,
  method: "initialize",
  params: { protocolVersion: "2025-03-26", capabilities, clientInfo: { name: "h", version: "1" } },
});

beforeAll(async () => {
  upstream = await startUpstream(UPSTREAMS[0] as (typeof UPSTREAMS)[number]);
  gateway = await gatewayOf({ mcpServers: { one: upstream.entry } });
  ({ url } = await gateway.start());
  await gateway.lists("tools");
  const opened = await send(url, { headers: JSON_HEADERS, body: JSON.stringify(initialize({})) });
  session = String(opened.headers["mcp-session-id"]);
});

afterAll(async () => {
  await gateway.stop({ immediate: true });
  await upstream.stop();
});

describe("very many members", () => {
  const places: readonly (readonly [string, object, string])[] = [
    ["of a request", { ...REQUEST, method: "ping", ...MANY }, "the message has more than"],
    [
      "of its parameters",
      { ...REQUEST, method: "tools/call", params: { ...CALL, ...MANY } },
      "params has more than",
    ],
    [
      "of its metadata",
      { ...REQUEST, method: "tools/call", params: { ...CALL, _meta: MANY } },
      "params._meta has",
    ],
    ["of capabilities", initialize(MANY), "params.capabilities has more than"],
    [
      "of a request whose id comes last",
      { method: "ping", params: MANY, ...REQUEST },
      "params has more than",
    ],
  ];
  test.each(sample("places of many members", places, 3))(
    "%s are refused under its id",
    async (_where, message, why) => {
      const { json } = await post(message);
      expect(json()).toMatchObject({ id: 7, error: { code: -32600, message: expect.stringContaining(why) } });
    },
  );

  test("of the metadata of a modern request are refused", async () => {
    const { headers, body } = modernRequest("tools/call", CALL);
    const sent = JSON.parse(String(body)) as { params: { _meta: object } };
    const params = { ...sent.params, _meta: { ...sent.params._meta, ...MANY } };
    const { json } = await send(url, { headers: headers ?? {}, body: JSON.stringify({ ...sent, params }) });
    expect(json()).toMatchObject({
      error: { code: -32600, message: expect.stringContaining("params._meta") },
    });
  });

  test("of one message in a batch are refused, and the others are answered", async () => {
    const big = { ...REQUEST, method: "ping", params: MANY };
    const { json } = await post([
      { ...big, id: 1 },
      { ...REQUEST, id: 2, method: "ping" },
    ]);
    const answers = json() as unknown as readonly { readonly id: number; readonly error?: object }[];
    expect(answers).toHaveLength(2);
    expect(answers.find(({ id }) => id === 1)?.error).toMatchObject({ code: -32600 });
    expect(answers.find(({ id }) => id === 2)).toMatchObject({ result: {} });
  });

  const objects: readonly (readonly [string, (many: object) => object])[] = [
    ["an object of the arguments", (many: object) => ({ ...CALL.arguments, more: many })],
    ["an object in a list of the arguments", (many: object) => ({ ...CALL.arguments, rows: [[1, many]] })],
  ];
  test.each(sample("objects of arguments", objects, 1))(
    "of %s are refused, in both eras",
    async (_where, make) => {
      const params = { ...CALL, arguments: make(MANY) };
      const { json } = await post({ ...REQUEST, method: "tools/call", params });
      const why = { code: -32600, message: "an object in the message has more than 65536 members" };
      expect(json()).toMatchObject({ id: 7, error: why });
      const modern = await send(url, modernRequest("tools/call", params));
      expect(modern.json()).toMatchObject({ error: why });
    },
  );

  test("of several objects, and as many elements of a list, reach the server", async () => {
    const some = Object.fromEntries(Object.entries(MANY).slice(0, 60_000));
    const more = { rows: Object.keys(MANY), some: [some, some, some] };
    const params = { ...CALL, arguments: { ...CALL.arguments, more } };
    const senders = [
      () => post({ ...REQUEST, method: "tools/call", params }),
      () => send(url, modernRequest("tools/call", params)),
    ];
    for (const sent of sample("eras", senders, 1)) expect((await sent()).text).toContain("here");
  });
});

test("a batch of very many invalid messages is refused without an error for each", async () => {
  const { status, json } = await post(
    Array.from({ length: TAKES_ALL ? 50_000 : 10_000 }, (_, id) => ({ jsonrpc: "2.0", id })),
  );
  expect(status).toBe(400);
  expect(json()).toMatchObject({ error: { message: "a batch may have 100 messages" } });
});
