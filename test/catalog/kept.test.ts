/** What the catalog keeps of its clients. */
import { expect, test } from "vitest";
import { ScopedLists } from "../../src/catalog/scoped-lists.js";
import type { Client } from "../../src/core/client.js";
import { clientOf } from "../support/calls.js";
import { fakeUpstream } from "../support/fake-upstream.js";
import { collectGarbage } from "../support/heap.js";
import { catalogOf } from "./support.js";

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
