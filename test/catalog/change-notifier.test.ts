import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.js";
import type { ChangeNotifier } from "../../src/catalog/change-notifier.js";
import type { Route } from "../../src/core/call.js";
import type { Change } from "../../src/core/change.js";
import type { Client } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import { LIST_KINDS, type ListKind } from "../../src/core/lists.js";
import { type ListScope, SHARED_SCOPE } from "../../src/core/upstream.js";
import type { RpcError } from "../../src/wire/envelope.js";
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

interface Wish {
  readonly client?: Client;
  readonly lists?: readonly ListKind[];
  readonly resources?: readonly string[];
}

function listen(catalog: Catalog, { client = fakeClient(), lists = LIST_KINDS, resources = [] }: Wish = {}) {
  const heard: Change[] = [];
  const interest = { lists: new Set(lists), resources: new Set(resources) };
  const stop = catalog.changes.subscribe(client, interest, (change) => heard.push(change));
  return { heard, stop };
}

const followable = async (catalog: Catalog, uris: readonly string[], client = fakeClient()) =>
  Object.fromEntries(await catalog.changes.followable(client, uris));

const toolsChanged: Change = { kind: "list", list: "tools" };

describe("a change of a list", () => {
  test("is told after the refresh, so that whoever lists then sees it", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    const seen: unknown[] = [];
    catalog.changes.subscribe(fakeClient(), { lists: new Set(LIST_KINDS), resources: new Set() }, (change) =>
      seen.push([change, names(catalog)]),
    );
    files.setList("tools", [tool("write")]).slow(100);
    files.listChanged("tools");
    await pass(169);
    expect(seen).toEqual([]);
    await pass(1);
    expect(seen).toEqual([[toolsChanged, ["files__write"]]]);
  });

  test("is told together with what other servers change in the same moment", async () => {
    const [files, git] = [fakeUpstream("files"), fakeUpstream("git")];
    const catalog = catalogOf([files, git]);
    await settle();
    const { heard } = listen(catalog);
    files.setList("tools", [tool("read")]).listChanged("tools");
    git.setList("tools", [tool("log")]).slow(15);
    git.listChanged("tools");
    await pass(70);
    expect(heard).toEqual([toolsChanged]);
    await pass(1_000);
    expect(heard).toEqual([toolsChanged]);
  });

  test("is not told when the list is what it was", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    const { heard } = listen(catalog);
    files.listChanged("tools");
    await pass(1_000);
    expect(heard).toEqual([]);
  });

  test("is told at once, and once, to the last of many whose turn had not come yet", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    const many = Array.from({ length: 600 }, () => listen(catalog));
    files.setList("tools", [tool("write")]).listChanged("tools");
    // The walk makes a pause on its way.
    while (many[0]?.heard.length === 0) await vi.advanceTimersToNextTimerAsync();
    expect(many.at(-1)?.heard).toEqual([]);
    catalog.changes.flush?.();
    await pass(1_000);
    expect(many.filter(({ heard }) => heard.length !== 1)).toEqual([]);
  });

  test("is not told to those from whom the difference is hidden", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read"), tool("secret", { title: "1" })] } });
    const git = fakeUpstream("git", { lists: { tools: [tool("log")] } });
    const catalog = catalogOf([files, git], {
      servers: [server("files", { tools: { allow: ["*"], deny: ["hidden"] } }), server("git")],
      profiles: {
        open: {
          servers: ["files", "git"],
          tools: { allow: ["*"], deny: ["*secret*"] },
          prompts: { allow: ["*"], deny: [] },
          resources: { allow: ["*"], deny: [] },
        },
      },
      isVisible: (client, { target }) => client.affinity !== "blind" || target !== "secret",
    });
    await settle();
    const whole = listen(catalog);
    const profile = listen(catalog, { client: fakeClient({ affinity: "p", endpoint: "open" }) });
    const blind = listen(catalog, { client: fakeClient({ affinity: "blind" }) });
    const other = listen(catalog, { client: fakeClient({ affinity: "g", endpoint: "git" }) });
    files.setList("tools", [tool("read"), tool("secret", { title: "2" }), tool("hidden")]);
    files.listChanged("tools");
    await pass(70);
    expect(whole.heard).toEqual([toolsChanged]);
    expect([profile.heard, blind.heard, other.heard]).toEqual([[], [], []]);
  });

  test("is told to those who asked for that list, until they stop", async () => {
    const files = fakeUpstream("files");
    const catalog = catalogOf([files]);
    await settle();
    const tools = listen(catalog, { lists: ["tools"] });
    const prompts = listen(catalog, { lists: ["prompts"] });
    const gone = listen(catalog);
    gone.stop();
    files.setList("tools", [tool("new")]);
    files.listChanged("tools");
    await pass(70);
    expect([tools.heard, prompts.heard, gone.heard]).toEqual([[toolsChanged], [], []]);
  });

  test("is told when a server comes, and when it left for good", async () => {
    const late = fakeUpstream("late", { state: "starting", lists: { tools: [tool("here")] } });
    const catalog = catalogOf([late]);
    const { heard } = listen(catalog);
    late.becomeReady();
    await pass(20);
    expect(heard).toEqual([toolsChanged]);
    late.goDown();
    await pass(60_019);
    expect(heard).toHaveLength(1);
    await pass(1);
    expect(heard).toEqual([toolsChanged, toolsChanged]);
  });

  test("of one session's own list is told to that session", async () => {
    const audience = (client: Client): ListScope =>
      client.session ? { key: client.affinity, capabilityClass: "roots" } : SHARED_SCOPE;
    const db = fakeUpstream("db", { audience, lists: { tools: [tool("connect")] } });
    const catalog = catalogOf([db]);
    await settle();
    const [one, two] = [
      fakeClient({ affinity: "1", session: true }),
      fakeClient({ affinity: "2", session: true }),
    ];
    await catalog.prepare(one);
    await catalog.prepare(two);
    await pass(60_000);
    const first = listen(catalog, { client: one });
    const second = listen(catalog, { client: two });
    db.setList("tools", [tool("query")], "1");
    db.listChanged("tools", audience(one));
    await pass(70);
    expect([first.heard, second.heard]).toEqual([[toolsChanged], []]);
  });

  test("reaches everybody although one of them throws", async () => {
    const files = fakeUpstream("files");
    const catalog = catalogOf([files]);
    await settle();
    catalog.changes.subscribe(fakeClient(), { lists: new Set(LIST_KINDS), resources: new Set() }, () => {
      throw new Error("the stream is gone");
    });
    const { heard } = listen(catalog);
    files.setList("tools", [tool("new")]);
    files.listChanged("tools");
    await pass(70);
    expect(heard).toEqual([toolsChanged]);
  });

  test("reaches 2,000 subscribers, and leaves the event loop to others in between", async () => {
    const files = fakeUpstream("files");
    const catalog = catalogOf([files]);
    await settle();
    const all = Array.from({ length: 2_000 }, (_, index) =>
      listen(catalog, { client: fakeClient({ affinity: `${index}` }) }),
    );
    files.setList("tools", [tool("new")]);
    files.listChanged("tools");
    let turns = 0;
    while (all.at(-1)?.heard.length === 0 && turns < 10) {
      turns++;
      await vi.advanceTimersToNextTimerAsync();
    }
    expect(all.every(({ heard }) => heard.length === 1)).toBe(true);
    // The first turn is the refresh itself.
    expect(turns).toBeGreaterThan(1);
  });
});

