import { describe, expect, test, vi } from "vitest";
import type { Client } from "../../src/core/client.js";
import { type ListScope, SHARED_SCOPE } from "../../src/core/upstream.js";
import { fakeTime, settle } from "../support/fake-time.js";
import { type FakeUpstream, fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, server, tool } from "./support.js";

fakeTime();

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** Each client that can be asked has a connection of its own; clients of equal capabilities are one class. */
function perSession(client: Client): ListScope {
  const asked = Object.keys(client.capabilities).sort().join("+");
  return asked === "" ? SHARED_SCOPE : { key: client.affinity, capabilityClass: asked };
}

/** One connection for all, whose lists depend on what the client declares with each request. */
function perClass(client: Client): ListScope {
  const asked = Object.keys(client.capabilities).sort().join("+");
  return asked === "" ? SHARED_SCOPE : { key: asked, capabilityClass: asked };
}

const plain = fakeClient();
const session = (affinity: string, ...capabilities: string[]): Client =>
  fakeClient({
    affinity,
    session: true,
    capabilities: Object.fromEntries(capabilities.map((key) => [key, {}])),
  });

/** A server that shows one more tool to clients that can be asked for a completion. */
function everything(audience: (client: Client) => ListScope): FakeUpstream {
  return fakeUpstream("everything", { audience, lists: { tools: [tool("echo")] } }).setList(
    "tools",
    [tool("echo"), tool("ask")],
    "sampling",
  );
}

describe("a server that lists by the client's capabilities", () => {
  test("each capability class has its own list", async () => {
    const catalog = catalogOf([everything(perSession)]);
    await settle();
    const asker = session("s1", "sampling");
    await catalog.prepare(asker);
    expect(names(catalog, "tools", asker)).toEqual(["everything__echo", "everything__ask"]);
    expect(names(catalog, "tools", plain)).toEqual(["everything__echo"]);
    expect(names(catalog, "tools", session("s2", "elicitation"))).toEqual(["everything__echo"]);
  });

  test("is requested on behalf of the first client of a class, and not for the next ones", async () => {
    const upstream = everything(perSession);
    const catalog = catalogOf([upstream]);
    await settle();
    upstream.listed.length = 0;
    const first = session("s1", "sampling");
    await catalog.prepare(first);
    expect(upstream.listed).toEqual(["tools@s1", "prompts@s1", "resources@s1", "resourceTemplates@s1"]);
    const second = session("s2", "sampling");
    await catalog.prepare(second);
    expect(upstream.listed).toHaveLength(4);
    expect(names(catalog, "tools", second)).toEqual(["everything__echo", "everything__ask"]);
  });

  test("shows the shared list while the first list of a class is loading, for up to 1.5 s", async () => {
    const upstream = everything(perSession);
    const catalog = catalogOf([upstream]);
    await settle();
    upstream.slow(5_000);
    const asker = session("s1", "sampling");
    const began = performance.now();
    let waited = Number.NaN;
    void catalog.prepare(asker).then(() => {
      waited = performance.now() - began;
    });
    expect(names(catalog, "tools", asker)).toEqual(["everything__echo"]);
    await pass(2_000);
    expect(waited).toBe(1_500);
    // Nor does any other client of the class wait again.
    await catalog.prepare(session("s2", "sampling"));
    expect(performance.now() - began).toBe(2_000);
    await pass(3_000);
    expect(names(catalog, "tools", asker)).toEqual(["everything__echo", "everything__ask"]);
  });

  test("is not requested repeatedly when it refuses the list to a capability class", async () => {
    const upstream = everything(perSession);
    const catalog = catalogOf([upstream]);
    await settle();
    upstream.failing();
    upstream.listed.length = 0;
    const asker = session("s1", "sampling");
    for (let i = 0; i < 20; i++) await catalog.prepare(asker);
    expect(upstream.listed).toHaveLength(4);
    await catalog.prepare(session("s2", "sampling"));
    expect(upstream.listed).toHaveLength(4);
    await pass(5_000);
    await catalog.prepare(asker);
    expect(upstream.listed).toHaveLength(8);
    expect(names(catalog, "tools", asker)).toEqual(["everything__echo"]);
  });

  test("is known by equal lists: clients of different classes that see the same share one list", async () => {
    const upstream = fakeUpstream("same", { audience: perSession, lists: { tools: [tool("echo")] } });
    const catalog = catalogOf([upstream]);
    await settle();
    const asker = session("s1", "sampling");
    await catalog.prepare(asker);
    expect(catalog.view(asker).list("tools")).toBe(catalog.view(plain).list("tools"));
    expect(catalog.view(asker).list("tools").page(undefined)).toBe(
      catalog.view(plain).list("tools").page(undefined),
    );
  });

  test("gives lists that are private, however public the server calls them", async () => {
    const upstream = fakeUpstream("e", { audience: perClass, freshness: { ttlMs: 9_000, scope: "public" } });
    const catalog = catalogOf([upstream]);
    await settle();
    const asker = session("s1", "sampling");
    await catalog.prepare(asker);
    expect(catalog.freshness(asker, "tools")).toEqual({ ttlMs: 9_000, scope: "private" });
    expect(catalog.freshness(plain, "tools")).toEqual({ ttlMs: 9_000, scope: "public" });
  });
});

