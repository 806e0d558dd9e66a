/** What the definitions of tools cost, at each URL and for each server. */
import { expect, test } from "vitest";
import { readConfig } from "../../../src/config/read.js";
import { tokenReport } from "../../../src/features/token-counts/report.js";
import type { Pipeline } from "../../../src/gateway/pipeline.js";
import { Slots } from "../../../src/gateway/slots.js";
import { onlySafeLinks } from "../../../src/resilience/safe-links.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { catalogOf, tool } from "../../catalog/support.js";
import { fakeTime } from "../../support/fake-time.js";
import { fakeUpstream } from "../../support/fake-upstream.js";
import { openedFeatures, SECTIONS, testOf } from "../../support/features.js";

fakeTime();

const LONG = "Finds books by title. ".repeat(60).trim();
const files = [
  tool("read", { description: "Reads a file." }),
  tool("write", { description: "Writes the text into a file." }),
];
const books = [tool("find", { description: LONG, annotations: { readOnlyHint: true } })];

const FEATURES_OF_REPORT = await openedFeatures({ features: {} });

/** As much of a pipeline as the report reads, of this config. */
function pipelineOf(config: JsonObject, lists: Readonly<Record<string, readonly JsonObject[]>>): Pipeline {
  const mcpServers = Object.fromEntries(Object.keys(lists).map((name) => [name, { command: "x" }]));
  const options = { sections: SECTIONS };
  const outcome = readConfig(JSON.stringify({ mcpServers, ...config }), "cardea.json", options);
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(outcome.problems[0]?.message);
  const { servers, naming, profiles } = outcome.config;
  const features = new Slots(FEATURES_OF_REPORT, new Metrics({ version: "0" }));
  const transform = features.lists(outcome.config);
  const upstreams = Object.entries(lists).map(([name, tools]) =>
    fakeUpstream(name, { lists: { tools }, instructions: `Ask for ${name}.` }),
  );
  return {
    config: outcome.config,
    servers: new Map(
      upstreams.map((upstream, at) => [upstream.name, { config: servers[at], upstream }] as const),
    ),
    features,
    policy: onlySafeLinks(),
    catalog: catalogOf(upstreams, {
      servers,
      naming,
      profiles,
      lists: transform,
      forms: features.forms(outcome.config),
    }),
  } as unknown as Pipeline;
}

test("the whole gateway and each profile have a row per server, which sum up", async () => {
  const pipeline = pipelineOf(
    { profiles: { reading: { servers: ["files"], tools: { deny: ["*write"] } } } },
    {
      files,
      books,
    },
  );
  const { endpoints } = await tokenReport(() => pipeline, {});
  expect(endpoints.map(({ path, tools }) => [path, tools])).toEqual([
    ["/mcp", 3],
    ["/mcp/reading", 1],
  ]);
  expect(endpoints[0]?.servers.map(({ server, tools }) => [server, tools])).toEqual([
    ["files", 2],
    ["books", 1],
  ]);
  for (const { tokens, bytes, instructions, servers } of endpoints) {
    expect(instructions).toBeGreaterThan(0);
    expect(servers.reduce((sum, row) => sum + row.tokens, instructions)).toBe(tokens);
    expect(servers.reduce((sum, row) => sum + row.bytes, 0)).toBe(bytes);
    const shares = servers.reduce((sum, { share }) => sum + share, 0);
    expect(shares).toBeCloseTo(1 - instructions / tokens, 2);
  }
});

test("tokens count name, description and input schema; bytes the whole entry", async () => {
  const plain = pipelineOf({}, { files: [tool("read")] });
  const rich = pipelineOf(
    {},
    {
      files: [
        tool("read", {
          title: "Read",
          annotations: { readOnlyHint: true },
          outputSchema: { type: "object" },
        }),
      ],
    },
  );
  const [one] = (await tokenReport(() => plain, {})).tools;
  const [other] = (await tokenReport(() => rich, {})).tools;
  expect(other?.tokens).toBe(one?.tokens);
  expect(one?.bytes).toBe('{"name":"files__read","inputSchema":{"type":"object"}}'.length);
  expect(other?.bytes).toBeGreaterThan(one?.bytes ?? 0);
});

test("tools have the number of their calls, the most expensive first", async () => {
  const pipeline = pipelineOf({}, { files, books });
  const counts: Readonly<Record<string, ReadonlyMap<string, number>>> = { files: new Map([["read", 3]]) };
  const since = new Date(Date.now() - 90_000);
  const { tools, counted } = await tokenReport(() => pipeline, {
    calls: { since, of: (server) => counts[server] },
  });
  expect(tools.map(({ name, target, calls }) => [name, target, calls])).toEqual([
    ["books__find", "find", undefined],
    ["files__write", "write", 0],
    ["files__read", "read", 3],
  ]);
  expect(counted).toEqual({ since: since.toISOString(), seconds: 90 });
  expect((await tokenReport(() => pipeline, {})).tools.every(({ calls }) => calls === undefined)).toBe(true);
});

testOf("tool-definitions")(
  "savings of shorter definitions are listed if they are not enabled yet",
  async () => {
    const lists = { files, books };
    const keys = async (config: JsonObject) => {
      const pipeline = pipelineOf(config, lists);
      return (await tokenReport(() => pipeline, {})).savings.map(({ key }) => key);
    };
    expect(await keys({})).toEqual(["descriptions.maxLength"]);
    expect(await keys({ descriptions: { maxLength: 1_200 } })).toEqual([]);
    const described = { overrides: { find: { description: LONG } } };
    expect(
      await keys({ mcpServers: { files: { command: "x" }, books: { command: "x", ...described } } }),
    ).toEqual([]);
  },
);

testOf("tool-search")("with tool search a URL costs the two tools and the instructions", async () => {
  const pipeline = pipelineOf(
    { tools: { exposure: "search" }, profiles: { whole: { tools: { exposure: "full" } } } },
    { files, books },
  );
  const { endpoints, tools, savings } = await tokenReport(() => pipeline, {});
  expect(endpoints.map(({ path, servers }) => [path, servers.map(({ server }) => server)])).toEqual([
    ["/mcp", ["cardea"]],
    ["/mcp/whole", ["files", "books"]],
  ]);
  expect(tools).toHaveLength(3);
  expect(savings.map(({ key }) => key)).not.toContain("tools.exposure");
});

testOf("tool-search")("search is proposed for a list above the threshold of auto", async () => {
  const many = Array.from({ length: 60 }, (_, at) => tool(`find${at}`, { description: LONG }));
  const whole = pipelineOf({}, { books: many });
  const { endpoints, savings } = await tokenReport(() => whole, {});
  const [saving] = savings;
  expect(saving).toMatchObject({ key: "tools.exposure", value: "search" });
  expect(saving?.tokens).toBeLessThan(endpoints[0]?.tokens ?? 0);
  const short = pipelineOf({}, { books });
  const few = await tokenReport(() => short, {});
  expect(few.savings.map(({ key }) => key)).not.toContain("tools.exposure");
});
