import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../src/core/errors.js";
import { type LogFields, SILENT } from "../../src/core/logger.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, server, tool } from "./support.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTimeAsync(0);
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** How often a list was asked for. */
const times = (listed: readonly string[], list: string) => listed.filter((each) => each === list).length;

describe("at start", () => {
  test("the lists of the others are there although one server hangs", async () => {
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

  test("nobody waits a second time for a server that hangs", async () => {
    const catalog = catalogOf([fakeUpstream("stuck", { state: "starting" })]);
    await pass(1_500);
    const began = performance.now();
    await catalog.prepare(fakeClient());
    expect(performance.now()).toBe(began);
  });

  test("a client waits only until every server was heard", async () => {
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

  test("a list that hangs holds up neither the other lists of its server nor, for long, its clients", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } }).hanging("resources");
    const catalog = catalogOf([files]);
    const prepared = catalog.prepare(fakeClient());
    await settle();
    expect(names(catalog)).toEqual(["files__read"]);
    await pass(1_500);
    await prepared;
  });
});

describe("when a server says that a list changed", () => {
  test("it is asked once for a storm of announcements", async () => {
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

  test("a storm that does not end leads to one refresh after the other, never to two at once", async () => {
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

  test("several lists are asked for together", async () => {
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

  test("a change that comes while it is being asked is not lost", async () => {
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

  test("the metric hears of it only when the list really differs", async () => {
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

  test("the metric counts a change once, however many audiences hear of it, and the next one again", async () => {
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

describe("a server that fails to list", () => {
  test("keeps the list it gave last, which may then be kept by nobody", async () => {
    const files = fakeUpstream("files", {
      lists: { tools: [tool("read")] },
      freshness: { ttlMs: 60_000, scope: "public" },
    });
    const catalog = catalogOf([files]);
    await settle();
    expect(catalog.freshness(fakeClient(), "tools")).toEqual({ ttlMs: 60_000, scope: "public" });
    files.failing();
    files.listChanged("tools");
    await pass(50);
    expect(names(catalog)).toEqual(["files__read"]);
    expect(catalog.freshness(fakeClient(), "tools").ttlMs).toBe(0);
    expect(catalog.freshness(fakeClient(), "prompts").ttlMs).toBe(59_950);
  });

  test("is asked again after 1 s, 2 s, 4 s …, and for that list alone", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } }).failing(undefined, "tools");
    const catalog = catalogOf([files]);
    await settle();
    files.listed.length = 0;
    await pass(999);
    expect(files.listed).toEqual([]);
    await pass(1);
    expect(files.listed).toEqual(["tools@shared"]);
    await pass(1_999);
    expect(files.listed).toHaveLength(1);
    await pass(1);
    expect(files.listed).toHaveLength(2);
    files.well();
    await pass(4_000);
    expect(names(catalog)).toEqual(["files__read"]);
    await pass(600_000);
    expect(times(files.listed, "tools@shared")).toBe(3);
  });

  test("is given up on after a while when it hangs, and says so in the log", async () => {
    const logged: LogFields[] = [];
    const logger = { ...SILENT, warn: (fields: LogFields) => logged.push(fields) };
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } }).hanging("tools");
    const catalog = catalogOf([files], { logger });
    await pass(15_000);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({ server: "files", list: "tools" });
    expect(logged[0]?.error).toBeInstanceOf(GatewayError);
    files.well();
    await pass(1_000);
    expect(names(catalog)).toEqual(["files__read"]);
  });

  test("does not blind or delay the others", async () => {
    const broken = fakeUpstream("broken").failing();
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([broken, files]);
    const began = performance.now();
    const prepared = catalog.prepare(fakeClient());
    await settle();
    await prepared;
    expect(performance.now()).toBe(began);
    expect(names(catalog)).toEqual(["files__read"]);
  });
});

describe("a server that goes away", () => {
  const lists = { tools: [tool("read")] };

  test("stays in the lists for the grace time, then leaves them, and is back when it was heard", async () => {
    const files = fakeUpstream("files", {
      lists: { tools: [tool("read")] },
      freshness: { ttlMs: 600_000, scope: "public" },
    });
    const git = fakeUpstream("git", { lists: { tools: [tool("log")] } });
    const catalog = catalogOf([files, git]);
    await settle();
    files.goDown();
    await pass(59_999);
    expect(names(catalog)).toEqual(["files__read", "git__log"]);
    expect(catalog.freshness(fakeClient(), "tools").ttlMs).toBe(0);
    expect(catalog.status()[0]).toMatchObject({ name: "files", state: "backoff", stale: true, shown: true });
    await pass(1);
    expect(names(catalog)).toEqual(["git__log"]);
    expect(catalog.status()[0]).toMatchObject({ shown: false });
    files.becomeReady();
    await settle();
    expect(names(catalog)).toEqual(["files__read", "git__log"]);
    expect(catalog.status()[0]).toMatchObject({ shown: true, stale: false });
  });

  test("is away since it went, however often it fails to come back", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files]);
    await settle();
    for (let i = 0; i < 6; i++) {
      files.goDown();
      await pass(10_000);
    }
    expect(names(catalog)).toEqual([]);
  });

  test("and comes back in time never left, and is asked anew", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files]);
    await settle();
    files.goDown();
    await pass(30_000);
    files.setList("tools", [tool("read"), tool("write")]);
    files.becomeReady();
    await settle();
    expect(names(catalog)).toEqual(["files__read", "files__write"]);
    await pass(60_000);
    expect(names(catalog)).toEqual(["files__read", "files__write"]);
  });
});

describe("a server that says how long its lists may be kept", () => {
  test.each([
    ["as long as it says", 5_000, 5_000],
    ["a second, though it says nothing at all may be kept", 0, 1_000],
    ["an hour, though it says for ever", Number.MAX_SAFE_INTEGER, 3_600_000],
  ])("is asked again by whoever looks when that is over: %s", async (_what, ttlMs, waitMs) => {
    const files = fakeUpstream("files", {
      lists: { tools: [tool("read")] },
      freshness: { ttlMs, scope: "public" },
    });
    const catalog = catalogOf([files]);
    await settle();
    files.setList("tools", [tool("read"), tool("new")]);
    await pass(waitMs - 10);
    await catalog.prepare(fakeClient());
    await pass(100);
    expect(names(catalog)).not.toContain("files__new");
    await catalog.prepare(fakeClient());
    await pass(100);
    expect(names(catalog)).toContain("files__new");
  });
});

describe("a server of which nothing is known", () => {
  const target = (name: string) => [{ kind: "tools" as const, name }];
  const downFrom = (name: string) => {
    const upstream = fakeUpstream(name, { state: "starting", lists: { tools: [tool("read")] } });
    upstream.goDown();
    return upstream;
  };

  test("is tried at once for whoever looks for something that it may have, who waits for its lists", async () => {
    const [files, git] = [downFrom("files").slow(100), downFrom("git")];
    const catalog = catalogOf([files, git]);
    files.whenSought = () => files.becomeReady();
    const began = performance.now();
    const prepared = catalog.prepare(fakeClient(), target("files__read"));
    await pass(1_000);
    await prepared;
    expect([files.sought, git.sought]).toEqual([1, 0]);
    expect(names(catalog)).toEqual(["files__read"]);
    expect(times(files.listed, "tools@shared")).toBe(1);
    expect(performance.now() - began).toBeLessThanOrEqual(1_000);
  });

  test("is waited for no longer than one that starts, and not tried for who only lists", async () => {
    const files = downFrom("files");
    const catalog = catalogOf([files]);
    await catalog.prepare(fakeClient());
    expect(files.sought).toBe(0);
    files.hanging();
    files.whenSought = () => files.becomeReady();
    let waited = Number.NaN;
    const began = performance.now();
    void catalog.prepare(fakeClient(), target("files__read")).then(() => {
      waited = performance.now() - began;
    });
    await pass(5_000);
    expect(waited).toBe(1_500);
  });

  test("is not tried where it was met, and its lists are shown while it is away for a moment", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    files.goDown();
    await catalog.prepare(fakeClient(), target("files__misspelt"));
    expect(files.sought).toBe(0);
    await pass(60_000);
    await catalog.prepare(fakeClient(), target("files__read"));
    expect(files.sought).toBe(1);
  });
});

