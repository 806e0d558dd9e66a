import { describe, expect, test, vi } from "vitest";
import type { Route } from "../../src/core/call.js";
import type { Client } from "../../src/core/client.js";
import type { JsonObject } from "../../src/wire/json.js";
import { fakeTime, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, SELF, server, tool } from "./support.js";

fakeTime();

const NOTHING = { allow: [], deny: [] };

describe("the capabilities of several servers", () => {
  test("are merged, and listChanged is advertised for every list", async () => {
    const catalog = catalogOf([
      fakeUpstream("one", {
        capabilities: {
          tools: {},
          completions: {},
          resources: { subscribe: false },
          extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html"] } },
          experimental: { a: { x: 1 } },
        },
      }),
      fakeUpstream("two", {
        capabilities: {
          resources: { subscribe: true },
          logging: {},
          extensions: { "io.modelcontextprotocol/skills": { directoryRead: true } },
          experimental: { a: { x: 2, y: 3 }, b: {} },
          "x-unheard-of": { deep: true },
        },
      }),
    ]);
    await settle();
    expect(catalog.describe(fakeClient()).capabilities).toEqual({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      completions: {},
      logging: {},
      extensions: {
        "io.modelcontextprotocol/ui": { mimeTypes: ["text/html"] },
        "io.modelcontextprotocol/skills": { directoryRead: true },
      },
      experimental: { a: { x: 1, y: 3 }, b: {} },
      "x-unheard-of": { deep: true },
    });
  });

  test("are named by the servers, including names of Object.prototype members", async () => {
    const odd = JSON.parse('{"constructor":{"a":1},"toString":{},"__proto__":{"b":2}}') as JsonObject;
    const catalog = catalogOf([
      fakeUpstream("one", { capabilities: odd }),
      fakeUpstream("two", { capabilities: odd }),
    ]);
    await settle();
    expect(JSON.stringify(catalog.describe(fakeClient()).capabilities)).toBe(JSON.stringify(odd));
  });

  test("omit lists that filters make empty", async () => {
    const catalog = catalogOf(
      [fakeUpstream("files", { lists: { tools: [tool("read")], prompts: [{ name: "review" }] } })],
      { servers: [server("files", { prompts: NOTHING })] },
    );
    await settle();
    const { capabilities } = catalog.describe(fakeClient());
    expect(Object.keys(capabilities)).toEqual(["tools", "resources"]);
  });

  test("advertise every list while a server has never connected", async () => {
    const late = fakeUpstream("late", { state: "starting", capabilities: { prompts: {} } });
    const catalog = catalogOf([fakeUpstream("files", { capabilities: { logging: {} } }), late]);
    await settle();
    const promised = { listChanged: true };
    expect(catalog.describe(fakeClient()).capabilities).toEqual({
      logging: {},
      tools: promised,
      prompts: promised,
      resources: promised,
    });
    late.becomeReady();
    await settle();
    expect(catalog.describe(fakeClient()).capabilities).toEqual({ logging: {}, prompts: promised });
  });

  test("stay unchanged while a server is disconnected", async () => {
    const files = fakeUpstream("files", { capabilities: { tools: {} } });
    const catalog = catalogOf([files, fakeUpstream("git", { capabilities: { prompts: {} } })]);
    await settle();
    files.goDown();
    files.facts = undefined;
    await vi.advanceTimersByTimeAsync(100_000);
    expect(Object.keys(catalog.describe(fakeClient()).capabilities)).toEqual(["tools", "prompts"]);
  });

  test("advertise tasks; list and cancel only where all servers with tasks have them", async () => {
    const all = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    const catalog = catalogOf([
      fakeUpstream("one", { capabilities: { tasks: all } }),
      fakeUpstream("two", { capabilities: { tasks: { cancel: {}, requests: { tools: { call: {} } } } } }),
      fakeUpstream("three", { capabilities: { extensions } }),
      fakeUpstream("four", { capabilities: {} }),
    ]);
    await settle();
    expect(catalog.describe(fakeClient()).capabilities).toEqual({
      tasks: { cancel: {}, requests: { tools: { call: {} } } },
      extensions,
    });
    expect(catalog.describe(fakeClient({ endpoint: "one" })).capabilities).toEqual({ tasks: all });
  });

  test("advertise skills only where resources are visible", async () => {
    const skills = { "io.modelcontextprotocol/skills": {}, "x/y": {} };
    const lists = {
      resources: [{ uri: "skill://a/SKILL.md", name: "a" }],
      resourceTemplates: [{ uriTemplate: "skill://a/{+path}", name: "files of a" }],
    };
    const files = fakeUpstream("files", { capabilities: { resources: {}, extensions: skills }, lists });
    const catalog = catalogOf([files], { servers: [server("files", { resources: NOTHING })] });
    await settle();
    expect(catalog.describe(fakeClient()).capabilities).toEqual({ extensions: { "x/y": {} } });
  });
});

