/** The lists of servers that run only while something uses them (docs/on-demand.md). */
import { describe, expect, test } from "vitest";
import type { Client } from "../../src/core/client.js";
import { type ListScope, SHARED_SCOPE } from "../../src/core/upstream.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, tool } from "./support.js";

fakeTime();

const HOUR_MS = 3_600_000;
const never = (): AbortSignal => new AbortController().signal;
const onDemand = () => fakeUpstream("files", { startsOnDemand: true, lists: { tools: [tool("read")] } });

describe("a server on demand", () => {
  test("stays in the lists while it is idle, and is never polled for stale lists", async () => {
    const files = onDemand();
    const catalog = catalogOf([files]);
    await settle();
    files.rest();
    files.listed.length = 0;
    await pass(HOUR_MS);
    await catalog.prepareLists(fakeClient(), never());
    await pass(1_000);
    expect(names(catalog)).toEqual(["files__read"]);
    expect(files).toMatchObject({ listed: [], sought: 0 });
    expect(catalog.status()[0]).toMatchObject({ state: "idle", shown: true, stale: false });
  });

  test("stays in the lists when it cannot be started, and an eager one leaves them", async () => {
    const files = onDemand();
    const git = fakeUpstream("git", { lists: { tools: [tool("log")] } });
    const catalog = catalogOf([files, git]);
    await settle();
    for (const each of [files, git]) each.goDown();
    await pass(120_000);
    expect(names(catalog)).toEqual(["files__read"]);
  });

  test("is listed again when it starts, and list_changed is sent only for differences", async () => {
    const files = onDemand();
    const changed: string[] = [];
    const catalog = catalogOf([files], {
      onListChanged: (server, kind) => changed.push(`${server} ${kind}`),
    });
    await settle();
    files.rest();
    files.becomeReady();
    await settle();
    expect(changed).toEqual([]);
    files.rest();
    files.setList("tools", [tool("read"), tool("write")]);
    files.becomeReady();
    await settle();
    expect(changed).toEqual(["files tools"]);
    expect(names(catalog)).toEqual(["files__read", "files__write"]);
  });

  test("drops a refresh that was scheduled when it ends", async () => {
    const files = onDemand();
    catalogOf([files]);
    await settle();
    files.listed.length = 0;
    files.listChanged("tools");
    files.rest();
    await pass(HOUR_MS);
    expect(files.listed).toEqual([]);
  });

  test("that could not list is started again by a list, a minute later at the earliest", async () => {
    const files = onDemand().failing(undefined, "tools");
    const catalog = catalogOf([files]);
    await settle();
    files.rest();
    files.well();
    files.whenSought = () => files.becomeReady();
    await catalog.prepareLists(fakeClient(), never());
    expect(files.sought).toBe(0);
    await pass(60_000);
    await catalog.prepareLists(fakeClient(), never());
    await settle();
    expect(files.sought).toBe(1);
    expect(names(catalog)).toEqual(["files__read"]);
  });

  test("is asked once for the lists of a class of hosts that is not known, also while it is idle", async () => {
    const scope = ({ affinity, capabilities }: Client): ListScope =>
      Object.hasOwn(capabilities, "sampling") ? { key: affinity, capabilityClass: "sampling" } : SHARED_SCOPE;
    const files = fakeUpstream("files", {
      startsOnDemand: true,
      audience: scope,
      lists: { tools: [tool("read")] },
    });
    files.setList("tools", [tool("read"), tool("ask")], "sampling");
    const catalog = catalogOf([files]);
    await settle();
    files.rest();
    files.listed.length = 0;
    const asker = (affinity: string) =>
      fakeClient({ affinity, session: true, capabilities: { sampling: {} } });
    await catalog.prepareLists(asker("s1"), never());
    await catalog.prepareLists(asker("s2"), never());
    expect(files.listed.filter((list) => list.startsWith("tools"))).toEqual(["tools@s1"]);
    expect(names(catalog, "tools", asker("s2"))).toEqual(["files__read", "files__ask"]);
  });
});
