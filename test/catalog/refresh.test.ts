/** When the lists of servers are loaded: at start, and after a change was announced. */

import { describe, expect, test, vi } from "vitest";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, server, tool } from "./support.js";

fakeTime();

describe("at start", () => {
  test("the lists of other servers are available although one server hangs", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const stuck = fakeUpstream("stuck", { state: "starting", lists: { tools: [tool("late")] } });
    const catalog = catalogOf([files, stuck]);
    let waited = Number.NaN;
    const began = performance.now();
    void catalog.prepare(fakeClient()).then(() => {
      waited = performance.now() - began;
    });
    await pass(1_499);
    expect(waited).toBeNaN();
    expect(names(catalog)).toEqual(["files__read"]);
    await pass(1);
    expect(waited).toBe(1_500);
  });

  test("no client waits a second time for a server that hangs", async () => {
    const catalog = catalogOf([fakeUpstream("stuck", { state: "starting" })]);
    await pass(1_500);
    const began = performance.now();
    await catalog.prepare(fakeClient());
    expect(performance.now()).toBe(began);
  });

  test("a client waits only until every server has responded", async () => {
    const slow = fakeUpstream("slow", { state: "starting", lists: { tools: [tool("here")] } }).slow(200);
    const catalog = catalogOf([slow]);
    let ready = false;
    void catalog.prepare(fakeClient()).then(() => {
      ready = true;
    });
    await pass(300);
    slow.becomeReady();
    await pass(199);
    expect(ready).toBe(false);
    await pass(1);
    expect(ready).toBe(true);
    expect(names(catalog)).toEqual(["slow__here"]);
  });

  test("a client does not wait for a server that failed to start", async () => {
    const broken = fakeUpstream("broken", { state: "starting" });
    const catalog = catalogOf([broken]);
    let ready = false;
    void catalog.prepare(fakeClient()).then(() => {
      ready = true;
    });
    broken.goDown("it exits at once");
    await settle();
    expect(ready).toBe(true);
  });

  test("a list that hangs delays neither the other lists of its server nor, for long, its clients", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } }).hanging("resources");
    const catalog = catalogOf([files]);
    const prepared = catalog.prepare(fakeClient());
    await settle();
    expect(names(catalog)).toEqual(["files__read"]);
    await pass(1_500);
    await prepared;
  });
});

