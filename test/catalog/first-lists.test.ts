/** A host that lists once sees the tools of servers that start slowly; one that hangs delays only the first list. */
import { describe, expect, test, vi } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.js";
import type { Client } from "../../src/core/client.js";
import type { Target } from "../../src/core/methods.js";
import { Stop } from "../../src/core/stop.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { type FakeUpstream, fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, server, tool } from "./support.js";

fakeTime();

const starting = (name: string, ...tools: readonly string[]): FakeUpstream =>
  fakeUpstream(name, { state: "starting", lists: { tools: tools.map((each) => tool(each)) } });

/** Becomes ready after `ms`, and lists at once. */
function readyAfter(ms: number, upstream: FakeUpstream): FakeUpstream {
  setTimeout(() => upstream.becomeReady(), ms);
  return upstream;
}

/** How long (ms) a list waits, and what it then shows. */
function listing(catalog: Catalog, client: Client = fakeClient(), signal = new Stop().signal) {
  const began = performance.now();
  const seen = { waited: Number.NaN, tools: [] as readonly unknown[] };
  void catalog.prepareLists(client, signal).then(() => {
    seen.waited = performance.now() - began;
    seen.tools = names(catalog.latest, "tools", client);
  });
  return seen;
}

describe("the first list", () => {
  test("waits for all starting servers in parallel, no longer than the slowest", async () => {
    const catalog = catalogOf([
      readyAfter(2_000, starting("files", "read")),
      readyAfter(8_000, starting("git", "log")),
      readyAfter(5_000, starting("memory", "recall")),
    ]);
    const list = listing(catalog);
    await pass(10_000);
    expect(list).toEqual({ waited: 8_000, tools: ["files__read", "git__log", "memory__recall"] });
  });

  test("shows the available lists at its timeout", async () => {
    const catalog = catalogOf([readyAfter(2_000, starting("files", "read")), starting("stuck", "late")], {
      startupWaitMs: 4_000,
    });
    const list = listing(catalog);
    await pass(3_999);
    expect(list.waited).toBeNaN();
    await pass(1);
    expect(list).toEqual({ waited: 4_000, tools: ["files__read"] });
  });

  test("waits for the lists of a server too, not only for its connection", async () => {
    const slow = readyAfter(1_000, starting("slow", "here")).slow(3_000);
    const list = listing(catalogOf([slow]));
    await pass(10_000);
    expect(list).toEqual({ waited: 4_000, tools: ["slow__here"] });
  });

  test("of a host that connects while a server starts has the whole timeout", async () => {
    const catalog = catalogOf([readyAfter(12_000, starting("files", "read"))]);
    const early = listing(catalog);
    await pass(8_000);
    const late = listing(catalog);
    await pass(10_000);
    expect(early).toEqual({ waited: 10_000, tools: [] });
    expect(late).toEqual({ waited: 4_000, tools: ["files__read"] });
  });

  test("waits for a required server up to its connect timeout", async () => {
    const upstream = readyAfter(25_000, starting("vital", "beat"));
    const other = starting("other", "late");
    const required = server("vital", { required: true, connectTimeoutMs: 30_000 });
    const catalog = catalogOf([upstream, other], { servers: [required, server("other")] });
    const list = listing(catalog);
    await pass(30_000);
    expect(list).toEqual({ waited: 25_000, tools: ["vital__beat"] });
  });

  test("with a limit of zero waits for nothing", async () => {
    const list = listing(catalogOf([starting("slow", "here")], { startupWaitMs: 0 }));
    await settle();
    expect(list).toEqual({ waited: 0, tools: [] });
  });

  test("does not wait for servers that its path does not show", async () => {
    const catalog = catalogOf([
      fakeUpstream("files", { lists: { tools: [tool("read")] } }),
      starting("stuck"),
    ]);
    await settle();
    const list = listing(catalog, fakeClient({ endpoint: "files" }));
    await settle();
    expect(list).toEqual({ waited: 0, tools: ["read"] });
  });
});

