/** Names that mean something to JavaScript are names like any other: of servers, tools, arguments, principals, profiles. */

import "../features/admin/needed.js";
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";
import { SILENT } from "../../src/core/logger.js";
import { createGateway, type Gateway } from "../../src/gateway/gateway.js";
import { openedFeatures, SECTIONS } from "../support/features.js";
import { listening } from "../support/gateway.js";
import type { Wire } from "../support/host/host.mjs";
import { httpWire } from "../support/host/wires.mjs";
import type { Json } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { answer, type ScriptedServer, scriptedServer } from "../support/servers/scripted-http.js";
import { until } from "../support/until.js";

const NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "__defineGetter__",
  "then",
];
const PROTOTYPES = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Map.prototype];
const ownNames = () => PROTOTYPES.map((one) => Reflect.ownKeys(one));
const before = ownNames();

/** An object with a member of each name but `__proto__`, which no message may have (`prototype-members.test.ts`). */
const harness = (): Json =>
  JSON.parse(
    `{${NAMES.slice(1)
      .map((name) => `${JSON.stringify(name)}:{"polluted":"yes"}`)
      .join()}}`,
  ) as Json;
/** The same as text, in which the prototype would not show. */
const same = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

let server: ScriptedServer;
let gateway: Gateway;
let url = "";
let admin = "";

