import { describe, expect, test, vi } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, itemsOf, names, server, tool } from "./support.js";

const db = () =>
  fakeUpstream("db", {
    lists: {
      tools: [
        tool("run_sql", {
          title: "Run SQL",
          description: "Runs SQL.",
          inputSchema: {
            type: "object",
            properties: {
              sql: { type: "string" },
              dsn: { type: "string", "x-mcp-header": "Dsn" },
              limit: { type: "integer", minimum: 1 },
            },
            required: ["sql", "dsn", "limit"],
            additionalProperties: false,
          },
          annotations: { readOnlyHint: true },
        }),
        tool("status"),
      ],
    },
  });

const overrides = {
  run_sql: {
    name: "query",
    title: "Ask the database",
    description: "Runs one read-only query.",
    arguments: { defaults: { limit: 100 }, fixed: { dsn: "postgres://replica" } },
  },
};
const overridden = () => catalogOf([db()], { servers: [server("db", { overrides })] });

describe("a tool that the config overrides", () => {
  test("is shown with the title and description of the config; the rest is the server's", async () => {
    const catalog = overridden();
    await catalog.prepare(fakeClient());
    expect(itemsOf(catalog, "tools")).toEqual([
      {
        name: "db__query",
        title: "Ask the database",
        description: "Runs one read-only query.",
        inputSchema: {
          type: "object",
          properties: { sql: { type: "string" }, limit: { type: "integer", minimum: 1, default: 100 } },
          required: ["sql"],
          additionalProperties: false,
        },
        annotations: { readOnlyHint: true },
      },
      { name: "db__status", inputSchema: { type: "object" } },
    ]);
  });

  test("is called by the server's own name, under the new name and under the old", async () => {
    const catalog = overridden();
    await catalog.prepare(fakeClient());
    const view = catalog.view(fakeClient());
    for (const name of ["db__query", "run_sql"]) {
      expect(view.find("tools", name)).toMatchObject({
        upstream: "db",
        target: "run_sql",
        exposed: "db__query",
        configuredArguments: { fixed: { dsn: "postgres://replica" } },
        item: { name: "run_sql", title: "Run SQL" },
      });
    }
    expect(view.find("tools", "db__run_sql")).toBeUndefined();
    expect(view.findOnServer("tools", "db", "run_sql")?.exposed).toBe("db__query");
  });

  test("is shown so at /mcp/NAME too, where its name needs no prefix", async () => {
    const catalog = overridden();
    const alone = fakeClient({ endpoint: "db" });
    await catalog.prepare(alone);
    expect(names(catalog, "tools", alone)).toEqual(["query", "status"]);
    expect(catalog.view(alone).find("tools", "query")).toMatchObject({
      target: "run_sql",
      exposed: "query",
      aggregateName: "db__query",
    });
  });

  test("hosts get the headers of the visible arguments, not of configured ones", async () => {
    const catalog = overridden();
    await catalog.prepare(fakeClient());
    const shown = catalog.toolEntry(fakeClient(), "db__query");
    expect(JSON.stringify(shown?.inputSchema)).not.toContain("x-mcp-header");
    expect(JSON.stringify(catalog.view(fakeClient()).find("tools", "db__query")?.item)).toContain(
      "x-mcp-header",
    );
  });

  test("keeps its list when nothing changes, so that no list_changed is sent", async () => {
    const upstream = db();
    const catalog = catalogOf([upstream], { servers: [server("db", { overrides })] });
    await catalog.prepare(fakeClient());
    const before = catalog.view(fakeClient()).list("tools").revision;
    upstream.listChanged("tools");
    await vi.waitFor(
      () => expect(upstream.listed.filter((list) => list === "tools@shared")).toHaveLength(2),
      {
        timeout: 60_000,
      },
    );
    expect(catalog.view(fakeClient()).list("tools").revision).toBe(before);
  });
});

test("a new name that another tool has goes to the one that is listed first, the other gets a hash", async () => {
  const upstream = fakeUpstream("db", { lists: { tools: [tool("a"), tool("b"), tool("c")] } });
  const servers = [server("db", { overrides: { a: { name: "b" }, c: { name: "a" } } })];
  const catalog = catalogOf([upstream], { servers });
  await catalog.prepare(fakeClient());
  const [first, second, third] = names(catalog);
  expect([first, third]).toEqual(["db__b", "db__a"]);
  expect(second).toMatch(/^db__b_[a-z2-7]{8}$/);
  const own = names(catalog, "tools", fakeClient({ endpoint: "db" }));
  expect([own[0], own[2]]).toEqual(["b", "a"]);
  expect(own[1]).toMatch(/^b_[a-z2-7]{8}$/);
  const target = (name: unknown) => catalog.view(fakeClient()).find("tools", String(name))?.target;
  expect([first, second, third].map(target)).toEqual(["a", "b", "c"]);
});

test("the filters of a server go by its own names", async () => {
  const servers = [server("db", { overrides, tools: { allow: ["*"], deny: ["run_sql"] } })];
  const catalog = catalogOf([db()], { servers });
  await catalog.prepare(fakeClient());
  expect(names(catalog)).toEqual(["db__status"]);
});

test("an override of an unknown tool is logged once, with its name", async () => {
  const warn = vi.fn();
  const upstream = db();
  const catalog = catalogOf([upstream], {
    servers: [server("db", { overrides: { run_sgl: { title: "x" }, status: { title: "y" } } })],
    logger: { ...SILENT, warn },
  });
  await catalog.prepare(fakeClient());
  upstream.setList("tools", [tool("status")]).listChanged("tools");
  await vi.waitFor(() => expect(names(catalog)).toEqual(["db__status"]), { timeout: 60_000 });
  expect(warn.mock.calls).toEqual([
    [{ server: "db", tool: "run_sgl" }, "the config overrides a tool that the server does not list"],
  ]);
});

test("a schema whose required arguments are all configured requires none", async () => {
  const upstream = fakeUpstream("x", {
    lists: {
      tools: [
        tool("t", { inputSchema: { type: "object", properties: { a: true, b: {} }, required: ["a", "b"] } }),
        tool("u", { inputSchema: { type: "object" } }),
      ],
    },
  });
  const given = { arguments: { defaults: { a: 1 }, fixed: { b: 2, other: 3 } } };
  const catalog = catalogOf([upstream], { servers: [server("x", { overrides: { t: given, u: given } })] });
  await catalog.prepare(fakeClient());
  expect(itemsOf(catalog, "tools").map(({ inputSchema }) => inputSchema)).toEqual([
    { type: "object", properties: { a: true } },
    { type: "object" },
  ]);
});