describe("how long a list may be kept", () => {
  const ttl = (ttlMs: number, scope: "public" | "private" = "public") => ({ freshness: { ttlMs, scope } });

  test("is what is left to the part that goes first, and public only where every part is", async () => {
    const files = fakeUpstream("files", ttl(60_000));
    const git = fakeUpstream("git", ttl(90_000, "private"));
    const catalog = catalogOf([files, git]);
    await settle();
    await pass(20_000);
    expect(catalog.freshness(fakeClient(), "tools")).toEqual({ ttlMs: 40_000, scope: "private" });
    expect(catalog.freshness(fakeClient({ endpoint: "files" }), "tools")).toEqual({
      ttlMs: 40_000,
      scope: "public",
    });
  });

  test("does not depend on a server that offers no such list", async () => {
    const files = fakeUpstream("files", ttl(60_000));
    const toolless = fakeUpstream("toolless", { capabilities: { prompts: {} } });
    const catalog = catalogOf([files, toolless]);
    await settle();
    expect(catalog.freshness(fakeClient(), "tools")).toEqual({ ttlMs: 60_000, scope: "public" });
    expect(catalog.freshness(fakeClient(), "prompts")).toEqual({ ttlMs: 0, scope: "private" });
  });

  test("is no time at all while a server is still to come", async () => {
    const files = fakeUpstream("files", ttl(60_000));
    const catalog = catalogOf([files, fakeUpstream("stuck", { state: "starting" })]);
    await settle();
    expect(catalog.freshness(fakeClient(), "tools").ttlMs).toBe(0);
  });
});

