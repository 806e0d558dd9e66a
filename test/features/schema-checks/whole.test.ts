/** Checks and overrides as the config says them, through the whole gateway. */
import { afterAll, beforeAll, expect } from "vitest";
import type { Config } from "../../../src/config/config.js";
import { SILENT } from "../../../src/core/logger.js";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.js";
import { type JsonObject, objectAt } from "../../../src/wire/json.js";
import { openedFeatures, testOf } from "../../support/features.js";
import { configOf } from "../../support/gateway.js";
import {
  type Received,
  type RecordingServer,
  recordingServer,
} from "../../support/servers/recording-server.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

let server: RecordingServer;
let gateway: Gateway;
const received: Received[] = [];

const TOOL = {
  name: "run_sql",
  inputSchema: {
    type: "object",
    properties: {
      sql: { type: "string" },
      dsn: { type: "string" },
      limit: { type: "integer", maximum: 100 },
    },
    required: ["sql", "dsn", "limit"],
    additionalProperties: false,
  },
  outputSchema: { type: "object", properties: { rows: { type: "integer" } }, required: ["rows"] },
  annotations: { readOnlyHint: true },
};
let rows: unknown = 1;
const CHECKS = { arguments: true, results: true };

const configWith = (checks: object): Config => {
  const arguments_ = { defaults: { limit: 10 }, fixed: { dsn: "postgres://replica" } };
  return configOf({
    mcpServers: {
      db: {
        type: "http",
        url: server.url,
        checks,
        overrides: { run_sql: { name: "query", arguments: arguments_ } },
      },
    },
    policy: {
      rules: [
        { name: "no-writes", tools: ["db__query"], when: "!args.sql.startsWith('select')", effect: "deny" },
      ],
    },
  });
};

beforeAll(async () => {
  server = await recordingServer(
    "db",
    "modern",
    { tools: [TOOL] },
    (it) => void received.push(it),
    ({ method }) => (method === "tools/call" ? { content: [], structuredContent: { rows } } : undefined),
  );
  const config = configWith(CHECKS);
  const features = await openedFeatures(config);
  gateway = createGateway(config, { logger: SILENT, version: "1", features });
  await gateway.start();
});
afterAll(async () => {
  await gateway.stop({ immediate: true });
  await server.close();
});

async function call(args: JsonObject): Promise<unknown> {
  const reply = await gateway.call("db__query", args);
  if (reply.kind !== "result") return reply;
  return objectAt(objectAt(reply.result.object, "_meta"), "cardea/refusal")?.code ?? "done";
}

test("the server gets the arguments that rules and checks evaluated, with the fixed arguments of the config", async () => {
  const before = received.length;
  expect(await call({ sql: "select 1" })).toBe("done");
  expect(await call({ sql: "select 2", limit: 5, dsn: "postgres://primary" })).toBe("done");
  expect(received.slice(before).map(({ params }) => params)).toMatchObject([
    { name: "run_sql", arguments: { sql: "select 1", limit: 10, dsn: "postgres://replica" } },
    { name: "run_sql", arguments: { sql: "select 2", limit: 5, dsn: "postgres://replica" } },
  ]);
});

test("hosts see the schema without fixed arguments", async () => {
  const [{ item } = { item: {} }] = await gateway.lists("tools");
  expect(item).toMatchObject({
    name: "db__query",
    inputSchema: { required: ["sql"], properties: { sql: {}, limit: { default: 10 } } },
  });
  expect(JSON.stringify(item)).not.toContain("dsn");
});

test("invalid arguments reach no server, and are refused before any rule is evaluated", async () => {
  const before = received.length;
  expect(await call({ sql: "drop", limit: 1000 })).toBe("bad_request");
  expect(await call({ sql: "drop" })).toBe("denied");
  expect(await call({ sql: "select", other: 1 })).toBe("bad_request");
  expect(received.length).toBe(before);
  rows = "many";
  expect(await call({ sql: "select 3" })).toBe("denied");
  expect(received.length).toBe(before + 1);
  rows = 1;
});

test("explain evaluates checks and rules without a call", async () => {
  const supposed = { name: "db__query", as: "ann", scopes: [] };
  const before = received.length;
  expect(await gateway.explain({ ...supposed, args: { sql: "drop", limit: 1000 } })).toMatchObject({
    server: "db",
    target: "run_sql",
    effect: "deny",
    rule: "no-writes",
    badArguments: "limit must be at most 100",
    rules: [{ rule: "no-writes", matches: true, why: "it matches by its tools, when" }],
  });
  const fine = await gateway.explain({ ...supposed, args: { sql: "select" } });
  expect(fine).toMatchObject({ effect: "allow", rule: "default" });
  expect(fine).not.toHaveProperty("badArguments");
  expect(received.length).toBe(before);
});

test("a reload changes the checks and restarts no server", async () => {
  await gateway.reload(configWith({ maxResultBytes: 20 }));
  expect(await call({ sql: "select 4", limit: 1000 })).toBe("denied");
  expect(received.at(-1)?.params.arguments).toMatchObject({ limit: 1000 });
  await gateway.reload(configWith({}));
  expect(await call({ sql: "select 5", limit: 1000, other: 1 })).toBe("done");
  await gateway.reload(configWith(CHECKS));
});
