/** List changes: which subscribers get them, and when. */

import { describe, expect, test, vi } from "vitest";
import type { Client } from "../../src/core/client.js";
import { LIST_KINDS } from "../../src/core/lists.js";
import { type ListScope, SHARED_SCOPE } from "../../src/core/upstream.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { listen, toolsChanged } from "./subscribers.js";
import { catalogOf, names, server, tool } from "./support.js";

fakeTime();

describe("a change of a list", () => {
  test("is sent after the refresh, so that the next tools/list shows it", async () => {
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

  test("is coalesced with the list_changed of other servers", async () => {
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

  test("is not sent when the list is unchanged", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    const { heard } = listen(catalog);
    files.listChanged("tools");
    await pass(1_000);
    expect(heard).toEqual([]);
  });

  test("is sent immediately, and once, to the last of many listeners", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const catalog = catalogOf([files]);
    await settle();
    const many = Array.from({ length: 600 }, () => listen(catalog));
    files.setList("tools", [tool("write")]).listChanged("tools");
    // The walk makes a pause on its way.
    while (many[0]?.heard.length === 0) await vi.advanceTimersToNextTimerAsync();
    expect(many.at(-1)?.heard).toEqual([]);
    // What waits for its turn is sent before the catalog of another config goes live.
    catalogOf([files], { before: catalog }).goLive();
    await pass(1_000);
    expect(many.filter(({ heard }) => heard.length !== 1)).toEqual([]);
  });

  test("is not sent to clients from which the difference is hidden", async () => {
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

  test("is sent to subscribers of that list, until they unsubscribe", async () => {
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

  test("is sent when a server is added, and when it is removed", async () => {
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

  test("of the list of one session is sent to that session", async () => {
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

  test("reaches all listeners although one of them throws", async () => {
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

  test("reaches 2,000 subscribers without blocking the event loop", async () => {
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