describe("a list that is older than it should be", () => {
  test("is asked for again when somebody is about to see it, in the background", async () => {
    const files = fakeUpstream("files", { capabilities: { tools: {} }, lists: { tools: [tool("a")] } });
    const catalog = catalogOf([files]);
    await settle();
    files.listed.length = 0;
    files.setList("tools", [tool("b")]);
    await pass(30_000);
    await catalog.prepare(fakeClient());
    await pass(1_000);
    expect(files.listed).toEqual([]);
    await catalog.prepare(fakeClient());
    await catalog.prepare(fakeClient());
    expect(names(catalog)).toEqual(["files__a"]);
    await pass(50);
    expect(files.listed).toEqual(["tools@shared"]);
    expect(names(catalog)).toEqual(["files__b"]);
  });

  test("is left alone for longer where the server promised to announce changes, or gave it a longer life", async () => {
    const announcing = fakeUpstream("announcing", { capabilities: { tools: { listChanged: true } } });
    const lasting = fakeUpstream("lasting", {
      capabilities: { tools: {} },
      freshness: { ttlMs: 3_600_000, scope: "public" },
    });
    const catalog = catalogOf([announcing, lasting]);
    await settle();
    announcing.listed.length = 0;
    lasting.listed.length = 0;
    await pass(299_000);
    await catalog.prepare(fakeClient());
    await pass(100);
    expect([announcing.listed, lasting.listed]).toEqual([[], []]);
    await pass(2_000);
    await catalog.prepare(fakeClient());
    await pass(100);
    expect([announcing.listed, lasting.listed]).toEqual([["tools@shared"], []]);
  });
});

test("a catalog that is closed leaves no observer, no timer and no question behind", async () => {
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

test("a fault while a failed list is taken in keeps nobody waiting, and the list is asked for again", async () => {
  const files = fakeUpstream("files", { state: "starting", lists: { tools: [tool("read")] } }).failing();
  const faults: string[] = [];
  const logger = {
    ...SILENT,
    warn: () => {
      throw new TypeError("a fault");
    },
    error: (_: object, sentence: string) => void faults.push(sentence),
  };
  const catalog = catalogOf([files], { logger });
  files.becomeReady();
  await vi.advanceTimersByTimeAsync(0);
  expect(faults).toEqual(["lists could not be taken in"]);
  files.well();
  files.listChanged("tools");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(names(catalog)).toEqual(["files__read"]);
});

test("a server whose list changes all the time has hosts told of it once in a second, and at once when it is calm again", async () => {
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
