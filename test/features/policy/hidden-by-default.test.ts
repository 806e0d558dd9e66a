/** `policy.default: "hide"`: what no rule allows behaves as if no server had it, at hosts of both eras. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { OWN_RESOURCES, testOf } from "../../support/features.js";
import { HOSTS, openGateway, type Running, type Server } from "../../support/open-gateway.js";

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
const CONFIG = {
  policy: {
    default: "hide",
    rules: [
      { tools: ["open__read"], effect: "allow" },
      { prompts: ["open__plan"], effect: "allow" },
      { resources: ["open+file:///pub*", "open+file:///t/*"], effect: "allow" },
      { methods: ["ops/run"], servers: ["open"], effect: "allow" },
      { tools: ["other__*"], principals: ["ann"], effect: "allow" },
    ],
  },
};
const OPS = { experimental: { ops: {} } };
/** With more than the rules allow bob, and with no more than that. */
const ALL: Readonly<Record<string, Server>> = {
  open: {
    tools: [tool("read"), tool("write")],
    prompts: ["plan", "secret"],
    resources: ["file:///pub", "file:///private"],
    templates: ["file:///t/{x}", "file:///u/{x}"],
    capabilities: OPS,
    era: "legacy",
  },
  other: { tools: [tool("only")], prompts: ["ask"], resources: ["file:///o"], capabilities: OPS },
};
const ALLOWED: Readonly<Record<string, Server>> = {
  open: {
    tools: [tool("read")],
    prompts: ["plan"],
    resources: ["file:///pub"],
    templates: ["file:///t/{x}"],
    capabilities: OPS,
    era: "legacy",
  },
};
/** This address does not answer. */
const AWAY = { away: { type: "http", url: "http://127.0.0.1:9/mcp" } };

/** Shared by all tests, which change nothing. */
let both: readonly [Running, Running];
const endings: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const ends = (end: () => Promise<void>): void => void endings.push(end);
  both = [await openGateway(ALL, CONFIG, AWAY, ends), await openGateway(ALLOWED, CONFIG, {}, ends)];
});
afterAll(async () => {
  for (const end of endings) await end();
});

const complete = (ref: JsonObject) => ({ ref, argument: { name: "a", value: "" } });

describe.each(HOSTS)("for a $era host over $door", (kind) => {
  test.each<[string, JsonObject]>([
    ["tools/list", {}],
    ["prompts/list", {}],
    ["resources/list", {}],
    ["resources/templates/list", {}],
    ["tools/call", { name: "open__read", arguments: {} }],
    ["tools/call", { name: "open__write", arguments: {} }],
    ["tools/call", { name: "write", arguments: {} }],
    ["tools/call", { name: "other__only", arguments: {} }],
    ["tools/call", { name: "away__read", arguments: {} }],
    ["prompts/get", { name: "open__secret" }],
    ["resources/read", { uri: "open+file:///private" }],
    ["resources/read", { uri: "open+file:///pub/../private" }],
    ["resources/read", { uri: "other+file:///o" }],
    ["resources/subscribe", { uri: "open+file:///private" }],
    ["completion/complete", complete({ type: "ref/prompt", name: "open__secret" })],
    ["completion/complete", complete({ type: "ref/resource", uri: "open+file:///u/{x}" })],
    ["ops/run", {}],
    ["ops/other", {}],
    ["ops/run", { name: "open__write" }],
    ["tasks/list", {}],
  ])("%s %j is answered as if nothing else were there", async (method, params) => {
    const answers = await Promise.all(
      both.map(async (running) => (await running.host(kind, "bob")).send(1, method, params)),
    );
    expect(answers[0]).toEqual(answers[1]);
  });

  test("what a rule allows is listed and served", async () => {
    const host = await both[0].host(kind, "bob");
    const names = async (method: string, list: string, key: string) => {
      const answer = await host.send(method, method, {});
      return ((answer.result as JsonObject)[list] as JsonObject[]).map((entry) => entry[key]);
    };
    expect(await names("tools/list", "tools", "name")).toEqual(["open__read"]);
    expect(await names("prompts/list", "prompts", "name")).toEqual(["open__plan"]);
    expect(await names("resources/list", "resources", "uri")).toEqual(["open+file:///pub", ...OWN_RESOURCES]);
    expect(await host.send(9, "tools/call", { name: "open__read", arguments: {} })).toHaveProperty("result");
    expect(await host.send(10, "ops/run", {})).toHaveProperty("result");
  });

  test("the gateway introduces itself with no more than that", async () => {
    const [first, second] = await Promise.all(
      both.map(async (running) => (await running.host(kind, "bob")).introduction()),
    );
    expect(first).toEqual(second);
  });
});

testOf("admin")("operators see the call, and why", async () => {
  const [{ gateway, adminUrl }] = both;
  const host = await both[0].host({ era: "modern", door: "http" }, "bob");
  await host.send(1, "tools/call", { name: "other__only", arguments: {} });
  const rows = (await (await fetch(`${adminUrl}/api/v1/decisions`)).json()) as readonly JsonObject[];
  expect(rows[0]).toMatchObject({ effect: "hide", rule: "default", target: "other__only", principal: "bob" });
  expect(await gateway.lists("tools")).toBeDefined();
});

test("each principal has what rules allow it", async () => {
  const host = await both[0].host({ era: "modern", door: "http" }, "ann");
  const { result } = await host.send(1, "tools/list", {});
  const names = ((result as JsonObject).tools as JsonObject[]).map(({ name }) => name);
  expect(names).toEqual(["open__read", "other__only"]);
});
