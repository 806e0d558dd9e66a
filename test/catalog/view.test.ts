import { describe, expect, test, vi } from "vitest";
import { fakeTime, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, server, tool } from "./support.js";

fakeTime();

describe("a tool or prompt", () => {
  test("is found by its exposed name, and by its own name when exactly one server has that", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read"), tool("both")] } });
    const git = fakeUpstream("git", { lists: { tools: [tool("log"), tool("both")] } });
    const catalog = catalogOf([files, git]);
    await settle();
    const view = catalog.view(fakeClient());
    expect(view.find("tools", "files__read")).toEqual({
      upstream: "files",
      target: "read",
      exposed: "files__read",
      kind: "tools",
      item: tool("read"),
    });
    expect(view.find("tools", "log")).toMatchObject({ upstream: "git", exposed: "git__log" });
    expect(view.find("tools", "both")).toBeUndefined();
    expect(view.find("prompts", "files__read")).toBeUndefined();
    expect(catalog.toolEntry(fakeClient(), "files__read")).toEqual(tool("read"));
    expect(catalog.toolEntry(fakeClient(), "files__nothing")).toBeUndefined();
  });

  test("of one server's own name is not mistaken for another's exposed one", async () => {
    const odd = fakeUpstream("odd", { lists: { tools: [tool("files__read")] } });
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([odd, files]);
    await settle();
    const view = catalog.view(fakeClient());
    expect(view.find("tools", "files__read")?.upstream).toBe("files");
    expect(view.find("tools", "odd__files__read")?.upstream).toBe("odd");
  });
});

describe("a resource that is in no list", () => {
  test("is found by the form of its URI", async () => {
    const catalog = catalogOf([fakeUpstream("files"), fakeUpstream("git")]);
    await settle();
    const view = catalog.view(fakeClient());
    for (const kind of ["resources", "resourceTemplates"] as const) {
      expect(view.find(kind, "git+test://a/7")).toMatchObject({
        upstream: "git",
        target: "test://a/7",
        kind,
      });
      expect(view.find(kind, "ui://files/page")).toMatchObject({ upstream: "files", target: "ui://page" });
      expect(view.find(kind, "nobody+test://a")).toBeUndefined();
    }
    expect(view.find("resources", "git+test://a/7")).not.toHaveProperty("item");
  });

  test("is hidden by the filter that would hide it from the list", async () => {
    const catalog = catalogOf([fakeUpstream("files")], {
      servers: [server("files", { resources: { allow: ["file:///open/*"], deny: [] } })],
    });
    await settle();
    const view = catalog.view(fakeClient());
    expect(view.find("resources", "files+file:///open/a")?.target).toBe("file:///open/a");
    expect(view.find("resources", "files+file:///closed/a")).toBeUndefined();
    expect(
      catalog.view(fakeClient({ endpoint: "files" })).find("resources", "file:///closed/a"),
    ).toBeUndefined();
  });

  test("is not routed to a server without the resources capability", async () => {
    const toolsOnly = fakeUpstream("tools-only", { capabilities: { tools: {} } });
    const bare = fakeUpstream("bare");
    const catalog = catalogOf([toolsOnly, bare], {
      servers: [server("tools-only", { prefix: "" }), server("bare", { prefix: "" })],
    });
    await settle();
    expect(catalog.view(fakeClient()).find("resources", "x:y")?.upstream).toBe("bare");
  });
});

