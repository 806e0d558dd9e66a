/** Subscriptions to resources: which updates reach which subscriber, under which URI. */

import { describe, expect, test, vi } from "vitest";
import type { ChangeBus } from "../../src/catalog/change-bus.js";
import type { Route } from "../../src/core/call.js";
import type { Client } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import type { ListKind } from "../../src/core/lists.js";
import { type ListScope, SHARED_SCOPE } from "../../src/core/upstream.js";
import type { RpcError } from "../../src/wire/envelope.js";
import type { JsonObject } from "../../src/wire/json.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { followable, listen } from "./subscribers.js";
import { catalogOf, server, tool } from "./support.js";

fakeTime();

describe("a resource", () => {
  const lists = { resources: [{ uri: "test://a" }, { uri: "https://example.com/a" }] };
  const exposed = "files+test://a";

  test("is subscribed at its server while a client subscribes, and its updates carry the exposed URI", async () => {
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

  test("sends the update of a sub-resource once, under its exposed URI", async () => {
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

  test("from the connection of one client is sent to that client alone", async () => {
    const audience = (client: Client): ListScope => ({ key: client.affinity, capabilityClass: "roots" });
    const files = fakeUpstream("files", { audience, lists });
    const catalog = catalogOf([files]);
    await settle();
    const first = listen(catalog, { client: fakeClient({ affinity: "1" }), resources: [exposed] });
    const second = listen(catalog, { client: fakeClient({ affinity: "2" }), resources: [exposed] });
    files.resourceUpdated("test://a", { key: "1", capabilityClass: "roots" });
    expect([first.heard.length, second.heard.length]).toEqual([1, 0]);
  });

  test("from the shared connection is not sent to clients that have their own", async () => {
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

  test("is refused where its server refuses it, and not where the server does not respond", async () => {
    const words = { code: -32_602, message: "not yours" };
    const subscriptionError = (uri: string) =>
      uri === "test://secret" ? Promise.resolve(words) : new Promise<undefined>(() => {});
    const files = fakeUpstream("files", { lists });
    files.resources.subscriptionError = subscriptionError;
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
    // Both list the web address, so it has no owner.
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

  test("sends no update of a sub-resource that may not be read, or that is filtered", async () => {
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

    test("and whose URI has no server prefix waits for it too", async () => {
      const files = fakeUpstream("files", { state: "starting", lists });
      const catalog = catalogOf([files, fakeUpstream("git", { lists: {} })]);
      const found = followable(catalog, ["https://example.com/a"]);
      await pass(1_000);
      files.becomeReady();
      await settle();
      expect(await found).toEqual({ "https://example.com/a": "now" });
    });

    test("and hangs does not delay a subscription to a URI of another server", async () => {
      const catalog = catalogOf([
        fakeUpstream("stuck", { state: "starting" }),
        fakeUpstream("files", { lists }),
      ]);
      await settle();
      const found = followable(catalog, [exposed, "https://example.org/unknown"]);
      await pass(1_500);
      expect(Object.keys(await found)).toContain(exposed);
    });

    test("is waited for up to 10 s, then subscribed when connected, with an update for what may have changed", async () => {
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

    test("ends with a notification where that server turns out not to support subscriptions", async () => {
      const files = fakeUpstream("files", { state: "starting", capabilities: { resources: {} }, lists });
      const catalog = catalogOf([files]);
      const { heard } = listen(catalog, { lists: [], resources: [exposed] });
      files.becomeReady();
      await pass(20);
      expect([heard, files.followed]).toEqual([[{ kind: "unfollowed", uri: exposed }], []]);
    });

    test("ends with a notification where that server refuses it, however late", async () => {
      let refuse: (error: RpcError) => void = () => {};
      const word = new Promise<RpcError>((resolve) => {
        refuse = resolve;
      });
      const files = fakeUpstream("files", { state: "starting", lists });
      files.resources.subscriptionError = () => word;
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

  test("with constant updates does not affect subscribers of another", async () => {
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

  describe("of a server that reconnects as another one", () => {
    test("that does not support subscriptions ends them with a notification", async () => {
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

    test("that refuses this one ends it with a notification, and others continue", async () => {
      let refused = "";
      const subscriptionError = async (uri: string) =>
        uri === refused ? { code: -32_602, message: "not yours" } : undefined;
      const files = fakeUpstream("files", { lists });
      files.resources.subscriptionError = subscriptionError;
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

  describe("beside one that its server refuses as one too many", () => {
    /** A server that follows all but `test://full` until there is room. */
    function crowded() {
      const files = fakeUpstream("files", { lists });
      const follow = files.resources.subscribe;
      let full = true;
      files.resources.subscribe = (uri, client) => {
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
      expect((catalog.changes as ChangeBus).size).toBe(0);
    });

    test("continues, and the other is subscribed when the server accepts it", async () => {
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

  test("is unsubscribed when the catalog is closed", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files]);
    await settle();
    listen(catalog, { resources: [exposed] });
    catalog.close();
    expect(files.followed).toEqual([]);
  });
});

describe("a server of both eras that offers resource updates in sessions only", () => {
  const uri = "files+test://a";
  const inSession = (client: Client): ListScope => ({
    key: client.affinity,
    capabilityClass: "sessions",
    hasOwnUpdates: true,
  });
  const bothEras = (capabilities: { readonly shared: JsonObject; readonly session: () => JsonObject }) => {
    const files = fakeUpstream("files", {
      audience: (client) => (client.session ? inSession(client) : SHARED_SCOPE),
      capabilities: { resources: capabilities.shared },
      lists: { resources: [{ uri: "test://a" }] },
    });
    return Object.assign(files, {
      factsFor: ({ session }: Client) => ({
        capabilities: { resources: session ? capabilities.session() : capabilities.shared },
        serverInfo: {},
      }),
    });
  };
  const host = fakeClient({ affinity: "me", session: true });

  test("follows them for a host with a session, and not for others", async () => {
    const files = bothEras({ shared: {}, session: () => ({ subscribe: true }) });
    const catalog = catalogOf([files]);
    await settle();
    expect([await followable(catalog, [uri], host), await followable(catalog, [uri])]).toEqual([
      { [uri]: "now" },
      {},
    ]);
    const { heard } = listen(catalog, { client: host, lists: [], resources: [uri] });
    expect(files.followed).toEqual(["test://a@me"]);
    files.resourceUpdated("test://a", inSession(host));
    expect(heard).toEqual([{ kind: "resource", uri }]);
  });

  test("follows them for others where only those are offered them", async () => {
    const catalog = catalogOf([bothEras({ shared: { subscribe: true }, session: () => ({}) })]);
    await settle();
    expect([await followable(catalog, [uri], host), await followable(catalog, [uri])]).toEqual([
      {},
      { [uri]: "now" },
    ]);
  });

  test("opens the first session to learn what it offers", async () => {
    let isOpen = false;
    const files = bothEras({ shared: {}, session: () => (isOpen ? { subscribe: true } : {}) });
    const list = files.list.bind(files);
    files.list = (kind, client, signal) => {
      isOpen ||= client?.session === true;
      return list(kind, client, signal);
    };
    const catalog = catalogOf([files]);
    await settle();
    expect(await followable(catalog, [uri], host)).toEqual({ [uri]: "now" });
  });

  test("keeps the subscription of a session when the shared connection is opened again", async () => {
    const files = bothEras({ shared: {}, session: () => ({ subscribe: true }) });
    const catalog = catalogOf([files]);
    await settle();
    const { heard } = listen(catalog, { client: host, lists: [], resources: [uri] });
    files.goDown();
    files.becomeReady();
    await settle();
    expect([heard, files.followed]).toEqual([[], ["test://a@me"]]);
  });
});
