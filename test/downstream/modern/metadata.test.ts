/** What `_meta` must say, and what becomes of it. */
import { expect, test } from "vitest";
import { META } from "../../../src/wire/names.js";
import { echo, fakePort } from "../../support/fake-port.js";
import { modernMeta, modernRequest, type Sent, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

async function ask(request: Sent) {
  const gateway = fakePort({ handlers: { "tools/list": echo, "tools/call": echo } });
  const { url } = await listening({ gateway });
  return { answer: await send(url, request), port: gateway, call: gateway.calls[0] };
}

/** `tools/list` with exactly these parameters. */
const list = (params: object | undefined): Sent => ({
  ...modernRequest("tools/list"),
  body: JSON.stringify({ jsonrpc: "2.0", id: 5, method: "tools/list", params }),
});

const LONG = "x".repeat(65_536);
const { [META.clientCapabilities]: _capabilities, ...withoutCapabilities } = modernMeta();
const { [META.protocolVersion]: _version, ...withoutVersion } = modernMeta();

test.each<[string, Sent]>([
  ["no parameters", list(undefined)],
  ["no _meta", list({})],
  ["a _meta that is no object", list({ _meta: 7 })],
  ["no version", list({ _meta: withoutVersion })],
  ["a version that is no text", list({ _meta: { ...modernMeta(), [META.protocolVersion]: 20260728 } })],
  ["no capabilities", list({ _meta: withoutCapabilities })],
  ["capabilities that are no object", list({ _meta: { ...modernMeta(), [META.clientCapabilities]: [] } })],
  ["more capabilities than anybody has", list({ _meta: modernMeta({ extensions: { x: LONG } }) })],
  [
    "a name that is a book",
    list({ _meta: { ...modernMeta(), [META.clientInfo]: { name: LONG, version: "1" } } }),
  ],
  ["a log level that does not exist", list({ _meta: { ...modernMeta(), [META.logLevel]: "loud" } })],
])("%s is malformed", async (_what, request) => {
  const { answer, port } = await ask(request);
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    { id: 5, error: { code: -32602, data: { cardea: { code: "bad_request" } } } },
  ]);
  expect(port.calls).toEqual([]);
});

test("a revision that is not served is refused with those that are", async () => {
  const meta = { [META.protocolVersion]: "v999.0.0" };
  const { answer } = await ask(
    modernRequest("tools/list", {}, { meta, headers: { "mcp-protocol-version": "v999.0.0" } }),
  );
  expect([answer.status, answer.json().error]).toMatchObject([
    400,
    { code: -32022, data: { supported: ["2026-07-28"], requested: "v999.0.0" } },
  ]);
});

test("clientInfo is optional", async () => {
  const { [META.clientInfo]: _info, ...nameless } = modernMeta();
  const { answer, call } = await ask(list({ _meta: nameless }));
  expect(answer.status).toBe(200);
  expect(call?.client).not.toHaveProperty("info");
});

test("the client of a call is taken from its own request", async () => {
  const meta = { ...modernMeta({ sampling: {}, elicitation: { form: {} } }), [META.logLevel]: "warning" };
  const { call } = await ask(modernRequest("tools/list", {}, { meta }));
  expect(call).toMatchObject({
    method: "tools/list",
    logLevel: "warning",
    client: {
      principal: { id: "anonymous" },
      session: false,
      endpoint: "",
      capabilities: { sampling: {}, elicitation: { form: {} } },
      info: { name: "test-host", version: "1.0.0" },
    },
  });
});

test("clients are kept apart by principal and by what they declare, not by how they write it", async () => {
  const affinity = async (capabilities: object) =>
    (await ask(list({ _meta: { ...modernMeta(), [META.clientCapabilities]: capabilities } }))).call?.client
      .affinity;
  const one = await affinity({ roots: {}, elicitation: { url: {}, form: {} } });
  expect(await affinity({ elicitation: { form: {}, url: {} }, roots: {} })).toBe(one);
  expect(await affinity({ elicitation: { form: {} }, roots: {} })).not.toBe(one);
  expect(await affinity({})).not.toBe(one);
});

/** An edge of its own; resolves to the client that it made of a request in the name of `name`. */
async function clientsOfEdge() {
  const gateway = fakePort({ handlers: { "tools/list": echo } });
  const { url } = await listening({ gateway });
  return async (name: string) => {
    const meta = { ...modernMeta({ roots: {} }), [META.clientInfo]: { name, version: "1" } };
    await send(url, list({ _meta: meta }));
    return gateway.calls.at(-1)?.client;
  };
}

test("a client that sends the same metadata again is the same client, also between requests of others", async () => {
  const client = await clientsOfEdge();
  const one = await client("one");
  expect(await client("one")).toBe(one);
  const other = await client("other");
  expect(other).not.toBe(one);
  expect(other?.info).toMatchObject({ name: "other" });
  expect(await client("one")).toBe(one);
  expect(await client("other")).toBe(other);
});

test("two gateways in one process share no client, and the cache of one does not displace that of the other", async () => {
  const [here, there] = [await clientsOfEdge(), await clientsOfEdge()];
  const one = await here("one");
  expect(await there("one")).toEqual(one);
  expect(await there("one")).not.toBe(one);
  for (let at = 0; at < 150; at += 1) await there(`client ${at}`);
  expect(await here("one")).toBe(one);
});

test("only the keys of this hop are taken out of the parameters", async () => {
  const meta = {
    progressToken: 7,
    traceparent: "00-a-b-01",
    "com.example/key": { a: 1 },
    [META.logLevel]: "info",
  };
  const { call } = await ask(modernRequest("tools/call", { name: "say", vendor: [1] }, { meta }));
  expect(call?.params).toEqual({
    name: "say",
    vendor: [1],
    _meta: { progressToken: 7, traceparent: "00-a-b-01", "com.example/key": { a: 1 } },
  });
  const bare = await ask(modernRequest("tools/call", { name: "say" }));
  expect(bare.call?.params).toEqual({ name: "say" });
});

test("answers to an earlier round are taken out of the parameters where a round is possible", async () => {
  const sent = { name: "say", inputResponses: { q: { action: "accept" } }, requestState: "s" };
  const { call } = await ask(modernRequest("tools/call", sent));
  expect(call).toMatchObject({
    params: { name: "say" },
    inputResponses: { responses: { q: { action: "accept" } }, sealedState: "s" },
  });
  expect(call?.params).not.toHaveProperty("inputResponses");
  const other = await ask(modernRequest("tools/list", { inputResponses: { q: {} } }));
  expect(other.call?.params).toEqual({ inputResponses: { q: {} } });
  expect(other.call?.inputResponses).toBeUndefined();
});

test.each([
  ["answers that are null", { inputResponses: null }],
  ["answers that are a list", { inputResponses: [] }],
  ["an answer that is no object", { inputResponses: { q: 12345 } }],
  ["a state that is no text", { requestState: 7 }],
])("%s are malformed", async (_what, params) => {
  const { answer } = await ask(modernRequest("tools/call", { name: "say", ...params }));
  expect([answer.status, answer.json().error]).toMatchObject([400, { code: -32602 }]);
});
