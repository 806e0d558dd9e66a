/** What sessions keep between their calls: bounded in all, and shared between principals. */
import { expect, test } from "vitest";
import { MemoryBudget } from "../../../src/core/fair-share.js";
import type { ChangeFeed } from "../../../src/core/gateway-api.js";
import { EventLog } from "../../../src/downstream/legacy/event-log.js";
import { Subscriptions } from "../../../src/downstream/legacy/subscriptions.js";
import { clientOf } from "../../support/calls.js";

const FEED: ChangeFeed = {
  subscribe: () => () => {},
  followable: async (_client, uris) => new Map(uris.map((uri) => [uri, "now"] as const)),
};
const OUTLET = { send: () => true };
const uri = (at: number): string => `file:///${at}/${"x".repeat(4_000)}`;

test("resources that sessions follow are kept up to a sum, which principals share", async () => {
  const budget = new MemoryBudget(1_000_000);
  const session = (id: string) =>
    new Subscriptions(
      FEED,
      clientOf({ principal: { id, groups: [], claims: {} } }),
      OUTLET,
      budget.shareOf({ id }),
    );
  const greedy = Array.from({ length: 10 }, () => session("ann"));
  let refused = 0;
  for (const each of greedy) {
    for (let at = 0; at < 50; at += 1) {
      await each.subscribeResource(uri(at)).catch((error: unknown) => {
        expect(error).toMatchObject({ code: "overloaded" });
        refused += 1;
      });
    }
  }
  expect(refused).toBeGreaterThan(300);
  expect(budget.used).toBeLessThanOrEqual(750_000);
  const other = session("bob");
  for (let at = 0; at < 10; at += 1) await other.subscribeResource(uri(at));
  expect(other.subscribedResources.size).toBe(10);
  for (let at = 0; at < 10; at += 1) other.unsubscribeResource(uri(at));
  for (const each of greedy) each.close();
  expect(budget.used).toBe(0);
});

test("events of a principal evict its own older ones, and a response that was evicted is an error", () => {
  const budget = new MemoryBudget(1_000);
  const logs = [1, 2].map(
    () => new EventLog({ maxLength: 10_000, maxEvents: 100 }, budget.shareOf({ id: "ann" })),
  );
  const [first, second] = logs as [EventLog, EventLog];
  for (let seq = 1; seq <= 10; seq += 1) first.append({ stream: 1, seq, data: "x".repeat(100) });
  expect(first.length).toBeLessThanOrEqual(750);
  second.append({ stream: 1, seq: 1, data: "y".repeat(700), responseTo: 7 });
  expect(second.after(1, 0)).toEqual([{ stream: 1, seq: 1, responseTo: 7 }]);
  first.clear();
  second.append({ stream: 1, seq: 2, data: "y".repeat(700), responseTo: 8 });
  expect(second.length).toBe(700);
  second.forget(1);
  expect(budget.used).toBe(0);
});

test("an event of a session that is over is not kept, as nothing would release it", () => {
  const budget = new MemoryBudget(1_000);
  const log = new EventLog({ maxLength: 10_000, maxEvents: 100 }, budget.shareOf({ id: "ann" }));
  log.append({ stream: 1, seq: 1, data: "x" });
  log.clear();
  log.append({ stream: 1, seq: 2, data: "y", responseTo: 1 });
  expect([log.length, budget.used]).toEqual([0, 0]);
});
