import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ToolOverrides } from "../../../src/catalog/overrides.js";
import { readConfig } from "../../../src/config/read.js";
import { type Call, compose, type Handler, type Reply } from "../../../src/core/call.js";
import { SILENT } from "../../../src/core/logger.js";
import { compilePolicy } from "../../../src/features/policy/faults.js";
import { createPolicy, type Policy } from "../../../src/features/policy/policy.js";
import { Slots } from "../../../src/gateway/slots.js";
import { errorBoundary } from "../../../src/resilience/error-boundary.js";
import { configuredArguments } from "../../../src/routing/configured-arguments.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { clientOf, result, routeTo, toolCall, wordOf } from "../../support/calls.js";
import { openedFeatures, SECTIONS, testOf } from "../../support/features.js";
import { throughCallTool } from "../../support/through.js";
import { until } from "../../support/until.js";
import { uncounted } from "./support.js";

const page = readFileSync(new URL("../../../docs/policy.md", import.meta.url), "utf8");
const recipes = new Map(
  [...page.matchAll(/^### (\d+)\. .*?```jsonc\n(.*?)```/gms)].map(([, number, text]) => [
    Number(number),
    text ?? "",
  ]),
);

const FEATURES_OPEN = await openedFeatures({ features: {} });

function recipe(number: number, server: Handler = async () => result({})) {
  const outcome = readConfig(recipes.get(number) ?? "", "docs/policy.jsonc", { env: {}, sections: SECTIONS });
  expect(outcome.problems).toEqual([]);
  if (!outcome.ok) throw new Error("not reached");
  const { config } = outcome;
  expect(compilePolicy(config.features).faults).toEqual([]);
  const metrics = new Metrics({ version: "1", process: false });
  const policy: Policy = createPolicy(config.features, { metrics: uncounted(), logger: SILENT });
  const checked = new Slots(FEATURES_OPEN, metrics).call(config)("checkArguments");
  const handle = compose(
    [errorBoundary(SILENT), configuredArguments, ...checked, policy.access, policy.limits],
    server,
  );
  return { config, policy, handle: throughCallTool(handle) };
}

const person = (groups: readonly string[] = [], claims: JsonObject = {}) =>
  clientOf({
    principal: { id: "ann", groups, claims },
    capabilities: { elicitation: {}, sampling: {} },
  });
const object = (reply: Reply): JsonObject => (reply.kind === "result" ? reply.result.object : {});
const annotated = (call: Call, annotations: JsonObject): Call =>
  call.route === undefined ? call : { ...call, route: { ...call.route, item: { name: "x", annotations } } };

/** Asks once, and returns the answer. */
const asks =
  (requests: JsonObject): Handler =>
  async ({ inputResponses }) =>
    inputResponses === undefined ? { kind: "input_required", requests } : result({ told: inputResponses });

test("all of them are tested here", () => {
  expect([...recipes.keys()]).toEqual(Array.from({ length: 15 }, (_, at) => at + 1));
});

describe("1. production is read-only", () => {
  test.each([
    ["select_rows", "prod", "result"],
    ["insert_rows", "prod", "denied"],
    ["insert_rows", "test", "result"],
  ])("%s on %s: %s", async (tool, env, word) => {
    expect(wordOf(await recipe(1).handle(toolCall("db", tool, { env })))).toBe(word);
  });
});

test("2. deleting needs an approval, once", async () => {
  const { handle } = recipe(2);
  const call = toolCall("db", "drop_table", { name: "t" }, { client: person() });
  const asked = await handle(call);
  const state = asked.kind === "input_required" ? (asked.state ?? {}) : {};
  const inputResponses = { responses: { "cardea/approval": { action: "accept" } }, state };
  expect(wordOf(await handle({ ...call, inputResponses }))).toBe("result");
  expect(wordOf(await handle(call))).toBe("result");
  expect(wordOf(await handle(toolCall("db", "drop_table", { name: "u" }, { client: person() })))).toBe(
    "input_required",
  );
});

describe("3. only what is listed", () => {
  test.each<[string, string, ReturnType<typeof person>, string]>([
    ["files", "read_text", person(), "result"],
    ["files", "write_text", person(), "denied"],
    ["files", "write_text", person(["dev"]), "result"],
    ["ci", "deploy", person(["dev"]), "denied"],
    ["ci", "deploy", person([], { scope: "read deploy" }), "result"],
  ])("%s__%s", async (server, tool, client, word) => {
    expect(wordOf(await recipe(3).handle(toolCall(server, tool, {}, { client })))).toBe(word);
  });
});

