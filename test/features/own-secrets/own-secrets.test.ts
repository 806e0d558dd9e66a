/** Secrets that the config gives to one server, in messages to other servers and to hosts. */
import { describe, expect, test } from "vitest";
import { cleanDefinitions } from "../../../src/features/own-secrets/clean-definitions.js";
import { LiteralSearch } from "../../../src/features/own-secrets/literal-search.js";
import { SecretValues } from "../../../src/features/own-secrets/secret-values.js";
import { messagesWithoutSecrets, withoutSecrets } from "../../../src/features/own-secrets/without-secrets.js";
import { runSteps, Work } from "../../../src/runtime/cooperative-yield.js";
import { Payload } from "../../../src/wire/payload.js";
import { toolCall } from "../../support/calls.js";
import fc from "../../support/fast-check.js";
import { hasFeature } from "../../support/features.js";
import { HOSTS, openGateway, type Server } from "../../support/open-gateway.js";
import type { Json } from "../../support/peers/host.js";
import { openModern, type RawHost } from "../../support/peers/raw.js";
import { eachValue } from "../../support/sample.js";

const KEY = "s3kr1t/Zq9+vW8xT5yB2n";
const OTHER = "ghp_aB3dE5fG7hJ9kL1mN3pQ";
const tool = (name: string) => ({ name, inputSchema: { type: "object", properties: {} } });
const text = (value: string) => ({ type: "text", text: value });

/** Has the key, and tells it. */
const careless = (era: "legacy" | "modern"): Server => ({
  era,
  tools: ["tell", "escaped", "fail", "honest"].map(tool),
  entry: { headers: { authorization: `Bearer ${KEY}` } },
  answer: ({ method, params }) => {
    if (method !== "tools/call") return undefined;
    switch (params.name) {
      case "tell":
        return { content: [text(`key=${KEY}; other=${OTHER}`)], structuredContent: { [KEY]: [KEY] } };
      case "fail":
        return { content: [text(`401 for Bearer ${KEY}`)], isError: true };
      default:
        return { content: [text("nothing of it")], n: 1 };
    }
  },
});
/** Is given the other key; it answers with what it was sent. */
const curious = (era: "legacy" | "modern"): Server => ({
  era,
  tools: [tool("take")],
  entry: { headers: { "x-token": OTHER } },
  answer: ({ method, params }) =>
    method === "tools/call" ? { content: [text(JSON.stringify(params.arguments))] } : undefined,
});

/** Values by the server that is given each. */
function valuesOf(given: Readonly<Record<string, string>>): SecretValues {
  const values = new SecretValues();
  for (const [server, value] of Object.entries(given)) values.add(value, server);
  return values;
}

let lastId = 0;
async function call(host: RawHost, name: string, args: Json = {}): Promise<Json> {
  lastId += 1;
  const { error, result } = await host.send(`s-${lastId}`, "tools/call", { name, arguments: args });
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result as Json;
}

const PAIRS = eachValue(
  "pairs for secrets",
  HOSTS.flatMap((host) => (["legacy", "modern"] as const).map((server) => ({ ...host, server }))),
  ({ era, door, server }) => [`${era} at ${server}`, door],
);

describe.each(PAIRS)("a $era host over $door at $server servers", ({ server, ...kind }) => {
  const opened = () => openGateway({ careless: careless(server), curious: curious(server) });

  test("never sees a secret of a server, in texts, names and structures", async () => {
    const gateway = await opened();
    const host = await gateway.host(kind);
    const told = await call(host, "careless__tell");
    expect(told).toMatchObject({
      content: [text("key=[redacted]; other=[redacted]")],
      structuredContent: { "[redacted]": ["[redacted]"] },
    });
    expect(await call(host, "careless__fail")).toMatchObject({
      content: [text("401 for [redacted]")],
      isError: true,
    });
    expect(await call(host, "careless__honest")).toMatchObject({ content: [text("nothing of it")], n: 1 });
  });

  test("cannot carry the secret of one server to another, but its own is none there", async () => {
    const gateway = await opened();
    const host = await gateway.host(kind);
    await call(host, "curious__take", { note: `the key is ${KEY}`, list: [{ key: KEY }], own: OTHER });
    const sent = gateway.received.filter(({ method }) => method === "tools/call").map(({ params }) => params);
    expect(sent.map(({ arguments: given }) => given)).toEqual([
      { note: "the key is [redacted]", list: [{ key: "[redacted]" }], own: OTHER },
    ]);
    if (!hasFeature("admin")) return;
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    expect(metrics).toContain('cardea_own_secrets_removed_total{server="curious",direction="to_server"} 1');
    expect(metrics).toContain('cardea_own_secrets_removed_total{server="curious",direction="to_host"} 1');
  });
});