test("a list without starting servers does not wait", async () => {
  const catalog = catalogOf([fakeUpstream("files", { lists: { tools: [tool("read")] } })]);
  await settle();
  const { signal } = new Stop();
  expect(catalog.prepareLists(fakeClient(), signal)).toBe(catalog.prepareLists(fakeClient(), signal));
});

describe("no list waits", () => {
  test("for a server that hangs at its start, after the timeout", async () => {
    const catalog = catalogOf([starting("stuck")]);
    const first = listing(catalog);
    await pass(10_000);
    const second = listing(catalog);
    await settle();
    expect([first.waited, second.waited]).toEqual([10_000, 0]);
  });

  test("for a server that failed and is retried", async () => {
    const broken = starting("broken", "read");
    const catalog = catalogOf([broken]);
    const first = listing(catalog);
    await pass(500);
    broken.goDown("it exits at once");
    await settle();
    broken.state = "starting";
    const second = listing(catalog);
    await settle();
    expect([first.waited, second.waited]).toEqual([500, 0]);
  });

  test("for a server with cached lists that restarts", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    files.goDown();
    files.state = "starting";
    const list = listing(catalog);
    await settle();
    expect(list).toEqual({ waited: 0, tools: ["files__read"] });
  });

  test("after it was cancelled, and leaves nothing pending", async () => {
    const catalog = catalogOf([starting("stuck")]);
    const stop = new Stop();
    const list = listing(catalog, fakeClient(), stop.signal);
    await pass(3_000);
    stop.abort();
    await settle();
    expect(list.waited).toBe(3_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("once the gateway drains", async () => {
    const catalog = catalogOf([starting("stuck")]);
    const list = listing(catalog);
    await pass(3_000);
    catalog.stopWaiting();
    const later = listing(catalog);
    await settle();
    expect([list.waited, later.waited]).toEqual([3_000, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a call", () => {
  const sought = { kind: "tools", name: "files__read" } as const;
  /** What a call finds that is sent now, once it has waited. */
  function calling(catalog: Catalog) {
    const seen = { found: undefined as string | undefined };
    const client = fakeClient();
    const { signal } = new Stop();
    void catalog.prepare(client, [sought], signal).then(() => {
      seen.found = catalog.view(client).find(sought.kind, sought.name)?.target ?? "nothing";
    });
    return seen;
  }

  test("waits for the lists of a server that failed at its first start and lists now", async () => {
    const files = starting("files", "read").slow(1_000);
    const catalog = catalogOf([files]);
    files.goDown();
    await settle();
    files.becomeReady();
    const call = calling(catalog);
    await pass(999);
    expect(call.found).toBeUndefined();
    await pass(1);
    expect(call.found).toBe("read");
  });

  test("waits for such a server while it connects", async () => {
    const files = starting("files", "read");
    const catalog = catalogOf([files]);
    files.goDown();
    await settle();
    files.state = "starting";
    files.whenSought = () => files.becomeReady();
    const call = calling(catalog);
    await settle();
    expect(call.found).toBe("read");
  });

  test("does not wait for a list that the server cannot give", async () => {
    const files = starting("files", "read").failing(undefined, "tools");
    const catalog = catalogOf([files]);
    files.becomeReady();
    await pass(5_000);
    const call = calling(catalog);
    await settle();
    expect(call.found).toBe("nothing");
  });
});

test("servers count as starting until they have listed or failed", async () => {
  const broken = starting("broken");
  const catalog = catalogOf([starting("stuck"), readyAfter(1_000, starting("files")), broken]);
  expect(catalog.starting()).toEqual(["stuck", "files", "broken"]);
  broken.goDown();
  await pass(1_000);
  expect(catalog.starting()).toEqual(["stuck"]);
});

describe("after a reload", () => {
  test("a list waits for the server that was added, and not for the others", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const before = catalogOf([files]);
    await settle();
    const catalog = catalogOf([files, readyAfter(6_000, starting("git", "log"))], { before });
    before.close();
    const list = listing(catalog);
    await pass(10_000);
    expect(list).toEqual({ waited: 6_000, tools: ["files__read", "git__log"] });
  });

  test("a list that waits is answered with the servers of the new config", async () => {
    const files = readyAfter(6_000, starting("files", "read"));
    const before = catalogOf([files]);
    const list = listing(before);
    await pass(1_000);
    const catalog = catalogOf([files, readyAfter(2_000, starting("git", "log"))], { before });
    expect(before.latest).toBe(before);
    catalog.goLive();
    before.close();
    expect(before.latest).toBe(catalog);
    await pass(9_000);
    expect(list).toEqual({ waited: 6_000, tools: ["files__read", "git__log"] });
  });

  test("a reload does not restart the timeout of a starting server", async () => {
    const stuck = starting("stuck");
    const before = catalogOf([stuck]);
    await pass(10_000);
    const list = listing(catalogOf([stuck], { before }));
    await settle();
    expect(list.waited).toBe(0);
  });
});

describe("a host that can be asked questions has its own connection", () => {
  const asker = fakeClient({ affinity: "s1", session: true, capabilities: { sampling: {} } });
  const own = { key: "s1", capabilityClass: "sampling" };
  const askable = (state: "starting" | "ready") =>
    fakeUpstream("files", { state, lists: { tools: [tool("read")] }, audience: () => own }).setList(
      "tools",
      [tool("read"), tool("ask")],
      own.key,
    );

  test("and its first list waits for the lists of that connection", async () => {
    const list = listing(catalogOf([readyAfter(3_000, askable("starting")).slow(2_000)]), asker);
    await pass(10_000);
    expect(list).toEqual({ waited: 7_000, tools: ["files__read", "files__ask"] });
  });

  test("and after a timeout its list is the shared one, and the next one does not wait", async () => {
    const files = askable("ready");
    const catalog = catalogOf([files]);
    await settle();
    files.hanging();
    const first = listing(catalog, asker);
    await pass(10_000);
    const second = listing(catalog, asker);
    await settle();
    expect(first).toEqual({ waited: 10_000, tools: ["files__read"] });
    expect(second.waited).toBe(0);
  });

  test("and after a failure later lists do not wait for the next attempts", async () => {
    const files = askable("ready");
    const catalog = catalogOf([files]);
    await settle();
    files.failing();
    const first = listing(catalog, asker);
    await pass(60_000);
    files.slow(4_000);
    const second = listing(catalog, asker);
    await settle();
    expect([first.waited, second.waited]).toEqual([0, 0]);
    await pass(4_000);
    expect(names(catalog, "tools", asker)).toEqual(["files__read", "files__ask"]);
  });
});

describe("a call of a name that is listed for some capabilities only, before any host has listed with them,", () => {
  const own = { key: "sampling", capabilityClass: "sampling" };
  const host = (affinity = "s1") => fakeClient({ affinity, capabilities: { sampling: {} } });
  const lists = { tools: [tool("read")], prompts: [{ name: "plain" }] };
  const askable = (state: "starting" | "ready", scope = own) =>
    fakeUpstream("files", { state, lists, audience: () => scope })
      .setList("tools", [tool("read"), tool("ask")], scope.key)
      .setList("prompts", [{ name: "plain" }, { name: "interview" }], scope.key);
  const SOUGHT: readonly Target[] = [
    { kind: "tools", name: "files__ask" },
    { kind: "tools", name: "ask" },
    { kind: "prompts", name: "files__interview" },
  ];

  /** When a call finds its target, and which server is not known to lack it when it has waited. */
  function calling(catalog: Catalog, sought: Target = SOUGHT[0] as Target, client: Client = host()) {
    const began = performance.now();
    const seen = {
      waited: Number.NaN,
      found: undefined as string | undefined,
      unlisted: undefined as unknown,
    };
    void catalog.prepare(client, [sought], new Stop().signal).then(() => {
      seen.waited = performance.now() - began;
      seen.found = catalog.view(client).list(sought.kind).find(sought.name)?.target;
      seen.found ??= catalog.view(client).find(sought.kind, sought.name)?.target;
      seen.unlisted = catalog.unlistedOwner(client, sought.kind, sought.name);
    });
    return seen;
  }

  test.each(SOUGHT)("waits for the start and the first list with them ($kind, $name)", async (sought) => {
    const catalog = catalogOf([readyAfter(3_000, askable("starting")).slow(2_000)]);
    const [call, second] = [calling(catalog, sought), calling(catalog, sought, host("s2"))];
    await pass(10_000);
    expect([call.waited, second.waited]).toEqual([7_000, 7_000]);
    expect(call.found).toBe(sought.name.replace("files__", ""));
  });

  test.each(SOUGHT)(
    "waits for a slow list of a server that has started long ago ($kind, $name)",
    async (sought) => {
      const catalog = catalogOf([askable("ready").slow(4_000)]);
      await pass(20_000);
      const first = calling(catalog, sought);
      await pass(2_000);
      const second = calling(catalog, sought);
      await pass(10_000);
      expect([first.waited, second.waited]).toEqual([4_000, 2_000]);
      expect([first.found, second.found]).toEqual(Array(2).fill(sought.name.replace("files__", "")));
    },
  );

  test("ends its wait when the name is listed, however long other lists take", async () => {
    const catalog = catalogOf([askable("ready").slow(2_000, "tools").slow(9_000, "prompts")]);
    await pass(20_000);
    const call = calling(catalog);
    await pass(2_000);
    expect([call.waited, call.found]).toEqual([2_000, "ask"]);
    expect(vi.getTimerCount()).toBeLessThanOrEqual(5);
  });

  test("waits for one load, however many hosts call", async () => {
    const files = askable("ready").slow(3_000);
    const catalog = catalogOf([files]);
    await pass(20_000);
    const calls = Array.from({ length: 24 }, (_, index) => calling(catalog, undefined, host(`s${index}`)));
    await pass(10_000);
    expect(calls.map(({ found }) => found)).toEqual(calls.map(() => "ask"));
    expect(files.listed.filter((each) => each === "tools@sampling")).toHaveLength(1);
  });

  test("is not unknown when the server starts or lists for longer than calls wait", async () => {
    const [slow, hung] = [askable("ready").slow(14_000), askable("starting")];
    const [listing, starting] = [catalogOf([slow]), catalogOf([hung])];
    await pass(20_000);
    const calls = [calling(listing), calling(starting)];
    await pass(10_000);
    calls.push(calling(listing), calling(starting));
    await settle();
    expect(calls.map(({ waited }) => waited)).toEqual([10_000, 0, 0, 0]);
    expect(calls.map(({ unlisted }) => unlisted)).toEqual(["files", "files", "files", "files"]);
  });

  test("is unknown once the list is there and lacks it", async () => {
    const catalog = catalogOf([askable("ready").slow(3_000)]);
    await pass(20_000);
    const call = calling(catalog, { kind: "tools", name: "files__misspelt" });
    await pass(10_000);
    expect(call).toEqual({ waited: 3_000, found: undefined, unlisted: undefined });
    const again = calling(catalog, { kind: "tools", name: "misspelt" });
    await settle();
    expect(again).toEqual({ waited: 0, found: undefined, unlisted: undefined });
  });

  test("does not wait for a server whose prefix the name lacks for longer than other calls", async () => {
    const catalog = catalogOf([askable("ready"), starting("stuck")]);
    await pass(500);
    const call = calling(catalog, { kind: "tools", name: "files__misspelt" });
    await pass(5_000);
    expect([call.waited, call.unlisted]).toEqual([1_500, undefined]);
  });

  test("does not wait for a server that failed at its last start, and says that it is away", async () => {
    const files = askable("starting");
    const catalog = catalogOf([files]);
    files.goDown("it exits at once");
    await settle();
    const call = calling(catalog);
    await settle();
    expect(call).toEqual({ waited: 0, found: undefined, unlisted: "files" });
  });
});
