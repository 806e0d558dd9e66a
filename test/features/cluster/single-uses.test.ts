/** What may be used once, over replicas whose store loses what it knows. */
import { expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { SingleUses } from "../../../src/features/cluster/single-uses.js";
import { messagesInMemory } from "./peer-messages.js";
import { memoryStore } from "./replicas.js";

function replicas(count: number) {
  const store = memoryStore();
  const messagesOf = messagesInMemory();
  const start = (at: number) => {
    const [view, messages] = [store.view(), messagesOf(`rep0${at}`)];
    const uses = new SingleUses({ messages, logger: SILENT, store: view, lifeMs: 60_000 });
    return { view, messages, use: (nonce: string) => uses.use(nonce, 60_000) };
  };
  return { store, start, all: Array.from({ length: count }, (_, at) => start(at)) };
}

test("a nonce is used once, also after the store has lost it", async () => {
  const { store, all, start } = replicas(3);
  const [one, two, three] = all;
  expect(await one?.use("n")).toBe(true);
  for (const each of [one, two, three]) {
    store.flush();
    expect(await each?.use("n")).toBe(false);
  }
  // The one that has used it has ended.
  if (one !== undefined) one.messages.isGone = true;
  store.flush();
  expect(await two?.use("n")).toBe(false);
  store.flush();
  expect(await start(3).use("n")).toBe(false);
  expect(await two?.use("another")).toBe(true);
});

test("a nonce is used once at the same moment, at replicas that reach no store too", async () => {
  const { all } = replicas(3);
  const used = async (nonce: string) =>
    (await Promise.all(all.map(({ use }) => use(nonce)))).filter(Boolean).length;
  expect(await used("with")).toBe(1);
  for (const { view } of all) view.connect(false);
  expect(await used("without")).toBeLessThanOrEqual(1);
  expect(await all[0]?.use("alone")).toBe(true);
  expect(await all[1]?.use("alone")).toBe(false);
});