describe("a server that adds tools just after a connection opened", () => {
  test("caches the list for its capability class, so that the next client sees it at once", async () => {
    const upstream = fakeUpstream("late", { audience: perSession, lists: { tools: [tool("echo")] } });
    const catalog = catalogOf([upstream]);
    await settle();
    const first = session("s1", "sampling");
    await catalog.prepare(first);
    expect(names(catalog, "tools", first)).toEqual(["late__echo"]);
    upstream.setList("tools", [tool("echo"), tool("ask")], "sampling");
    upstream.listChanged("tools", perSession(first));
    await pass(50);
    expect(names(catalog, "tools", first)).toEqual(["late__echo", "late__ask"]);
    const second = session("s2", "sampling");
    await catalog.prepare(second);
    expect(names(catalog, "tools", second)).toEqual(["late__echo", "late__ask"]);
  });
});

describe("a server that adds tools in the course of a session", () => {
  async function connected() {
    const upstream = fakeUpstream("db", { audience: perSession, lists: { tools: [tool("connect")] } });
    const catalog = catalogOf([upstream]);
    await settle();
    const [first, second] = [session("s1", "roots"), session("s2", "roots")];
    await catalog.prepare(first);
    await catalog.prepare(second);
    await pass(60_000);
    upstream.setList("tools", [tool("connect"), tool("query")], "s1");
    upstream.listChanged("tools", perSession(first));
    await pass(50);
    return { upstream, catalog, first, second };
  }

  test("shows them to that session alone", async () => {
    const { catalog, first, second } = await connected();
    expect(names(catalog, "tools", first)).toEqual(["db__connect", "db__query"]);
    expect(names(catalog, "tools", second)).toEqual(["db__connect"]);
    expect(names(catalog)).toEqual(["db__connect"]);
  });

  test("is asked by the next session of the class for itself", async () => {
    const { catalog, upstream } = await connected();
    upstream.listed.length = 0;
    const third = session("s3", "roots");
    await catalog.prepare(third);
    expect(upstream.listed).toContain("tools@s3");
    expect(names(catalog, "tools", third)).toEqual(["db__connect"]);
  });

  test("and what a session saw is dropped when it ends", async () => {
    const { catalog, upstream, first } = await connected();
    expect(catalog.status()[0]?.audiences).toBe(3);
    catalog.releaseClient("s1");
    expect(catalog.status()[0]?.audiences).toBe(2);
    upstream.listed.length = 0;
    upstream.listChanged("tools", perSession(first));
    await pass(1_000);
    expect(upstream.listed).toEqual([]);
  });

  test("is requested again when a connection of the session is opened again", async () => {
    const { catalog, upstream, first } = await connected();
    upstream.setList("tools", [tool("connect")], "s1");
    upstream.becomeReady(perSession(first));
    await pass(50);
    expect(names(catalog, "tools", first)).toEqual(["db__connect"]);
  });
});

test("a client that only calls gets list changes when its connection opens", async () => {
  const upstream = everything(perSession);
  const catalog = catalogOf([upstream]);
  await settle();
  const first = session("s1", "sampling");
  await catalog.prepare(first);
  // The forecast of its class is what the second one sees until it has a connection.
  const second = session("s2", "sampling");
  await catalog.prepare(second);
  upstream.setList("tools", [tool("echo"), tool("mine")], "s2");
  upstream.becomeReady(perSession(second));
  await pass(50);
  expect(names(catalog, "tools", second)).toEqual(["everything__echo", "everything__mine"]);
});

test("a change on the shared connection invalidates the list of a class without a connection", async () => {
  const upstream = everything(perSession);
  const catalog = catalogOf([upstream]);
  await settle();
  await catalog.prepare(session("s1", "sampling"));
  catalog.releaseClient("s1");
  upstream.setList("tools", [tool("echo2")]).setList("tools", [tool("echo2"), tool("ask")], "sampling");
  upstream.listChanged("tools");
  await pass(50);
  const next = session("s2", "sampling");
  await catalog.prepare(next);
  expect(names(catalog, "tools", next)).toEqual(["everything__echo2", "everything__ask"]);
});

test("where one connection serves a class, its lists outlive the client that requested them first", async () => {
  const upstream = everything(perClass);
  const catalog = catalogOf([upstream]);
  await settle();
  await catalog.prepare(session("s1", "sampling"));
  catalog.releaseClient("s1");
  const second = session("s2", "sampling");
  await catalog.prepare(second);
  upstream.setList("tools", [tool("new")], "sampling");
  upstream.listChanged("tools", perClass(second));
  await pass(50);
  expect(names(catalog, "tools", second)).toEqual(["everything__new"]);
});

test("a server whose era becomes known changes list scopes, and views follow", async () => {
  let audience = perSession;
  const upstream = fakeUpstream("unsure", {
    state: "starting",
    audience: (client) => audience(client),
    lists: { tools: [tool("echo")] },
  });
  const catalog = catalogOf([upstream], { servers: [server("unsure")] });
  const asker = session("s1", "sampling");
  const prepared = catalog.prepare(asker);
  expect(names(catalog, "tools", asker)).toEqual([]);
  audience = () => SHARED_SCOPE;
  upstream.becomeReady();
  await settle();
  await prepared;
  expect(names(catalog, "tools", asker)).toEqual(["unsure__echo"]);
  expect(upstream.listed).toHaveLength(4);
});