describe("a resource", () => {
  const lists = { resources: [{ uri: "test://a" }, { uri: "https://example.com/a" }] };
  const exposed = "files+test://a";

  test("is followed at its server while somebody listens, and its updates come under the exposed URI", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files]);
    await settle();
    const client = fakeClient({ affinity: "me" });
    const { heard, stop } = listen(catalog, { client, resources: [exposed, "https://example.com/a"] });
    expect(files.followed).toEqual(["test://a@me", "https://example.com/a@me"]);
    files.resourceUpdated("test://a");
    files.resourceUpdated("https://example.com/a");
    files.resourceUpdated("test://b");
    expect(heard).toEqual([
      { kind: "resource", uri: exposed },
      { kind: "resource", uri: "https://example.com/a" },
    ]);
    stop();
    expect(files.followed).toEqual([]);
    files.resourceUpdated("test://a");
    expect(heard).toHaveLength(2);
  });

  test("tells of what changes inside it, once, under the exposed URI of the part", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files]);
    await settle();
    const { heard } = listen(catalog, { resources: [exposed, "files+test://a/x"] });
    files.resourceUpdated("test://a/x");
    files.resourceUpdated("test://a/x/y");
    files.resourceUpdated("test://ab");
    expect(heard).toEqual([
      { kind: "resource", uri: "files+test://a/x" },
      { kind: "resource", uri: "files+test://a/x/y" },
    ]);
  });

  test("in the scope of its server has its own URI", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files]);
    await settle();
    const { heard } = listen(catalog, { client: fakeClient({ endpoint: "files" }), resources: ["test://a"] });
    files.resourceUpdated("test://a");
    files.resourceUpdated("test://a/x");
    expect(heard).toEqual([
      { kind: "resource", uri: "test://a" },
      { kind: "resource", uri: "test://a/x" },
    ]);
  });

  test("that one client's connection tells of is told to that client alone", async () => {
    const audience = (client: Client): ListScope => ({ key: client.affinity, capabilityClass: "roots" });
    const files = fakeUpstream("files", { audience, lists });
    const catalog = catalogOf([files]);
    await settle();
    const first = listen(catalog, { client: fakeClient({ affinity: "1" }), resources: [exposed] });
    const second = listen(catalog, { client: fakeClient({ affinity: "2" }), resources: [exposed] });
    files.resourceUpdated("test://a", { key: "1", capabilityClass: "roots" });
    expect([first.heard.length, second.heard.length]).toEqual([1, 0]);
  });

  test("that a shared connection tells of is not told to those who hear it over another one", async () => {
    const audience = ({ affinity }: Client): ListScope => ({
      key: affinity,
      capabilityClass: "roots",
      ...(affinity === "2" && { hasOwnUpdates: true }),
    });
    const files = fakeUpstream("files", { audience, lists });
    const catalog = catalogOf([files]);
    await settle();
    const first = listen(catalog, { client: fakeClient({ affinity: "1" }), resources: [exposed] });
    const second = listen(catalog, { client: fakeClient({ affinity: "2" }), resources: [exposed] });
    files.resourceUpdated("test://a");
    expect([first.heard.length, second.heard.length]).toEqual([1, 0]);
    files.resourceUpdated("test://a", { key: "2", capabilityClass: "roots" });
    expect([first.heard.length, second.heard.length]).toEqual([1, 1]);
  });

  test("is refused where its server refuses it, and not where it says nothing", async () => {
    const words = { code: -32_602, message: "not yours" };
    const subscriptionError = (uri: string) =>
      uri === "test://secret" ? Promise.resolve(words) : new Promise<undefined>(() => {});
    const files = Object.assign(fakeUpstream("files", { lists }), { subscriptionError });
    const catalog = catalogOf([files]);
    await settle();
    const refusals = catalog.changes.refusals?.(fakeClient(), ["files+test://secret", "files+test://silent"]);
    await pass(2_000);
    expect(await refusals).toEqual(new Map([["files+test://secret", words]]));
  });

  test("is followable only where its owner is known and offers it", async () => {
    const files = fakeUpstream("files", { lists });
    const silent = fakeUpstream("silent", { capabilities: { resources: {} }, lists });
    const catalog = catalogOf([files, silent]);
    await settle();
    const uris = [
      exposed,
      "files+test://unlisted",
      "silent+test://a",
      "https://example.com/a",
      "nobody+test://a",
    ];
    // The address on the web is listed by both, so nobody owns it.
    expect(await followable(catalog, uris)).toEqual({ [exposed]: "now", "files+test://unlisted": "now" });
    const { heard } = listen(catalog, { resources: uris });
    expect(files.followed).toEqual(["test://a@anonymous", "test://unlisted@anonymous"]);
    expect([silent.followed, heard]).toEqual([[], []]);
  });

  test("that may not be read is not followed either", async () => {
    const files = fakeUpstream("files", { lists });
    const mayFollow = (client: Client, { target }: Route): boolean =>
      client.principal.id === "ann" || target !== "test://a";
    const catalog = catalogOf([files], { mayFollow });
    await settle();
    const uris = [exposed, "files+test://b"];
    const ann = fakeClient({ principal: { id: "ann", groups: [], claims: {} }, affinity: "ann" });
    expect(await followable(catalog, uris)).toEqual({ "files+test://b": "now" });
    expect(Object.keys(await followable(catalog, uris, ann))).toEqual(uris);
    listen(catalog, { resources: uris });
    expect(files.followed).toEqual(["test://b@anonymous"]);
  });

  test("tells nothing of a part that may not be read, or that filters take away", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files], {
      servers: [server("files", { resources: { allow: ["*"], deny: ["test://a/hidden/*"] } })],
      mayFollow: (_, { exposed: uri }) => !uri.includes("/secret"),
    });
    await settle();
    const { heard } = listen(catalog, { resources: [exposed] });
    files.resourceUpdated("test://a/secret");
    files.resourceUpdated("test://a/%68idden/x");
    files.resourceUpdated("test://a/open");
    expect(heard).toEqual([{ kind: "resource", uri: "files+test://a/open" }]);
  });

  describe("of a server that is still to come", () => {
    test("is waited for, and followed at once", async () => {
      const files = fakeUpstream("files", { state: "starting", lists });
      const catalog = catalogOf([files]);
      const found = followable(catalog, [exposed]);
      await pass(3_000);
      files.becomeReady();
      await settle();
      expect(await found).toEqual({ [exposed]: "now" });
    });

    test("and whose URI does not tell its server is waited for too", async () => {
      const files = fakeUpstream("files", { state: "starting", lists });
      const catalog = catalogOf([files, fakeUpstream("git", { lists: {} })]);
      const found = followable(catalog, ["https://example.com/a"]);
      await pass(1_000);
      files.becomeReady();
      await settle();
      expect(await found).toEqual({ "https://example.com/a": "now" });
    });

    test("and hangs keeps nobody waiting who asks for what is not its own by the form of the URI", async () => {
      const catalog = catalogOf([
        fakeUpstream("stuck", { state: "starting" }),
        fakeUpstream("files", { lists }),
      ]);
      await settle();
      const found = followable(catalog, [exposed, "https://example.org/unknown"]);
      await pass(1_500);
      expect(Object.keys(await found)).toContain(exposed);
    });

    test("is waited for up to 10 s, then followed when it is there, and told to be another than it may have been", async () => {
      const files = fakeUpstream("files", { state: "starting", lists });
      const catalog = catalogOf([files]);
      const found = followable(catalog, [exposed]);
      await pass(10_000);
      expect(await found).toEqual({ [exposed]: "later" });
      const { heard, stop } = listen(catalog, { lists: [], resources: [exposed] });
      files.becomeReady();
      await pass(20);
      expect(files.followed).toEqual(["test://a@anonymous"]);
      expect(heard).toEqual([{ kind: "resource", uri: exposed }]);
      files.resourceUpdated("test://a");
      expect(heard).toHaveLength(2);
      stop();
      expect(files.followed).toEqual([]);
    });

    test("is not waited for when that server is known to be away", async () => {
      const files = fakeUpstream("files", { state: "backoff", lists });
      const catalog = catalogOf([files]);
      const found = followable(catalog, [exposed]);
      await settle();
      expect([await found, files.sought]).toEqual([{ [exposed]: "later" }, 1]);
    });

    test("is told to be followed no longer where that server turns out to tell of nothing", async () => {
      const files = fakeUpstream("files", { state: "starting", capabilities: { resources: {} }, lists });
      const catalog = catalogOf([files]);
      const { heard } = listen(catalog, { lists: [], resources: [exposed] });
      files.becomeReady();
      await pass(20);
      expect([heard, files.followed]).toEqual([[{ kind: "unfollowed", uri: exposed }], []]);
    });

    test("is told to be followed no longer where that server refuses it, however late", async () => {
      let refuse: (error: RpcError) => void = () => {};
      const word = new Promise<RpcError>((resolve) => {
        refuse = resolve;
      });
      const files = Object.assign(fakeUpstream("files", { state: "starting", lists }), {
        subscriptionError: () => word,
      });
      const catalog = catalogOf([files]);
      const { heard } = listen(catalog, { lists: [], resources: [exposed] });
      files.becomeReady();
      await pass(5_000);
      refuse({ code: -32_602, message: "not yours" });
      await settle();
      expect(heard.at(-1)).toEqual({ kind: "unfollowed", uri: exposed });
      expect(files.followed).toEqual([]);
    });
  });

  test("whose server tells of updates all the time is no concern of those who follow at another", async () => {
    const audience = vi.fn((): ListScope => SHARED_SCOPE);
    const [files, noisy] = [fakeUpstream("files", { lists }), fakeUpstream("noisy", { audience })];
    const catalog = catalogOf([files, noisy]);
    await settle();
    const quiet = Array.from({ length: 100 }, () => listen(catalog, { lists: [], resources: [exposed] }));
    const one = listen(catalog, { lists: [], resources: ["noisy+test://x"] });
    audience.mockClear();
    for (let update = 0; update < 10; update += 1) noisy.resourceUpdated("test://x", SHARED_SCOPE);
    expect(audience).toHaveBeenCalledTimes(10);
    expect([one.heard.length, quiet.flatMap(({ heard }) => heard)]).toEqual([10, []]);
    one.stop();
    noisy.resourceUpdated("test://x", SHARED_SCOPE);
    expect(audience).toHaveBeenCalledTimes(10);
  });

  describe("of a server that comes back as another", () => {
    test("that tells of no resources is told to be followed no longer", async () => {
      const files = fakeUpstream("files", { lists });
      const catalog = catalogOf([files]);
      await settle();
      const { heard } = listen(catalog, { lists: [], resources: [exposed] });
      files.goDown();
      await pass(1_000);
      expect([heard, files.followed.length]).toEqual([[], 1]);
      files.comeBackWith({ resources: {} });
      await pass(20);
      expect([heard, files.followed]).toEqual([[{ kind: "unfollowed", uri: exposed }], []]);
    });

    test("that refuses this one is told to be followed no longer, and others go on", async () => {
      let refused = "";
      const subscriptionError = async (uri: string) =>
        uri === refused ? { code: -32_602, message: "not yours" } : undefined;
      const files = Object.assign(fakeUpstream("files", { lists }), { subscriptionError });
      const catalog = catalogOf([files]);
      await settle();
      const { heard } = listen(catalog, { lists: [], resources: [exposed, "files+test://b"] });
      refused = "test://a";
      files.goDown();
      files.becomeReady();
      await pass(20);
      expect(heard).toEqual([{ kind: "unfollowed", uri: exposed }]);
      expect(files.followed).toEqual(["test://b@anonymous"]);
    });
  });

  describe("beside one that its server has no room for", () => {
    /** A server that follows all but `test://full` until there is room. */
    function crowded() {
      const files = fakeUpstream("files", { lists });
      const follow = files.subscribe.bind(files);
      let full = true;
      files.subscribe = (uri, client) => {
        if (full && uri === "test://full")
          throw new GatewayError("overloaded", "gateway", "no connection left");
        return follow(uri, client);
      };
      return {
        files,
        makeRoom: () => {
          full = false;
        },
      };
    }
    const both = [exposed, "files+test://full"];

    test("is not left followed when the subscription fails", async () => {
      const { files } = crowded();
      const catalog = catalogOf([files]);
      await settle();
      expect(() => listen(catalog, { resources: both })).toThrow("no connection left");
      expect(files.followed).toEqual([]);
      expect((catalog.changes as ChangeNotifier).size).toBe(0);
    });

    test("is followed by those who take what there is, and the other when there is room", async () => {
      const { files, makeRoom } = crowded();
      const catalog = catalogOf([files]);
      await settle();
      const interest = {
        lists: new Set<ListKind>(),
        resources: new Set(both.toReversed()),
        allowPartial: true,
      };
      const stop = catalog.changes.subscribe(fakeClient(), interest, () => {});
      expect(files.followed).toEqual(["test://a@anonymous"]);
      makeRoom();
      files.setList("tools", [tool("new")]).listChanged("tools");
      await pass(70);
      expect(files.followed).toEqual(["test://a@anonymous", "test://full@anonymous"]);
      stop();
      expect(files.followed).toEqual([]);
    });
  });

  test("is followed no more when the catalog is closed", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files]);
    await settle();
    listen(catalog, { resources: [exposed] });
    catalog.close();
    expect(files.followed).toEqual([]);
  });
});
