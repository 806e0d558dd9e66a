/** Servers that fail to list, hang or go away: retry, timeout, backoff, and the grace time of their entries. */

import { describe, expect, test, vi } from "vitest";
import { type LogFields, SILENT } from "../../src/core/logger.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, tool } from "./support.js";

fakeTime();

/** How often a list was asked for. */
const times = (listed: readonly string[], list: string) => listed.filter((each) => each === list).length;

describe("a server that fails to list", () => {
  test("serves the last list, as uncacheable", async () => {
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

  test("has the reason in its status until it lists", async () => {
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } }).failing(undefined, "tools");
    const catalog = catalogOf([files]);
    await settle();
    expect(catalog.status()[0]?.lastError).toMatch(/^its tools could not be listed: ./);
    files.well();
    await pass(1_000);
    expect(catalog.status()[0]?.lastError).toBeUndefined();
  });

  test("is retried after 1 s, 2 s, 4 s …, and for that list alone", async () => {
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

  test("times out when it hangs, which is logged as a warning once", async () => {
    const warned: unknown[] = [];
    const told: unknown[] = [];
    const logger = {
      ...SILENT,
      warn: (_: LogFields, sentence = "") => warned.push(sentence),
      info: (_: LogFields, sentence = "") => told.push(sentence),
    };
    const files = fakeUpstream("files", { lists: { tools: [tool("read")] } }).hanging("tools");
    const catalog = catalogOf([files], { logger });
    await pass(15_000);
    const sentence = expect.stringMatching(
      /^its tools could not be listed: .*; the last known list is served$/,
    );
    expect(warned).toEqual([sentence]);
    await pass(16_000);
    expect(warned).toHaveLength(1);
    expect(told).toEqual([sentence]);
    files.well();
    await pass(2_000);
    expect(names(catalog)).toEqual(["files__read"]);
  });

  test("does not affect or delay other servers", async () => {
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

  test("stays in the lists for the grace time, is then removed, and is back after the next list", async () => {
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

  test("counts its grace time from the disconnect, however often a reconnect fails", async () => {
    const files = fakeUpstream("files", { lists });
    const catalog = catalogOf([files]);
    await settle();
    for (let i = 0; i < 6; i++) {
      files.goDown();
      await pass(10_000);
    }
    expect(names(catalog)).toEqual([]);
  });

  test("that reconnects within the grace time stays listed, and is refreshed", async () => {
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

describe("a server without cached lists", () => {
  const target = (name: string) => [{ kind: "tools" as const, name }];
  const downFrom = (name: string) => {
    const upstream = fakeUpstream(name, { state: "starting", lists: { tools: [tool("read")] } });
    upstream.goDown();
    return upstream;
  };

  test("is connected immediately for a call that may be its own, which waits for its lists", async () => {
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

  test("is waited for no longer than one that starts, and not connected for tools/list", async () => {
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

  test("is not connected where its lists are cached, which are shown during a short disconnect", async () => {
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

test("an error while a failed list is handled blocks no client, and the list is retried", async () => {
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
  expect(faults).toEqual(["lists could not be applied to the catalog"]);
  files.well();
  files.listChanged("tools");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(names(catalog)).toEqual(["files__read"]);
});
