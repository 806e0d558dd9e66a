/** A server whose era one replica has found out is not probed by the next. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/wire/json.js";
import { type FakeServer, HTTP, legacyServer, modernServer } from "../support/fake-channel.js";
import { fakeTime, pass } from "../support/fake-time.js";
import { meet } from "../support/met-upstream.js";

fakeTime();

const HOUR_MS = 3_600_000;

/** What all replicas know of one server. */
function shared(known?: JsonObject) {
  const kept: JsonObject[] = [];
  let asked = 0;
  const others = {
    async readEra() {
      asked += 1;
      return kept.at(-1) ?? known;
    },
    keepEra: (era: JsonObject) => void kept.push(era),
  };
  return { others, kept, asked: () => asked };
}

const first = (server: FakeServer) => server.received[0]?.message.method;

test.each([
  ["a pipe", {}],
  ["HTTP", { transport: HTTP }],
])("a legacy server behind %s receives initialize immediately from the second replica", async (_, config) => {
  const { others } = shared();
  const one = await meet(legacyServer(), config, { others });
  const two = await meet(legacyServer(), config, { others });
  expect([first(one.server), first(two.server)]).toEqual(["server/discover", "initialize"]);
});

test("a detected era is cached for an hour, at every replica", async () => {
  const { others } = shared();
  await meet(legacyServer(), { transport: HTTP }, { others });
  await pass(HOUR_MS / 2);
  const late = await meet(legacyServer(), { transport: HTTP }, { others });
  expect(first(late.server)).toBe("initialize");
  await pass(HOUR_MS / 2 + 1);
  const later = await meet(legacyServer(), { transport: HTTP }, { others });
  expect(first(later.server)).toBe("server/discover");
});

test("a legacy server that was replaced by a modern one is detected as modern, and the others are notified", async () => {
  const { others, kept } = shared();
  await meet(legacyServer(), { transport: HTTP }, { others });
  const { server, upstream } = await meet(modernServer(), { transport: HTTP }, { others });
  expect(upstream.facts?.serverInfo).toMatchObject({ name: "new" });
  expect(kept.at(-1)).toEqual({ modern: true });
  expect(first(server)).toBe("initialize");
});

test("a server with a pinned era is neither looked up nor published", async () => {
  const { others, kept, asked } = shared();
  await meet(legacyServer(), { protocol: "legacy" }, { others });
  expect([asked(), kept]).toEqual([0, []]);
});

test("the era persisted from an earlier process overrides that of other replicas", async () => {
  const before = await meet(legacyServer(), { transport: HTTP });
  const { others, asked } = shared();
  await meet(legacyServer(), { transport: HTTP }, { others, memory: before.upstream.memory() });
  expect(asked()).toBe(0);
});

test.each([
  [{ legacy: { transport: "stdio", learnedAt: 1 } }],
  [{ legacy: { transport: "http" } }],
  [{ legacy: "http", sessions: { supported: "yes", learnedAt: 1 } }],
  [{}],
])("%j, which no replica writes of a server over HTTP, is ignored", async (known) => {
  const { server } = await meet(legacyServer(), { transport: HTTP }, { others: shared(known).others });
  expect(first(server)).toBe("server/discover");
});
