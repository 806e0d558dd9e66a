import { describe, expect, test } from "vitest";
import type { VisibilityCheck } from "../../src/catalog/view.js";
import { ANONYMOUS } from "../../src/core/client.js";
import { fakeTime, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, itemsOf, names, server, tool } from "./support.js";

fakeTime();

/** Lets everything happen that needs no time. */

describe("merged lists", () => {
  test("are in the order of the config, then of the server", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("write"), tool("read")] } });
    const git = fakeUpstream("git", { lists: { tools: [tool("log")] } });
    const catalog = catalogOf([files, git], { servers: [server("git"), server("files")] });
    await settle();
    expect(names(catalog)).toEqual(["git__log", "files__write", "files__read"]);
  });

  test("show each entry unchanged except its name", async () => {
    const given = {
      name: "read",
      title: "Read a file",
      description: "read reads",
      icons: [{ src: "https://example.com/read.png" }],
      inputSchema: { type: "object", properties: { name: { const: "read" } } },
      annotations: { readOnlyHint: true },
      execution: { taskSupport: "optional" },
      "x-unheard-of": { name: "read", uri: "file:///x" },
      _meta: { "example.com/name": "read" },
    };
    const files = fakeUpstream("files", { lists: { tools: [given] } });
    const catalog = catalogOf([files]);
    await settle();
    expect(itemsOf(catalog, "tools")).toEqual([{ ...given, name: "files__read" }]);
    expect(Object.keys(itemsOf(catalog, "tools")[0] ?? {})).toEqual(Object.keys(given));
  });

  test("show resources and templates under URIs with the prefix of their server", async () => {
    const files = fakeUpstream("files", {
      lists: {
        resources: [{ uri: "file:///a" }, { uri: "https://example.com/a" }, { uri: "ui://page" }],
        resourceTemplates: [{ uriTemplate: "file:///{+path}" }],
      },
    });
    const bare = fakeUpstream("bare", { lists: { resources: [{ uri: "file:///a" }] } });
    const catalog = catalogOf([files, bare], {
      servers: [server("files", { prefix: "My Files" }), server("bare", { prefix: "" })],
    });
    await settle();
    expect(names(catalog, "resources")).toEqual([
      "my-files+file:///a",
      "https://example.com/a",
      "ui://my-files/page",
      "file:///a",
    ]);
    expect(names(catalog, "resourceTemplates")).toEqual(["my-files+file:///{+path}"]);
  });

  test("omit entries hidden by filters, unnameable entries, and duplicates", async () => {
    const files = fakeUpstream("files", {
      lists: {
        tools: [
          tool("read"),
          tool("write"),
          tool("read", { title: "again" }),
          { title: "nameless" },
          { name: 7 },
        ],
      },
    });
    const catalog = catalogOf([files], {
      servers: [server("files", { tools: { allow: ["*"], deny: ["wr*"] } })],
    });
    await settle();
    expect(itemsOf(catalog, "tools")).toEqual([tool("files__read")]);
  });

  test("include names of Object.prototype members", async () => {
    const odd = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    const upstream = fakeUpstream("__proto__", { lists: { tools: odd.map((name) => tool(name)) } });
    const catalog = catalogOf([upstream], { servers: [server("__proto__", { prefix: "" })] });
    await settle();
    expect(names(catalog)).toEqual(odd);
    for (const name of odd) expect(catalog.view(fakeClient()).find("tools", name)?.target).toBe(name);
    expect(catalog.view(fakeClient()).find("tools", "valueOf")).toBeUndefined();
    expect(catalog.hasEndpoint("constructor", ANONYMOUS)).toBe(false);
  });
});

describe("references from tools to pages", () => {
  const withPage = tool("chart", {
    _meta: {
      ui: { resourceUri: "ui://chart/index.html", visibility: ["model"] },
      "ui/resourceUri": "ui://chart/index.html",
      "openai/outputTemplate": "ui://chart/index.html",
      "example.com/uri": "ui://chart/index.html",
    },
  });

  test("point to the exposed page, and nothing else in _meta changes", async () => {
    const charts = fakeUpstream("charts", { lists: { tools: [withPage] } });
    const catalog = catalogOf([charts]);
    await settle();
    expect(itemsOf(catalog, "tools")[0]?._meta).toEqual({
      ui: { resourceUri: "ui://charts/chart/index.html", visibility: ["model"] },
      "ui/resourceUri": "ui://charts/chart/index.html",
      "openai/outputTemplate": "ui://charts/chart/index.html",
      "example.com/uri": "ui://chart/index.html",
    });
  });

  test("are removed if the page is hidden", async () => {
    const charts = fakeUpstream("charts", { lists: { tools: [withPage] } });
    const catalog = catalogOf([charts], {
      servers: [server("charts", { resources: { allow: ["*"], deny: ["ui:*"] } })],
    });
    await settle();
    expect(itemsOf(catalog, "tools")[0]?._meta).toEqual({
      ui: { visibility: ["model"] },
      "example.com/uri": "ui://chart/index.html",
    });
  });
});