test("4. only some people see the server", () => {
  const { policy } = recipe(4);
  const sees = (groups: readonly string[], server: string) =>
    policy.visible?.(person(groups), routeTo(server, "x"));
  expect([sees([], "infra"), sees(["ops"], "infra"), sees([], "files")]).toEqual([false, true, true]);
});

test("5. nothing that changes anything", async () => {
  const { handle } = recipe(5);
  expect(wordOf(await handle(annotated(toolCall("a", "b"), { readOnlyHint: true })))).toBe("result");
  expect(wordOf(await handle(annotated(toolCall("a", "b"), {})))).toBe("denied");
});

describe("6. paths stay inside", () => {
  test.each([
    [{ path: "/srv/data/a" }, "result"],
    [{ path: "/srv/data/../etc/passwd" }, "denied"],
    [{ path: "/etc/passwd" }, "denied"],
    [{ path: ["/etc/passwd"] }, "denied"],
    [{}, "result"],
  ])("%j: %s", async (args, word) => {
    expect(wordOf(await recipe(6).handle(toolCall("files", "read", args)))).toBe(word);
  });
});

describe("7. no passwords, no strange pages", () => {
  const form = (message: string, properties: JsonObject = {}) => ({
    message,
    requestedSchema: { type: "object", properties },
  });
  test.each<[JsonObject, string]>([
    [form("Your favourite colour?"), "input_required"],
    [form("Your PASSWORD?"), "result"],
    [form("Sign in", { passwd: { type: "string" } }), "result"],
    [{ mode: "url", message: "Sign in", url: "https://github.com/login" }, "input_required"],
    [{ mode: "url", message: "Sign in", url: "https://github.com.evil.example/login" }, "result"],
  ])("%j: %s", async (params, word) => {
    const { handle } = recipe(7, asks({ q: { method: "elicitation/create", params } }));
    const reply = await handle(toolCall("a", "b", {}, { client: person() }));
    expect(wordOf(reply)).toBe(word);
    if (word === "result") {
      expect(object(reply).told).toMatchObject({ responses: { q: { action: "decline" } } });
    }
  });
});

test("8. what servers may spend", async () => {
  const params = { messages: [], maxTokens: 9000, includeContext: "allServers" };
  const { handle } = recipe(8, asks({ q: { method: "sampling/createMessage", params } }));
  const ask = (server: string) => handle(toolCall(server, "think", {}, { client: person() }));
  expect(await ask("research")).toMatchObject({
    requests: { q: { params: { messages: [], maxTokens: 2000 } } },
  });
  expect(object(await ask("chatty")).told).toMatchObject({ refusals: { q: { code: -1 } } });
  for (let i = 0; i < 99; i += 1) expect(wordOf(await ask("research"))).toBe("input_required");
  expect(object(await ask("research")).told).toMatchObject({ refusals: { q: { code: -1 } } });
});

test("9. keys do not leave", async () => {
  const seen: Call[] = [];
  const { handle } = recipe(9, async (call) => {
    seen.push(call);
    return result({
      content: [{ type: "text", text: "key: sk-abcdefghijklmnopqrstuvwxyz234567, internal-123456" }],
      structuredContent: { users: [{ name: "ann", passwordHash: "x" }] },
    });
  });
  expect(object(await handle(toolCall("db", "query", { debug: "x", sql: "y" })))).toEqual({
    content: [{ type: "text", text: "key: [redacted], [redacted]" }],
    structuredContent: { users: [{ name: "ann", passwordHash: "[redacted]" }] },
  });
  expect(seen[0]?.params.arguments).toEqual({ debug: "[redacted]", sql: "y" });
});

test("10. a rate limit per principal", async () => {
  const { policy, handle } = recipe(10, () => new Promise(() => undefined));
  const call = (server: string, tool: string) => toolCall(server, tool, {}, { client: person() });
  for (let i = 0; i < 5; i += 1) void handle(call("search", "web"));
  const refused = object(await handle(call("search", "web")));
  expect(refused._meta).toMatchObject({ "cardea/refusal": { code: "rate_limited", rule: "polite-search" } });
  for (let i = 0; i < 3; i += 1) void handle(call("studio", "render"));
  expect(wordOf(await handle(call("studio", "render")))).toBe("queue_full");
  expect(policy.timeoutMs?.(call("studio", "render"))).toBe(1_800_000);
});