describe("a URI without the prefix of a server", () => {
  const web = "https://example.com/a";

  test("is routed to the only server that lists it", async () => {
    const files = fakeUpstream("files", { lists: { resources: [{ uri: web }] } });
    const catalog = catalogOf([fakeUpstream("git"), files]);
    await settle();
    expect(catalog.view(fakeClient()).find("resources", web)?.upstream).toBe("files");
  });

  test("is routed nowhere when several list it, and all show it", async () => {
    const lists = { resources: [{ uri: web }] };
    const catalog = catalogOf([fakeUpstream("one", { lists }), fakeUpstream("two", { lists })]);
    await settle();
    const view = catalog.view(fakeClient());
    expect(view.find("resources", web)).toBeUndefined();
    expect(view.list("resources").entries).toHaveLength(2);
  });

  test("is routed to the server that returned it to this client", async () => {
    const catalog = catalogOf([fakeUpstream("one"), fakeUpstream("two")]);
    await settle();
    const [me, other] = [fakeClient({ affinity: "me" }), fakeClient({ affinity: "other" })];
    catalog.learnUri(me, web, "two");
    expect(catalog.view(me).find("resources", web)?.upstream).toBe("two");
    expect(catalog.view(other).find("resources", web)).toBeUndefined();
    catalog.learnUri(me, web, "one");
    expect(catalog.view(me).find("resources", web)).toBeUndefined();
  });

  test("is evicted from the cache when it is full", async () => {
    const catalog = catalogOf([fakeUpstream("one"), fakeUpstream("two")]);
    await settle();
    const me = fakeClient();
    catalog.learnUri(me, web, "two");
    const long = "x".repeat(4_000);
    for (let i = 0; i < 3_700; i += 1) catalog.learnUri(me, `${web}/${i}${long}`, "two");
    expect(catalog.view(me).find("resources", web)?.upstream).toBe("two");
    for (let i = 0; i < 1_000; i += 1) catalog.learnUri(me, `${web}/more/${i}${long}`, "two");
    expect(catalog.view(me).find("resources", `${web}/more/999${long}`)?.upstream).toBe("two");
    expect(catalog.view(me).find("resources", `${web}/0${long}`)).toBeUndefined();
  });

  test("is routed to the only server whose template matches it", async () => {
    const one = fakeUpstream("one", {
      lists: { resourceTemplates: [{ uriTemplate: "https://example.com/{id}" }] },
    });
    const catalog = catalogOf([one, fakeUpstream("two")]);
    await settle();
    const view = catalog.view(fakeClient());
    expect(view.find("resources", web)?.upstream).toBe("one");
    expect(view.find("resources", "https://elsewhere.example/a")).toBeUndefined();
  });

  test("is routed to the only server", async () => {
    const catalog = catalogOf([fakeUpstream("one")]);
    await settle();
    expect(catalog.view(fakeClient()).find("resources", web)?.upstream).toBe("one");
  });

  test("of servers without a prefix is routed to the one that lists it, or whose template matches it", async () => {
    const one = fakeUpstream("one", {
      lists: { resources: [{ uri: "test://one" }, { uri: "test://both" }] },
    });
    const two = fakeUpstream("two", {
      lists: {
        resources: [{ uri: "test://both" }],
        resourceTemplates: [{ uriTemplate: "test://two/{id}" }],
      },
    });
    const catalog = catalogOf([one, two], {
      servers: [server("one", { prefix: "" }), server("two", { prefix: "" })],
    });
    await settle();
    const view = catalog.view(fakeClient());
    expect(view.find("resources", "test://one")?.upstream).toBe("one");
    expect(view.find("resources", "test://two/7")?.upstream).toBe("two");
    expect(view.find("resources", "test://both")).toBeUndefined();
    expect(view.find("resources", "test://three")).toBeUndefined();
  });
});

describe("a server whose lists are unknown", () => {
  test("may have what begins with its prefix", async () => {
    const files = fakeUpstream("files", { state: "starting" });
    const git = fakeUpstream("git", { lists: { tools: [tool("log")] } });
    const catalog = catalogOf([files, git]);
    await settle();
    const view = catalog.view(fakeClient());
    expect(view.unavailableOwner("tools", "files__read")).toBe("files");
    expect(view.unavailableOwner("tools", "git__blame")).toBeUndefined();
    expect(view.unavailableOwner("tools", "anything")).toBeUndefined();
    expect(catalog.view(fakeClient({ endpoint: "files" })).unavailableOwner("tools", "read")).toBe("files");
  });

  test("is one that was away for too long", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    files.goDown();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(catalog.view(fakeClient()).unavailableOwner("tools", "files__read")).toBe("files");
  });

  test("is not mentioned to clients from which its tools are hidden", async () => {
    const files = fakeUpstream("files", { state: "starting" });
    const catalog = catalogOf([files], {
      isVisible: (_, { exposed, aggregateName = exposed }) => !aggregateName.startsWith("files__secret"),
    });
    const all = catalog.view(fakeClient());
    expect(all.unavailableOwner("tools", "files__secret_read")).toBeUndefined();
    expect(all.unavailableOwner("tools", "files__read")).toBe("files");
    const alone = catalog.view(fakeClient({ endpoint: "files" }));
    expect(alone.unavailableOwner("tools", "secret_read")).toBeUndefined();
    expect(alone.unavailableOwner("prompts", "read")).toBe("files");
  });

  test("may have anything when it has no prefix, but two such servers are no answer", async () => {
    const one = fakeUpstream("one", { state: "starting" });
    const two = fakeUpstream("two", { state: "starting" });
    const alone = catalogOf([one], { servers: [server("one", { prefix: "" })] });
    const both = catalogOf([one, two], {
      servers: [server("one", { prefix: "" }), server("two", { prefix: "" })],
    });
    expect(alone.view(fakeClient()).unavailableOwner("tools", "x")).toBe("one");
    expect(both.view(fakeClient()).unavailableOwner("tools", "x")).toBeUndefined();
  });
});

test("a view is the same object until something changes, and clients of one affinity share it", async () => {
  const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
  const catalog = catalogOf([files]);
  await settle();
  const view = catalog.view(fakeClient());
  expect(catalog.view(fakeClient())).toBe(view);
  files.setList("tools", []);
  files.listChanged("tools");
  await vi.advanceTimersByTimeAsync(50);
  expect(catalog.view(fakeClient())).not.toBe(view);
  expect(view.find("tools", "files__read")).toBeDefined();
  const session = fakeClient({ affinity: "s", session: true });
  const kept = catalog.view(session);
  catalog.releaseClient("s");
  expect(catalog.view({ ...session })).not.toBe(kept);
});
