/** What catalogs keep of their clients and of each other. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Catalog, createCatalog } from "../../src/catalog/catalog.js";
import { ScopedLists } from "../../src/catalog/scoped-lists.js";
import type { Client } from "../../src/core/client.js";
import { clientOf } from "../support/calls.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { collectGarbage } from "../support/heap.js";
import { catalogOf, SELF, server } from "./support.js";

const MIB = 1024 * 1024;
const wordy = (at: number): Client => ({
  ...clientOf({ affinity: `client ${at}` }),
  info: { name: `host ${at}`, about: JSON.parse(JSON.stringify(`${at}${"x".repeat(60_000)}`)) as string },
});

test("client info is kept within a memory limit", async () => {
  const lists = new ScopedLists();
  for (let at = 0; at < 1_000; at += 1)
    lists.register({ key: `k${at}`, capabilityClass: `c${at}` }, wordy(at));
  expect(lists.size).toBeLessThan(300);
  const catalog = catalogOf([fakeUpstream("one")]);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 1_500; at += 1) catalog.view(wordy(at));
  collectGarbage();
  expect((process.memoryUsage().heapUsed - before) / MIB).toBeLessThan(48);
  expect(catalog.view(wordy(1)).list("tools").entries).toEqual([]);
});

describe("a replaced catalog", () => {
  const catalog = (before?: Catalog): Catalog =>
    createCatalog({
      ...{ upstreams: [fakeUpstream("one")], servers: [server("one")], self: SELF },
      ...{ naming: { separator: "__", maxLength: 60 }, ...(before !== undefined && { before }) },
    });
  const replaced = (before: Catalog): Catalog => {
    const next = catalog(before);
    next.goLive();
    before.close();
    return next;
  };
  /** Which of 20 catalogs, each replaced by the next, stay in memory. */
  async function kept(of: (catalog: Catalog, at: number) => void): Promise<readonly number[]> {
    const known: WeakRef<Catalog>[] = [];
    const last = (() => {
      let live = catalog();
      for (let at = 0; at < 20; at += 1) {
        known.push(new WeakRef(live));
        of(live, at);
        live = replaced(live);
      }
      return live;
    })();
    onTestFinished(() => last.close());
    // A WeakRef holds its target until the job that made it has ended.
    await setImmediate();
    collectGarbage();
    return known.flatMap((ref, at) => (ref.deref() === undefined ? [] : [at]));
  }

  test("is released while clients that subscribed to it stay", async () => {
    const interest = { lists: new Set(["tools"] as const), resources: new Set<string>() };
    expect(
      await kept(({ changes }) => {
        const stop = changes.subscribe(fakeClient(), interest, () => {});
        onTestFinished(stop);
      }),
    ).toEqual([]);
  });

  test("that is still in use keeps no later one but the last", async () => {
    let inUse: Catalog | undefined;
    const stay = await kept((one, at) => {
      if (at === 3) inUse = one;
    });
    expect(stay).toEqual([3]);
    expect(inUse?.latest).not.toBe(inUse);
  });
});