describe("11. a tool with fewer choices", () => {
  const inputSchema = {
    type: "object",
    properties: { sql: {}, dsn: {}, limit: {} },
    required: ["sql", "dsn"],
  };

  test("is shown so", () => {
    const { config } = recipe(11);
    const shown = new ToolOverrides(config.servers[0]?.overrides ?? {}).of("run_sql");
    expect(shown?.name).toBe("query");
    expect(shown?.apply({ name: "run_sql", inputSchema })).toMatchObject({
      description: "Runs one read-only SQL query against the replica.",
      inputSchema: { required: ["sql"], properties: { sql: {}, limit: { default: 100 } } },
    });
  });

  test.each([
    ["select 1", "result"],
    ["  EXPLAIN select 1", "result"],
    ["drop table t", "denied"],
  ])("%s: %s", async (sql, word) => {
    const seen: Call[] = [];
    const { config, handle } = recipe(11, async (call) => {
      seen.push(call);
      return result({});
    });
    const configuredArguments = config.servers[0]?.overrides?.run_sql?.arguments;
    const call = toolCall("db", "query", { sql, dsn: "postgres://primary" });
    const route = {
      ...routeTo("db", "query"),
      ...(configuredArguments !== undefined && { configuredArguments }),
    };
    expect(wordOf(await handle({ ...call, route }))).toBe(word);
    const args = { limit: 100, sql, dsn: "postgres://replica/main" };
    expect(seen.map(({ params }) => params.arguments)).toEqual(word === "result" ? [args] : []);
  });
});

testOf("schema-checks").each([
  [{ sql: "x" }, "result"],
  [{ sql: 1 }, "bad_request"],
  [{ sql: "x".repeat(70_000) }, "too_large"],
])("12. nothing but what the tool asks for, case %#", async (args, word) => {
  const item = { name: "query", inputSchema: { type: "object", properties: { sql: { type: "string" } } } };
  const call = toolCall("db", "query", args);
  expect(wordOf(await recipe(12).handle({ ...call, route: { ...routeTo("db", "query"), item } }))).toBe(word);
});

test.each([
  [{ text: "my key is AKIAIOSFODNN7EXAMPLE" }, "denied"],
  [{ a: [{ b: "ghp_0123456789abcdefghijABCDEFGHIJ012345" }] }, "denied"],
  [{ text: "-----BEGIN OPENSSH PRIVATE KEY-----" }, "denied"],
  [{ text: "sk-learn is a library, AKIA a prefix" }, "result"],
])("13. keys are not sent to other servers: %j", async (args, word) => {
  expect(wordOf(await recipe(13).handle(toolCall("b", "write", args)))).toBe(word);
});

test("14. a daily quota", async () => {
  const { config, handle } = recipe(14);
  expect(config.features.limits?.[0]?.quota).toEqual({ count: 1000, windowMs: 86_400_000 });
  const words: string[] = [];
  for (let at = 0; at < 12; at += 1)
    words.push(wordOf(await handle(toolCall("paid", "ask", {}, { client: person() }))));
  expect(words.filter((word) => word === "result")).toHaveLength(10);
  expect(words.slice(10)).toEqual(["rate_limited", "rate_limited"]);
});

test("15. a second person decides about production", async () => {
  const { config, policy, handle } = recipe(15);
  expect(config.features.policy?.rules[1]?.approvalTimeoutMs).toBe(1_800_000);
  expect(wordOf(await handle(toolCall("ci", "deploy", { env: "test" })))).toBe("result");
  const reply = handle(toolCall("ci", "deploy", { env: "prod" }, { client: person(["leads"]) }));
  const [waiting] = await until("the approval", () => policy.open.size > 0 && policy.open.list());
  const decide = (id: string, groups: readonly string[]) =>
    policy.open.decide(waiting?.id ?? "", "accepted", { principal: { id, groups }, isOperator: false });
  expect(decide("ann", ["leads"])).toMatch("a call of your own");
  expect(decide("bob", ["leads"])).toBeUndefined();
  expect(wordOf(await reply)).toBe("result");
});