describe("a scope", () => {
  const lists = {
    tools: [tool("read"), tool("write")],
    prompts: [{ name: "review" }],
    resources: [{ uri: "file:///a" }],
  };

  test("with the name of a server shows that server alone, as it is", async () => {
    const files = fakeUpstream("files", { lists });
    const git = fakeUpstream("git", { lists: { tools: [tool("log")] } });
    const catalog = catalogOf([files, git]);
    await settle();
    const client = fakeClient({ endpoint: "files" });
    expect(itemsOf(catalog, "tools", client)).toEqual(lists.tools);
    expect(itemsOf(catalog, "resources", client)).toEqual(lists.resources);
    expect(catalog.view(client).find("tools", "read")).toMatchObject({ upstream: "files", target: "read" });
    expect(catalog.view(client).find("tools", "files__read")).toBeUndefined();
    expect(catalog.view(client).find("tools", "log")).toBeUndefined();
    expect(catalog.view(client).find("resources", "anything:at/all")?.target).toBe("anything:at/all");
  });

  test("with the name of a profile shows its part of the whole under the names of the whole", async () => {
    // `s__read` is the name of the server whose prefix that is; the other ends in a hash in every scope.
    const first = fakeUpstream("first", { lists: { tools: [tool("s__read")] } });
    const second = fakeUpstream("second", { lists });
    const catalog = catalogOf([first, second], {
      servers: [server("first", { prefix: "" }), server("second", { prefix: "s" })],
      profiles: {
        part: {
          servers: ["second"],
          tools: { allow: ["*"], deny: ["s__write"] },
          prompts: { allow: [], deny: [] },
          resources: { allow: ["*"], deny: [] },
        },
      },
    });
    await settle();
    const client = fakeClient({ endpoint: "part" });
    const whole = names(catalog);
    expect(whole).toHaveLength(3);
    expect(whole[0]).toMatch(/^s__read_[a-z2-7]{8}$/);
    expect(names(catalog, "tools", client)).toEqual(["s__read"]);
    expect(names(catalog, "prompts", client)).toEqual([]);
    expect(names(catalog, "resources", client)).toEqual(["s+file:///a"]);
    // By form, too, a URI leads nowhere that the profile does not show.
    expect(catalog.view(client).find("resources", "s+file:///b")?.target).toBe("file:///b");
    expect(catalog.view(client).find("resources", "file:///b")).toBeUndefined();
  });

  test("that does not exist shows nothing", async () => {
    const catalog = catalogOf([fakeUpstream("files", { lists })]);
    await settle();
    expect(catalog.hasEndpoint("nowhere", ANONYMOUS)).toBe(false);
    expect(catalog.hasEndpoint("files", ANONYMOUS)).toBe(true);
    expect(catalog.hasEndpoint("", ANONYMOUS)).toBe(true);
    expect(names(catalog, "tools", fakeClient({ endpoint: "nowhere" }))).toEqual([]);
  });
});

describe("what a client may not see", () => {
  const lists = {
    tools: [tool("read"), tool("write", { _meta: { ui: { resourceUri: "ui://w" } } })],
    resources: [{ uri: "file:///a" }, { uri: "ui://w" }],
  };
  const readers: VisibilityCheck = (client, { target }) =>
    client.principal.id !== "reader" || (target !== "write" && target !== "ui://w");
  const reader = (affinity: string) =>
    fakeClient({ affinity, principal: { id: "reader", groups: [], claims: {} } });

  test("is in no list and leads nowhere, by whatever name", async () => {
    const catalog = catalogOf([fakeUpstream("files", { lists })], { isVisible: readers });
    await settle();
    const client = reader("r1");
    expect(names(catalog, "tools", client)).toEqual(["files__read"]);
    expect(names(catalog, "tools")).toEqual(["files__read", "files__write"]);
    for (const name of ["files__write", "write"]) {
      expect(catalog.view(client).find("tools", name)).toBeUndefined();
    }
    for (const uri of ["ui://files/w", "ui://w"]) {
      expect(catalog.view(client).find("resources", uri)).toBeUndefined();
    }
  });

  test("is not referred to by what it may see", async () => {
    const pages: VisibilityCheck = (_, { kind }) => kind !== "resources";
    const catalog = catalogOf([fakeUpstream("files", { lists })], { isVisible: pages });
    await settle();
    expect(itemsOf(catalog, "tools")[1]?._meta).toEqual({ ui: {} });
  });

  test("makes lists private, and clients that see the same share one list", async () => {
    const files = fakeUpstream("files", { lists, freshness: { ttlMs: 60_000, scope: "public" } });
    const catalog = catalogOf([files], { isVisible: readers });
    await settle();
    expect(catalog.freshness(fakeClient(), "tools")).toEqual({ ttlMs: 60_000, scope: "private" });
    const list = catalog.view(reader("r1")).list("tools");
    expect(catalog.view(reader("r2")).list("tools")).toBe(list);
    expect(catalog.view(fakeClient()).list("tools")).not.toBe(list);
  });
});