beforeAll(async () => {
  server = await scriptedServer((asked, response) => {
    if (asked.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(asked.body) as { id?: unknown; method: string; params?: Json };
    if (id === undefined) return void response.writeHead(202).end();
    const schema = { type: "object", properties: harness() };
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: "x", version: "1" },
      },
      "tools/list": { tools: NAMES.map((name) => ({ name, inputSchema: schema, _meta: harness() })) },
      "prompts/list": { prompts: NAMES.map((name) => ({ name, arguments: [{ name }] })) },
      "resources/list": { resources: NAMES.map((name) => ({ uri: `${name}:x`.replace(/_/g, ""), name })) },
    };
    const echo = {
      content: [{ type: "text", text: JSON.stringify(params) }],
      structuredContent: params,
      _meta: harness(),
    };
    answer(asked, response, Object.hasOwn(results, method) ? results[method] : echo);
  });
  const entry = { url: server.url, protocol: "legacy", headers: { constructor: "a", toString: "b" } };
  const keys = NAMES.map((id) => ({
    id,
    hash: createHash("sha256").update(`key-of-${id}`).digest("hex"),
    groups: [id],
  }));
  const rules = NAMES.map((name) => {
    const globs = [`*__${name}`];
    return { name, tools: globs, prompts: globs, resources: ["*"], effect: "allow" };
  });
  const limits = NAMES.map((name) => ({ tools: [`*__${name}`], rate: "1000/s", per: "principal" }));
  const servers = NAMES.map((name) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`).join();
  const profiles = NAMES.map(
    (name) => `${JSON.stringify(`p-${name}`)}:{"servers":[${JSON.stringify(name)}]}`,
  ).join();
  const rest = JSON.stringify({
    listen: { http: { port: 0 }, admin: { port: 0 } },
    auth: { keys },
    policy: { default: "deny", rules },
    limits,
  });
  const text = `${rest.slice(0, -1)},"mcpServers":{${servers}},"profiles":{${profiles}}}`;
  const read = readConfig(text, "cardea.json", { env: {}, sections: SECTIONS });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  expect(await read.check()).toEqual([]);
  const features = await openedFeatures(read.config);
  gateway = createGateway(read.config, { logger: SILENT, version: "1.2.3", features });
  ({ url, adminUrl: admin } = await listening(gateway));
});
afterAll(async () => {
  await gateway.stop({ immediate: true });
  await server.close();
});

const as = (id: string, scope = ""): Wire =>
  httpWire(`${url}${scope}`, { authorization: `Bearer key-of-${id}` });

/** Its tools, as soon as those of all servers are there. */
const tools = (host: RawHost, count: number) =>
  until("the tools", async () => {
    const list = await host.list("tools");
    return list.length === count && list;
  });

describe.each([
  ["legacy", openLegacy],
  ["modern", openModern],
] as const)("a %s host", (_era, open) => {
  test("lists and reaches every server, tool, prompt and resource named like a member of Object.prototype", async () => {
    const host = await open(as("constructor"));
    const listed = await tools(host, NAMES.length ** 2);
    const expected = NAMES.flatMap((one) => NAMES.map((name) => `${one}__${name}`));
    expect(listed.map(({ name }) => name).sort()).toEqual(expected.sort());
    expect(same(listed[0]?._meta)).toBe(same(harness()));
    for (const one of NAMES) {
      const name = `${one}__${one}`;
      const { result = {} } = await host.request("tools/call", { name, arguments: harness() });
      const [block] = result.content as [{ text: string }];
      expect(same(JSON.parse(block.text))).toContain(`"name":${JSON.stringify(one)}`);
      expect(same((JSON.parse(block.text) as Json).arguments)).toBe(same(harness()));
      expect(same((result.structuredContent as Json).arguments)).toBe(same(harness()));
      expect(await host.request("prompts/get", { name })).toHaveProperty("result");
    }
    expect((await host.list("resources")).length).toBeGreaterThanOrEqual(NAMES.length);
    await host.close();
  });

  test("gets not-found errors for inherited names that the config does not have", async () => {
    const host = await open(as("toString"));
    await tools(host, NAMES.length ** 2);
    for (const name of [...NAMES, "__lookupGetter__", "isPrototypeOf"]) {
      for (const [method, params] of [
        ["tools/call", { name: `nobody__${name}` }],
        ["prompts/get", { name: `nobody__${name}` }],
        ["resources/read", { uri: `nobody:${name}` }],
        [name, {}],
        [`tools/${name}`, {}],
      ] as const) {
        const { error } = await host.request(method, params);
        expect([method, error?.code]).toEqual([method, expect.any(Number)]);
        expect(error?.code).not.toBe(-32603);
      }
    }
    await host.close();
  });

  test("may be a principal, and use a server path or profile, of any such name", async () => {
    for (const id of NAMES) {
      for (const scope of [id, `p-${id}`]) {
        const host = await open(as(id, `/${scope}`));
        expect(await tools(host, NAMES.length)).toHaveLength(NAMES.length);
        await host.close();
      }
    }
  });
});

test("paths of names that the config does not have get 404", async () => {
  const headers = { authorization: "Bearer key-of-valueOf", "content-type": "application/json" };
  for (const name of ["isPrototypeOf", "__lookupGetter__", "p-isPrototypeOf"]) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect((await fetch(`${url}/${name}`, { method: "POST", headers, body })).status).toBe(404);
  }
});

test("the admin API shows all such names", async () => {
  const get = async (path: string) => (await fetch(`${admin}${path}`)).text();
  const isUp = (metrics: string, name: string) => metrics.includes(`cardea_upstream_up{server="${name}"} 1`);
  await until("every server to be up", async () => {
    const metrics = await get("/metrics");
    return NAMES.every((name) => isUp(metrics, name));
  });
  const rows = JSON.parse(await get("/api/v1/servers")) as { name: string }[];
  expect(rows.map(({ name }) => name)).toEqual(NAMES);
  for (const name of NAMES) {
    const args = encodeURIComponent(JSON.stringify(harness()));
    const explain = async (): Promise<object> =>
      JSON.parse(await get(`/api/v1/explain?name=${name}__${name}&as=${name}&args=${args}`));
    await until("its tools to be known", async () => !("unknown" in (await explain())));
    expect(await explain()).toMatchObject({ server: name, rule: name });
  }
});

test("Object.prototype is not changed", () => {
  expect(ownNames()).toEqual(before);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});
