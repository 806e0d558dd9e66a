import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Change } from "../../src/core/change.js";
import type { Client } from "../../src/core/client.js";
import { type Audience, EVERYBODY, type ListKind } from "../../src/core/upstream.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, server, tool } from "./support.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Lets everything that needs no time happen. */
const settle = () => vi.advanceTimersByTimeAsync(0);

const everyList: ReadonlySet<ListKind> = new Set(["tools", "prompts", "resources", "resourceTemplates"]);

function listen(catalog: ReturnType<typeof catalogOf>, client: Client, resources: readonly string[] = []) {
  const heard: Change[] = [];
  const stop = catalog.changes.subscribe(
    client,
    { lists: everyList, resources: new Set(resources) },
    (change) => heard.push(change),
  );
  return { heard, stop };
}

describe("merged lists", () => {
  test("stand in the order of the config, then in the server's own order", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("write"), tool("read")] } });
    const git = fakeUpstream("git", { lists: { tools: [tool("log")] } });
    const catalog = catalogOf([files, git], { servers: [server("git"), server("files")] });
    await settle();
    expect(names(catalog)).toEqual(["git__log", "files__write", "files__read"]);
  });

  test("are not delayed by a server that hangs at start", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
    const stuck = fakeUpstream("stuck", { state: "starting", lists: { tools: [tool("never")] } });
    const catalog = catalogOf([files, stuck]);
    const prepared = catalog.prepare(fakeClient());
    await vi.advanceTimersByTimeAsync(1_499);
    expect(names(catalog)).toEqual(["files__read"]);
    await vi.advanceTimersByTimeAsync(1);
    await prepared;
    // Whoever comes later does not wait for it again.
    let ready = false;
    void catalog.prepare(fakeClient()).then(() => {
      ready = true;
    });
    await settle();
    expect(ready).toBe(true);
    stuck.becomeReady();
    await settle();
    expect(names(catalog)).toEqual(["files__read", "stuck__never"]);
  });
});