describe("instructions", () => {
  test("have a heading per server, with the prefix of its names", async () => {
    const catalog = catalogOf(
      [
        fakeUpstream("files", { instructions: "Use read before write.\n" }),
        fakeUpstream("mute"),
        fakeUpstream("bare", { instructions: "Be brief." }),
      ],
      { servers: [server("files", { prefix: "my files" }), server("mute"), server("bare", { prefix: "" })] },
    );
    await settle();
    expect(catalog.describe(fakeClient()).instructions).toBe(
      [
        "## files",
        "Its tools and prompts have names that begin with `my_files__`.",
        "Use read before write.",
        "## bare",
        "Be brief.",
      ].join("\n\n"),
    );
  });

  test("of a single server are unchanged", async () => {
    const catalog = catalogOf([fakeUpstream("files", { instructions: " Use read.\n" }), fakeUpstream("git")]);
    await settle();
    expect(catalog.describe(fakeClient({ endpoint: "files" })).instructions).toBe(" Use read.\n");
    expect(catalog.describe(fakeClient({ endpoint: "git" }))).not.toHaveProperty("instructions");
  });
});

describe("the name and version", () => {
  const serverInfo = { name: "files-server", version: "7", title: "Files", icons: [{ src: "x" }] };

  test("are the gateway's where it shows several servers, or one under other names", async () => {
    const catalog = catalogOf([fakeUpstream("files", { serverInfo })]);
    await settle();
    expect(catalog.describe(fakeClient()).serverInfo).toEqual(SELF);
  });

  test("are the server's own where it is seen alone and as it is", async () => {
    const bridge = catalogOf([fakeUpstream("files", { serverInfo })], {
      servers: [server("files", { prefix: "" })],
    });
    const catalog = catalogOf([fakeUpstream("files", { serverInfo }), fakeUpstream("git")]);
    await settle();
    expect(bridge.describe(fakeClient()).serverInfo).toEqual(serverInfo);
    expect(catalog.describe(fakeClient({ endpoint: "files" })).serverInfo).toEqual(serverInfo);
  });

  test("are the gateway's as long as the only server was never connected", async () => {
    const catalog = catalogOf([fakeUpstream("files", { state: "starting", serverInfo })]);
    expect(catalog.describe(fakeClient({ endpoint: "files" })).serverInfo).toEqual(SELF);
  });
});

test("are empty without any server", () => {
  expect(catalogOf([]).describe(fakeClient())).toEqual({ serverInfo: SELF, capabilities: {} });
});

describe("a server of which rules hide everything", () => {
  const instructions = "Only for those who run the machines.";
  const isOps = ({ principal }: Client): boolean => principal.groups.includes("ops");
  const ops = fakeClient({ principal: { id: "ann", groups: ["ops"], claims: {} }, affinity: "ann" });
  const other = fakeClient({ principal: { id: "bob", groups: [], claims: {} }, affinity: "bob" });

  test.each<[string, (client: Client, route: Route) => boolean]>([
    ["by its key", (client, { upstream }) => isOps(client) || upstream !== "infra"],
    [
      "by its names",
      (client, { exposed, aggregateName = exposed }) => isOps(client) || !aggregateName.startsWith("infra__"),
    ],
  ])("says nothing of itself to those from whom it is hidden %s", async (_, isVisible) => {
    const infra = fakeUpstream("infra", {
      instructions,
      capabilities: { tools: {}, logging: {} },
      serverInfo: { name: "secret-infra", version: "1" },
      lists: { tools: [tool("reboot")] },
    });
    const files = fakeUpstream("files", { capabilities: { tools: {} }, lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files, infra], { isVisible });
    await settle();
    expect(catalog.describe(ops).instructions).toContain(instructions);
    expect(catalog.describe(other).instructions).toBeUndefined();
    expect(catalog.describe(other).capabilities).toEqual({ tools: { listChanged: true } });
    const alone = { ...other, endpoint: "infra" };
    expect(catalog.describe(alone)).toEqual({ serverInfo: SELF, capabilities: {} });
    expect(catalog.describe({ ...ops, endpoint: "infra" })).toMatchObject({ instructions });
  });
});