describe("when a server sends list_changed", () => {
  test("a storm of list_changed causes one request", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    files.listed.length = 0;
    files.setList("tools", [tool("read"), tool("write")]);
    for (let i = 0; i < 1_000; i++) files.listChanged("tools");
    await pass(49);
    expect(files.listed).toEqual([]);
    await pass(1);
    expect(files.listed).toEqual(["tools@shared"]);
    expect(names(catalog)).toEqual(["files__read", "files__write"]);
  });

  test("an endless storm causes sequential refreshes, never two concurrent ones", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    catalogOf([files]);
    await settle();
    files.listed.length = 0;
    files.slow(100);
    for (let ms = 0; ms < 3_000; ms += 10) {
      files.listChanged("tools");
      await pass(10);
    }
    // One takes 100 ms, and waits for 50 ms that begin with the first announcement after it began.
    expect(files.listed.length).toBeGreaterThan(5);
    expect(files.listed.length).toBeLessThanOrEqual(3_000 / 100);
  });

  test("the server is asked with the entries that it listed before, also those that are filtered", async () => {
    const lists = { tools: [tool("read"), tool("write")] };
    const files = fakeUpstream("files", { lists });
    const list = vi.spyOn(files, "list");
    const only = server("files", { tools: { allow: ["read"], deny: [] } });
    const catalog = catalogOf([files], { servers: [only] });
    await settle();
    const ofTools = () =>
      list.mock.calls.filter(([kind]) => kind === "tools").map(([, , , before]) => before);
    expect(ofTools()).toEqual([undefined]);
    files.listChanged("tools");
    await pass(50);
    expect(names(catalog)).toEqual(["files__read"]);
    expect(ofTools()).toEqual([undefined, lists.tools]);
  });

  test("several changed lists are requested together", async () => {
    const files = fakeUpstream("files");
    catalogOf([files]);
    await settle();
    files.listed.length = 0;
    files.listChanged("tools");
    files.listChanged("prompts");
    files.listChanged("tools");
    await pass(50);
    expect(files.listed).toEqual(["tools@shared", "prompts@shared"]);
  });

  test("a change during a refresh is not lost", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("a")] } });
    const catalog = catalogOf([files]);
    await settle();
    files.slow(100);
    files.listChanged("tools");
    await pass(60);
    files.setList("tools", [tool("b")]);
    files.listChanged("tools");
    await pass(300);
    expect(names(catalog)).toEqual(["files__b"]);
  });

  test("the metric counts it only when the list really differs", async () => {
    const changes: string[] = [];
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    catalogOf([files], { onListChanged: (server, list) => changes.push(`${server}/${list}`) });
    await settle();
    files.listChanged("tools");
    await pass(50);
    expect(changes).toEqual([]);
    files.setList("tools", []);
    files.listChanged("tools");
    await pass(50);
    expect(changes).toEqual(["files/tools"]);
  });

  test("the metric counts a change once, however many list scopes it affects, and the next one again", async () => {
    const changes: string[] = [];
    const files = fakeUpstream("files", {
      lists: { tools: [tool("read")] },
      audience: ({ affinity }) => ({ key: affinity, capabilityClass: affinity }),
    });
    const catalog = catalogOf([files], { onListChanged: (_, list) => changes.push(list) });
    await settle();
    const clients = ["a", "b", "c", "d", "e"].map((affinity) => fakeClient({ affinity }));
    files.setList("tools", [tool("read"), tool("ask")], "b");
    await Promise.all(clients.map((client) => catalog.prepare(client)));
    expect(changes).toEqual([]);
    const announce = async (name: string): Promise<void> => {
      for (const audience of ["", "b"]) files.setList("tools", [tool(name)], audience);
      files.listChanged("tools");
      for (const client of clients) files.listChanged("tools", files.listScope(client));
      await pass(50);
    };
    await announce("write");
    expect(changes).toEqual(["tools"]);
    await announce("append");
    expect(changes).toEqual(["tools", "tools"]);
    files.setList("tools", [], "c");
    await pass(10_000);
    files.listChanged("tools", files.listScope(fakeClient({ affinity: "c" })));
    await pass(50);
    expect(changes).toEqual(["tools", "tools", "tools"]);
  });

  test("calls keep the route they have", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    const before = catalog.view(fakeClient());
    files.setList("tools", []);
    files.listChanged("tools");
    await pass(50);
    expect(catalog.view(fakeClient()).find("tools", "files__read")).toBeUndefined();
    expect(before.find("tools", "files__read")?.target).toBe("read");
  });
});

test("a closed catalog leaves no observer, no timer and no pending request", async () => {
  const files = fakeUpstream("files").hanging();
  const git = fakeUpstream("git");
  const catalog = catalogOf([files, git]);
  await settle();
  git.listChanged("tools");
  git.goDown();
  catalog.close();
  await settle();
  expect([files.watchers, git.watchers]).toEqual([0, 0]);
  expect(vi.getTimerCount()).toBe(0);
  await pass(100_000);
  expect(git.listed).toHaveLength(4);
});

test("a server of the config without an upstream is a mistake in the wiring", () => {
  expect(() => catalogOf([], { servers: [server("files")] })).toThrow("files");
});

test("list_changed of a server that changes constantly is sent once per second, and immediately once it is quiet again", async () => {
  const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
  const catalog = catalogOf([files]);
  await settle();
  let told = 0;
  const interest = { lists: new Set(["tools" as const]), resources: new Set<string>() };
  catalog.changes.subscribe(fakeClient(), interest, () => {
    told += 1;
  });
  for (let change = 0; change < 400; change += 1) {
    files.setList("tools", [tool(`read${change}`)]).listChanged("tools");
    await pass(50);
  }
  expect(told).toBeLessThanOrEqual(5 + 1 + 20);
  await pass(5_000);
  expect(names(catalog)).toEqual(["files__read399"]);
  told = 0;
  files.setList("tools", [tool("calm")]).listChanged("tools");
  await pass(70);
  // The first after a rest may still wait; those after it do not.
  await pass(1_000);
  files.setList("tools", [tool("quiet")]).listChanged("tools");
  await pass(5_000);
  files.setList("tools", [tool("still")]).listChanged("tools");
  await pass(70);
  expect(told).toBe(3);
});
