/** How long a list may be cached (ttlMs, cacheScope), and when a stale one is loaded again. */

import { describe, expect, test } from "vitest";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, tool } from "./support.js";

fakeTime();

describe("a server that sends a ttlMs with its lists", () => {
  test.each([
    ["as long as it says", 5_000, 5_000],
    ["a second, though it says nothing at all may be kept", 0, 1_000],
    ["an hour, though it says for ever", Number.MAX_SAFE_INTEGER, 3_600_000],
  ])("is requested again by the next list after its ttlMs: %s", async (_what, ttlMs, waitMs) => {
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

describe("the cache lifetime of a merged list", () => {
  const ttl = (ttlMs: number, scope: "public" | "private" = "public") => ({ freshness: { ttlMs, scope } });

  test("is the shortest remaining one, and public only if every part is", async () => {
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

  test("does not depend on a server without such a list", async () => {
    const files = fakeUpstream("files", ttl(60_000));
    const toolless = fakeUpstream("toolless", { capabilities: { prompts: {} } });
    const catalog = catalogOf([files, toolless]);
    await settle();
    expect(catalog.freshness(fakeClient(), "tools")).toEqual({ ttlMs: 60_000, scope: "public" });
    expect(catalog.freshness(fakeClient(), "prompts")).toEqual({ ttlMs: 0, scope: "private" });
  });

  test("is zero while a server is still starting", async () => {
    const files = fakeUpstream("files", ttl(60_000));
    const catalog = catalogOf([files, fakeUpstream("stuck", { state: "starting" })]);
    await settle();
    expect(catalog.freshness(fakeClient(), "tools").ttlMs).toBe(0);
  });
});

describe("a stale list", () => {
  test("is refreshed in the background when a client lists it", async () => {
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

  test("is refreshed later where the server advertised listChanged or a longer ttlMs", async () => {
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
