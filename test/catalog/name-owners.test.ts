import { describe, expect, test, vi } from "vitest";
import { mergeLists } from "../../src/catalog/merge.js";
import { exposedPrefix, NameOwners } from "../../src/catalog/naming.js";
import { serverNamespace } from "../../src/catalog/server-namespace.js";
import { fakeTime, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import fc from "../support/fast-check.js";
import { catalogOf, names, server, tool } from "./support.js";

fakeTime();

const HASHED = /_[a-z2-7]{8}$/;

describe("names of servers with overlapping prefixes", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "_", "-", "."), minLength: 1, maxLength: 6 });
  const servers = fc.uniqueArray(
    fc.record({ prefix: fc.oneof(word, fc.constant("")), tools: fc.uniqueArray(word, { maxLength: 5 }) }),
    { selector: ({ prefix }) => prefix.replace(/[^a-z0-9-]/g, "-"), minLength: 2, maxLength: 5 },
  );

  test("stay the same whichever servers list first, or are unreachable", () => {
    fc.assert(
      fc.property(servers, fc.constantFrom("__", "_", "-", "-_"), (configs, separator) => {
        const naming = { separator, maxLength: 50 };
        const spaces = configs.map(({ prefix }, at) => serverNamespace(server(`server${at}`, { prefix })));
        const owners = new NameOwners(spaces, [], naming);
        const merged = (order: readonly number[]) =>
          mergeLists(
            "tools",
            order.map((at) => ({
              space: spaces[at] as (typeof spaces)[number],
              items: (configs[at]?.tools ?? []).map((name) => tool(name)),
            })),
            naming,
            owners,
          ).entries.map(({ route }) => route);
        const all = configs.map((_, at) => at);
        for (const { upstream, exposed, unambiguousName } of merged(all)) {
          const owner = owners.ofName(exposed);
          if (owner === undefined || owner === upstream) {
            expect(unambiguousName).toBeUndefined();
            continue;
          }
          expect(exposed).toMatch(HASHED);
          expect(owners.isForeign(upstream, unambiguousName ?? exposed)).toBe(false);
        }
        // Whichever servers are connected, an unambiguous name stays the same.
        const plain = (routes: ReturnType<typeof merged>) =>
          routes.filter(
            ({ exposed, unambiguousName }) => unambiguousName === undefined && !HASHED.test(exposed),
          );
        for (const route of plain(merged([...all].reverse()))) {
          const prefix = configs[Number(route.upstream.slice(6))]?.prefix ?? "";
          if (prefix !== "") expect(route.exposed.startsWith(exposedPrefix(prefix, naming))).toBe(true);
        }
        for (const at of all) {
          for (const { exposed, unambiguousName } of merged([at])) {
            if (unambiguousName !== undefined)
              expect(merged(all).map((route) => route.exposed)).toContain(exposed);
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a name that begins with another server's prefix", () => {
  const foreign = expect.stringMatching(/^files__read_[a-z2-7]{8}$/);

  test("is that server's, although it is away, and the other's own name ends in a hash", async () => {
    const bare = fakeUpstream("bare", { lists: { tools: [tool("files__read"), tool("search")] } });
    const files = fakeUpstream("files", { state: "backoff" });
    const catalog = catalogOf([bare, files], { servers: [server("bare", { prefix: "" }), server("files")] });
    await settle();
    const view = catalog.view(fakeClient());
    expect(names(catalog)).toEqual([foreign, "search"]);
    expect(view.find("tools", "files__read")).toBeUndefined();
    expect(view.unavailableOwner("tools", "files__read")).toBe("files");
    expect(view.find("tools", String(names(catalog)[0]))?.upstream).toBe("bare");
    const own = catalog.view(fakeClient({ endpoint: "bare" }));
    expect(own.find("tools", "files__read")).toMatchObject({ upstream: "bare", exposed: "files__read" });
  });

  test("belongs to that server when it connects, and no other name changes", async () => {
    const bare = fakeUpstream("bare", { lists: { tools: [tool("files__read")] } });
    const files = fakeUpstream("files", { lists: { tools: [] } });
    const catalog = catalogOf([bare, files], { servers: [server("bare", { prefix: "" }), server("files")] });
    await settle();
    const [before] = names(catalog);
    files.setList("tools", [tool("read")]);
    files.listChanged("tools");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(names(catalog)).toEqual([before, "files__read"]);
    expect(catalog.view(fakeClient()).find("tools", "files__read")?.upstream).toBe("files");
  });

  test("is that of a disabled server too, and that of one outside the profile", async () => {
    const bare = fakeUpstream("bare", { lists: { tools: [tool("files__read"), tool("off__read")] } });
    const files = fakeUpstream("files");
    const everything = { allow: ["*"], deny: [] };
    const catalog = catalogOf([bare, files], {
      servers: [server("bare", { prefix: "" }), server("files")],
      naming: { separator: "__", maxLength: 50, reserved: [{ name: "off", prefix: "off" }] },
      profiles: {
        part: {
          servers: ["bare"],
          tools: { allow: ["files__*", "search"], deny: [] },
          prompts: everything,
          resources: everything,
        },
      },
    });
    await settle();
    expect(catalog.view(fakeClient()).find("tools", "off__read")).toBeUndefined();
    const part = fakeClient({ endpoint: "part" });
    expect(catalog.view(part).find("tools", "files__read")).toBeUndefined();
    // A profile that allows the names of `files` shows nothing of others that begin like them.
    expect(names(catalog, "tools", part)).toEqual([]);
  });

  test("goes to the longest prefix", async () => {
    const a = fakeUpstream("a", { lists: { tools: [tool("b__c"), tool("x")], prompts: [{ name: "b__c" }] } });
    const ab = fakeUpstream("a__b", { lists: { tools: [tool("c")], prompts: [{ name: "c" }] } });
    const catalog = catalogOf([a, ab]);
    await settle();
    for (const kind of ["tools", "prompts"] as const) {
      expect(catalog.view(fakeClient()).find(kind, "a__b__c")?.upstream).toBe("a__b");
      expect(names(catalog, kind)[0]).toMatch(/^a__b__c_[a-z2-7]{8}$/);
    }
    expect(catalog.view(fakeClient()).find("tools", "a__x")?.upstream).toBe("a");
  });
});

describe("a URI that has another server's prefix", () => {
  const lists = {
    resources: ["files+file:///a", "ui://files/page", "memo:1"].map((uri) => ({ uri, name: uri })),
    resourceTemplates: [{ uriTemplate: "files+file:///{x}", name: "any" }],
  };

  test("is routed to that server or to none, and listed only where that server is alone", async () => {
    const pages = ["ui://files/page", "ui://own/page"].map((resourceUri) =>
      tool(resourceUri, { _meta: { ui: { resourceUri } } }),
    );
    const bare = fakeUpstream("bare", { lists: { ...lists, tools: pages } });
    const files = fakeUpstream("files");
    const none = { allow: [], deny: [] };
    const catalog = catalogOf([bare, files], {
      servers: [
        server("bare", { prefix: "" }),
        server("files", { resources: { allow: ["file:*"], deny: [] } }),
      ],
      profiles: {
        part: { servers: ["bare"], tools: none, prompts: none, resources: { allow: ["*"], deny: [] } },
      },
    });
    await settle();
    const view = catalog.view(fakeClient());
    expect(names(catalog, "resources")).toEqual(["memo:1"]);
    expect(names(catalog, "resourceTemplates")).toEqual([]);
    const shown = view.list("tools").entries.map(({ item }) => item._meta);
    expect(shown).toEqual([{ ui: {} }, { ui: { resourceUri: "ui://own/page" } }]);
    expect([view.leadsTo("bare", "ui://files/page"), view.leadsTo("bare", "ui://own/page")]).toEqual([
      false,
      true,
    ]);
    expect(view.find("resources", "files+file:///a")).toMatchObject({
      upstream: "files",
      target: "file:///a",
    });
    expect(view.find("resourceTemplates", "files+file:///{x}")?.upstream).toBe("files");
    expect(view.find("resources", "ui://files/page")).toBeUndefined();
    expect(
      catalog.view(fakeClient({ endpoint: "part" })).find("resources", "files+file:///a"),
    ).toBeUndefined();
    const alone = fakeClient({ endpoint: "bare" });
    expect(names(catalog, "resources", alone)).toHaveLength(3);
    expect(catalog.view(alone).find("resources", "ui://files/page")?.upstream).toBe("bare");
  });
});
