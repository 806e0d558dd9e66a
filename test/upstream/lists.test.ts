/** Lists of both eras: all pages, no circles, and only what can be used. */
import { setImmediate } from "node:timers";
import { describe, expect, test, vi } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import type { JsonObject } from "../../src/wire/json.js";
import { type FakeServer, HTTP, legacyServer, modernServer, RpcFailure } from "../support/fake-channel.js";
import { fakeTime } from "../support/fake-time.js";
import { client, failure, meet, settled } from "../support/met-upstream.js";

fakeTime();

const never = (): AbortSignal => new AbortController().signal;
const over = { transport: HTTP };
const a = { name: "a", inputSchema: { type: "object" } };
const many = (member: (n: number) => readonly [string, unknown]): JsonObject =>
  Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => member(n)));
const at = (cursor: unknown, start: string): string => (typeof cursor === "string" ? cursor : start);

describe.each<[string, () => FakeServer, JsonObject]>([
  ["legacy", legacyServer, {}],
  ["modern", modernServer, { resultType: "complete" }],
])("a %s server's list", (_era, newServer, extra) => {
  test("is read to its last page, whatever the cursors look like", async () => {
    const pages: Record<string, JsonObject> = {
      first: { tools: [{ ...a, odd: { kept: 1 } }], nextCursor: "" },
      "": { tools: [{ ...a, name: "b" }], nextCursor: "p3" },
      p3: { tools: [{ ...a, name: "c" }] },
    };
    const server = newServer().on("tools/list", ({ cursor }) => ({
      ...pages[at(cursor, "first")],
      ...extra,
    }));
    const { upstream } = await meet(server);
    const { items } = await upstream.list("tools", undefined, never());
    expect(items).toEqual([
      { ...a, odd: { kept: 1 } },
      { ...a, name: "b" },
      { ...a, name: "c" },
    ]);
  });

  test("has the objects of the list before where an entry has the same text, in any order", async () => {
    const entry = (name: string, rest: JsonObject = {}): JsonObject => ({ ...a, name, ...rest });
    const now = { tools: [entry("one"), entry("two", { n: { kept: [1, "x"] } }), entry("three")] };
    const server = newServer().on("tools/list", () => structuredClone({ ...now, ...extra }));
    const { upstream } = await meet(server);
    const first = await upstream.list("tools", undefined, never());
    now.tools = [entry("three"), entry("new"), entry("two", { n: { kept: [1, "y"] } }), entry("one")];
    const second = await upstream.list("tools", undefined, never(), first.items);
    expect(second.items).toEqual(now.tools);
    expect(second.items.map((item) => first.items.indexOf(item))).toEqual([2, -1, -1, 0]);
  });

  test("has an entry no longer that becomes malformed, and again when it is well", async () => {
    const now: { tools: readonly unknown[] } = { tools: [a, { ...a, name: "b" }] };
    const server = newServer().on("tools/list", () => structuredClone({ ...now, ...extra }));
    const { upstream } = await meet(server);
    const { items } = await upstream.list("tools", undefined, never());
    now.tools = [a, { name: "b", inputSchema: { type: "array" } }];
    const second = await upstream.list("tools", undefined, never(), items);
    expect(second).toMatchObject({ items: [a], malformed: [{ name: "b", member: "inputSchema.type" }] });
    now.tools = [{ ...a, name: "b" }, a];
    const third = await upstream.list("tools", undefined, never(), second.items);
    expect(third).toMatchObject({ items: now.tools, malformed: [] });
  });

  test("is cut if its cursors loop", async () => {
    const next: Record<string, string> = { "": "x", x: "y", y: "x" };
    const server = newServer().on("prompts/list", ({ cursor }) => ({
      prompts: [{ name: `after ${at(cursor, "nothing")}` }],
      nextCursor: next[at(cursor, "")],
      ...extra,
    }));
    const warn = vi.fn();
    const { upstream } = await meet(server, {}, { log: { ...SILENT, warn } });
    const { items } = await upstream.list("prompts", undefined, never());
    expect(items).toHaveLength(3);
    expect(warn).toHaveBeenCalledOnce();
  });

  test.each([
    ["tools", 10_000],
    ["prompts", 10_000],
    ["resources", 20_000],
    ["resourceTemplates", 20_000],
  ] as const)("is cut if it has more %s than %i, which is reported", async (kind, most) => {
    const key = { tools: "name", prompts: "name", resources: "uri", resourceTemplates: "uriTemplate" }[kind];
    const method = { tools: "tools/list", prompts: "prompts/list", resources: "resources/list" };
    const entries = Array.from({ length: most + 1 }, (_, n) => ({ ...a, [key]: `x:${n}` }));
    const server = newServer().on(
      kind === "resourceTemplates" ? "resources/templates/list" : method[kind],
      () => ({ [kind]: entries, ...extra }),
    );
    const warn = vi.fn();
    const { upstream } = await meet(server, {}, { log: { ...SILENT, warn } });
    const { items, malformed } = await upstream.list(kind, undefined, never());
    expect(items).toEqual(entries.slice(0, most));
    expect(malformed).toEqual([
      expect.objectContaining({
        list: kind,
        reason: expect.stringMatching(/what comes after is not listed/),
      }),
    ]);
    expect(warn).toHaveBeenCalledOnce();
  });

  test.each<[string, JsonObject]>([
    ["a schema", { inputSchema: { type: "object", properties: many((n) => [`k${n}`, { type: "string" }]) } }],
    ["annotations", { annotations: many((n) => [`k${n}`, n]) }],
    ["metadata", { _meta: { deep: { inside: many((n) => [`k${n}`, n]) } } }],
    [
      "names that are required",
      { inputSchema: { type: "object", required: Object.keys(many((n) => [`k${n}`, n])) } },
    ],
    [
      "a list in a list",
      { "x-vendor": Array.from({ length: 300 }, () => Array.from({ length: 1_000 }, () => [])) },
    ],
    ["members of its own", many((n) => [`k${n}`, n])],
  ])("has no entry with 300,000 values in %s, and has all others", async (_where, rest) => {
    const entries = [a, { ...a, name: "huge", ...rest }, { ...a, name: "c" }];
    const server = newServer().on("tools/list", () => ({ tools: entries, ...extra }));
    const { upstream } = await meet(server);
    const { items, malformed } = await upstream.list("tools", undefined, never());
    expect(items.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(malformed).toEqual([
      { list: "tools", name: "huge", member: "", reason: "has more than 16384 values" },
    ]);
  });

  test("has no room for more than 600,000 values in all, or 16 MiB of text", async () => {
    const large = { ...a, _meta: { values: Array.from({ length: 16_000 }, (_, n) => n) } };
    const long = { ...a, description: "x".repeat(4 * 1024 * 1024) };
    for (const [entry, most] of [
      [large, 37],
      [long, 3],
    ] as const) {
      const entries = Array.from({ length: 50 }, (_, n) => ({ ...entry, name: `n${n}` }));
      const server = newServer().on("tools/list", () => ({ tools: entries, ...extra }));
      const { upstream } = await meet(server);
      expect((await upstream.list("tools", undefined, never())).items).toHaveLength(most);
    }
  });

  test("leaves other events their turns while it is counted", async () => {
    const entries = Array.from({ length: 9_000 }, (_, n) => ({
      ...a,
      name: `n${n}`,
      _meta: { n, list: [1, 2, 3, 4, 5] },
    }));
    const server = newServer().on("tools/list", () => ({ tools: entries, ...extra }));
    const { upstream } = await meet(server);
    let turns = 0;
    let going = true;
    const count = () => {
      turns += 1;
      if (going) setImmediate(count);
    };
    setImmediate(count);
    expect((await upstream.list("tools", undefined, never())).items).toHaveLength(9_000);
    going = false;
    expect(turns).toBeGreaterThanOrEqual(3);
  });

  test("is cut after a thousand pages", async () => {
    let page = 0;
    const server = newServer().on("resources/list", () => {
      page += 1;
      return { resources: [{ uri: `x:${page}`, name: "x" }], nextCursor: String(page), ...extra };
    });
    const { upstream } = await meet(server);
    expect((await upstream.list("resources", undefined, never())).items).toHaveLength(1_000);
  });

  test("is empty without a request if the server lacks the capability", async () => {
    const server = newServer();
    server.methods.clear();
    for (const [method, answer] of (newServer === legacyServer
      ? legacyServer({ capabilities: { tools: {} } })
      : modernServer({ capabilities: { tools: {} } })
    ).methods) {
      server.on(method, answer);
    }
    const { upstream } = await meet(server);
    expect((await upstream.list("prompts", undefined, never())).items).toEqual([]);
    expect(server.sent("prompts/list")).toHaveLength(0);
  });

  test("is empty if the server has resources but no templates method", async () => {
    const { upstream } = await meet(newServer());
    expect((await upstream.list("resourceTemplates", undefined, never())).items).toEqual([]);
  });

  test("that fails is an error with the server's message", async () => {
    const server = newServer().on("tools/list", () => {
      throw new RpcFailure(-32603, "the database is asleep");
    });
    const { upstream } = await meet(server);
    expect((await failure(upstream.list("tools", undefined, never()))).message).toContain(
      "the database is asleep",
    );
  });

  test("with an invalid form is a failure", async () => {
    const { upstream } = await meet(newServer().on("tools/list", { tools: "many" }));
    expect((await failure(upstream.list("tools", undefined, never()))).code).toBe("upstream_closed");
  });

  test("that changes is reported, resources together with their templates", async () => {
    const server = newServer().on("subscriptions/listen", (_params, asked) => {
      asked.say("notifications/subscriptions/acknowledged", meta(asked.id));
      for (const list of ["tools", "prompts", "resources"])
        asked.say(`notifications/${list}/list_changed`, meta(asked.id));
      return new Promise(() => {});
    });
    const { heard } = await meet(server);
    await vi.advanceTimersByTimeAsync(100);
    if (newServer === legacyServer) {
      for (const list of ["tools", "prompts", "resources"])
        server.channel.say(`notifications/${list}/list_changed`);
    }
    await settled();
    expect(heard).toEqual([
      "ready @shared",
      "tools @shared",
      "prompts @shared",
      "resources @shared",
      "resourceTemplates @shared",
    ]);
  });
});

describe("the ttlMs of a list", () => {
  test("is the shortest time and the narrowest scope of its pages", async () => {
    const pages: Record<string, JsonObject> = {
      first: { tools: [], nextCursor: "2", ttlMs: 5_000, cacheScope: "public" },
      2: { tools: [], nextCursor: "3", ttlMs: 2_000, cacheScope: "private" },
      3: { tools: [], ttlMs: 9_000, cacheScope: "public" },
    };
    const server = modernServer().on("tools/list", ({ cursor }) => pages[at(cursor, "first")] ?? {});
    const { upstream } = await meet(server);
    expect((await upstream.list("tools", undefined, never())).freshness).toEqual({
      ttlMs: 2_000,
      scope: "private",
    });
  });

  test("is undefined if a server sends none", async () => {
    const { upstream } = await meet(legacyServer().on("tools/list", { tools: [] }));
    expect((await upstream.list("tools", client(), never())).freshness).toEqual({
      ttlMs: 0,
      scope: "private",
    });
  });
});

describe("a tool with arguments in headers", () => {
  const tool = (name: string, annotation: unknown, type = "string") => ({
    name,
    inputSchema: { type: "object", properties: { region: { type, "x-mcp-header": annotation }, other: {} } },
  });
  const tools = [tool("good", "Region"), tool("bad", "no such header"), tool("worse", "Region", "object")];

  test("is omitted over HTTP when its headers are invalid, which is logged", async () => {
    const { upstream } = await meet(modernServer().on("tools/list", { tools, resultType: "complete" }), over);
    const { items, malformed } = await upstream.list("tools", undefined, never());
    expect(items).toEqual([tools[0]]);
    expect(malformed).toMatchObject([
      { name: "bad", member: "inputSchema", reason: expect.stringContaining("is no header name") },
      { name: "worse", member: "inputSchema" },
    ]);
  });

  test("loses the header annotations on a pipe, which has no headers", async () => {
    const { upstream } = await meet(modernServer().on("tools/list", { tools, resultType: "complete" }));
    const { items } = await upstream.list("tools", undefined, never());
    expect(items).toHaveLength(3);
    expect(items[0]).toEqual({
      name: "good",
      inputSchema: { type: "object", properties: { region: { type: "string" }, other: {} } },
    });
  });
});

const meta = (id: unknown): JsonObject => ({
  _meta: { "io.modelcontextprotocol/subscriptionId": id },
});