test("an argument that the config itself gives a tool reaches its server, whatever else has that value", async () => {
  const curiousOne = curious("modern");
  const entry = { ...curiousOne.entry, overrides: { take: { arguments: { fixed: { key: KEY } } } } };
  const gateway = await openGateway({ careless: careless("modern"), curious: { ...curiousOne, entry } });
  const host = await gateway.host({ era: "modern", door: "http" });
  await call(host, "curious__take", { note: KEY });
  const sent = gateway.received.filter(({ method }) => method === "tools/call").map(({ params }) => params);
  expect(sent.map(({ arguments: given }) => given)).toEqual([{ note: "[redacted]", key: KEY }]);
});

test("a default argument of the config reaches its server, whatever else has that value", async () => {
  const curiousOne = curious("modern");
  const entry = { ...curiousOne.entry, overrides: { take: { arguments: { defaults: { key: KEY } } } } };
  const gateway = await openGateway({ careless: careless("modern"), curious: { ...curiousOne, entry } });
  const host = await gateway.host({ era: "modern", door: "http" });
  await call(host, "curious__take", { note: KEY });
  const sent = gateway.received.filter(({ method }) => method === "tools/call").map(({ params }) => params);
  expect(sent.map(({ arguments: given }) => given)).toEqual([{ note: "[redacted]", key: KEY }]);
});

test("descriptions, instructions and defaults have no secret; names and values that a schema allows stay", async () => {
  const schema = {
    type: "object",
    properties: {
      how: { type: "string", description: `Not ${KEY}`, default: KEY, enum: [KEY, "other"] },
    },
  };
  const telling: Server = {
    tools: [{ name: "tell", title: `With ${KEY}`, description: `Uses ${KEY}.`, inputSchema: schema }],
    entry: { headers: { authorization: `Bearer ${KEY}` } },
    answer: ({ method }) =>
      method === "server/discover"
        ? {
            supportedVersions: ["2026-07-28"],
            capabilities: { tools: {} },
            serverInfo: { name: "telling", version: "1" },
            instructions: `The key is ${KEY}.`,
          }
        : undefined,
  };
  const host = await (await openGateway({ telling })).host({ era: "modern", door: "http" });
  const [listed] = await host.list("tools");
  const text = JSON.stringify(listed);
  expect(listed).toMatchObject({ name: "telling__tell", title: "With [redacted]" });
  expect(listed?.inputSchema).toEqual({
    type: "object",
    properties: {
      how: { type: "string", description: "Not [redacted]", default: "[redacted]", enum: [KEY, "other"] },
    },
  });
  expect(text.split(KEY)).toHaveLength(2);
  expect(JSON.stringify(host.introduction())).not.toContain(KEY);
});

test("a definition that is listed again is read again after a sign-in, and counted where something is taken out", () => {
  const values = valuesOf({ crm: KEY });
  let removed = 0;
  const admission = cleanDefinitions([values], () => {
    removed += 1;
  });
  const items = [{ ...tool("plain"), description: `Not ${OTHER}` }, tool("other")];
  expect(admission.admitted("tools", items)).toBe(items);
  values.add(OTHER, "crm");
  const admitted = [{ ...items[0], description: "Not [redacted]" }, items[1]];
  expect(admission.admitted("tools", items)).toEqual(admitted);
  expect(admission.admitted("tools", [...items])).toEqual(admitted);
  expect(removed).toBe(2);
  values.delete(OTHER, "crm");
  expect(admission.admitted("tools", items)).toBe(items);
});

test("a question of a server is asked without its secret", async () => {
  const asks: Server = {
    tools: [tool("ask")],
    entry: { headers: { "x-api-key": KEY } },
    answer: ({ method }) =>
      method === "tools/call"
        ? {
            resultType: "input_required",
            inputRequests: {
              q: {
                method: "elicitation/create",
                params: { message: `May I use ${KEY}?`, requestedSchema: { type: "object", properties: {} } },
              },
            },
            requestState: "state",
          }
        : undefined,
  };
  const { url } = await openGateway({ asks }, { auth: undefined });
  const host = await openModern({ url }, { capabilities: { elicitation: {} } });
  const { inputRequests } = await call(host, "asks__ask");
  expect(JSON.stringify(inputRequests)).toContain("May I use [redacted]?");
});

test("words, paths and addresses that a server is given stay in its results", async () => {
  const given = { "x-place": "https://example.com/data", "x-word": "postgres", "x-api-key": "short1" };
  const plain: Server = {
    tools: [tool("tell")],
    entry: { headers: given },
    answer: ({ method }) =>
      method === "tools/call" ? { content: [text(Object.values(given).join(" "))] } : undefined,
  };
  const host = await (await openGateway({ plain })).host({ era: "modern", door: "http" });
  expect(await call(host, "plain__tell")).toMatchObject({
    content: [text("https://example.com/data postgres short1")],
  });
});

test("the first of two members of one name is not passed on with a secret", async () => {
  const text = `{"content":[{"type":"text","text":"${KEY}"}],"content":[]}`;
  const removing = withoutSecrets({
    server: "careless",
    values: [valuesOf({ careless: KEY })],
    onRemoved: () => {},
  });
  const answering = removing(async () => ({ kind: "result", result: Payload.ofText(text) }));
  const reply = await answering(toolCall("careless", "tell"));
  expect(reply.kind === "result" && String(reply.result.text)).toBe('{"content":[]}');
});

test("messages of no running call are cleaned in both directions", async () => {
  const removed: string[] = [];
  const cleaning = messagesWithoutSecrets({
    server: "careless",
    values: [valuesOf({ careless: KEY, curious: OTHER })],
    onRemoved: (direction) => removed.push(direction),
  });
  const both = `${KEY} ${OTHER}`;
  expect(cleaning.notice({ method: "notifications/message", params: { level: "info", data: both } })).toEqual(
    {
      method: "notifications/message",
      params: { level: "info", data: "[redacted] [redacted]" },
    },
  );
  expect(await cleaning.question({ method: "elicitation/create", params: { message: both } })).toEqual({
    method: "elicitation/create",
    params: { message: "[redacted] [redacted]" },
  });
  expect(await cleaning.answer({ content: { text: both } })).toEqual({
    content: { text: `${KEY} [redacted]` },
  });
  expect(removed).toEqual(["to_host", "to_host", "to_server"]);
});

describe("values", () => {
  const values = valuesOf({ a: KEY, b: OTHER, c: "pä$$wörd-ünïque-1", d: 'quo"ted\\key-77' });
  const mayBeIn = (payload: Payload) => runSteps(values.mayBeIn(payload, new Work()));

  test.each([
    ["a slash that is escaped", `{"a":"${KEY.replace("/", "\\/")}"}`],
    ["letters that are escaped", `{"a":"${OTHER.replace("a", "\\u0061")}"}`],
    ["other letters that are escaped", '{"a":"p\\u00e4$$w\\u00f6rd-\\u00fcn\\u00efque-1"}'],
    ["quotes", '{"a":"quo\\"ted\\\\key-77"}'],
  ])("are found with %s", async (_, json) => {
    const payload = Payload.ofText(json);
    expect(await mayBeIn(payload)).toBe(true);
    expect(values.json(payload.object)).toEqual({ a: "[redacted]" });
  });

  test("are found where a plain search finds them", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 3, maxLength: 6 });
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 60 });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), text, (words, within) => {
        const search = new LiteralSearch(3);
        for (const one of words) search.add(one);
        const ends = words
          .filter((one) => within.includes(one))
          .map((one) => within.indexOf(one) + one.length);
        const found = search.find(within, search.first, within.length, () => true);
        expect(found?.end).toBe(ends.length === 0 ? undefined : Math.min(...ends));
      }),
    );
  });

  test("that stand nowhere leave an object as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(values.json(value)).toBe(value);
      }),
    );
  });

  test("are gone from any JSON that has them", () => {
    const piece = fc.constantFrom(KEY, OTHER, "a", " ", '"');
    const withSecrets = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.array(piece).map((pieces) => pieces.join("")),
        fc.array(tie("value")),
        fc.dictionary(piece, tie("value")),
      ),
    })).value;
    fc.assert(
      fc.property(withSecrets, (value) => {
        const left = JSON.stringify(values.json(value));
        expect(left).not.toContain(KEY);
        expect(left).not.toContain(OTHER);
      }),
    );
  });

  test.each<[string, string]>([
    ["Basic credentials", Buffer.from(`user:${KEY}`).toString("base64")],
    ["Base64", Buffer.from(KEY).toString("base64")],
    ["Base64 for URLs, in the middle of a text", Buffer.from(`{"k":"${KEY}"}`).toString("base64url")],
    ["a part of a URL", encodeURIComponent(KEY)],
    ["JSON in a text", JSON.stringify({ k: 'quo"ted\\key-77' })],
  ])("are found as %s", (_, encoded) => {
    const left = values.text(`before ${encoded} after`);
    expect(left).toMatch(/^before .*\[redacted\].* after$/);
    expect(Buffer.from(left, "base64").toString("latin1")).not.toContain(KEY.slice(0, 8));
    expect(left).not.toContain(KEY);
  });

  test("that are the same for two servers stay for both, and are taken back one by one", () => {
    const shared = valuesOf({ a: KEY, b: KEY });
    expect([shared.text(KEY, "a"), shared.text(KEY, "b"), shared.text(KEY, "c")]).toEqual([
      ...[KEY, KEY],
      "[redacted]",
    ]);
    shared.delete(KEY, "a");
    expect([shared.text(KEY, "a"), shared.text(KEY, "b")]).toEqual(["[redacted]", KEY]);
    shared.delete(KEY, "b");
    expect([shared.text(KEY, "c"), shared.isEmpty]).toEqual([KEY, true]);
  });

  test("that overlap are taken out together", () => {
    const both = valuesOf({ a: "0a1b2c3d4e5f", b: "4e5f6a7b8c9d" });
    expect(both.text("x 0a1b2c3d4e5f6a7b8c9d y")).toBe("x [redacted] y");
  });
});
