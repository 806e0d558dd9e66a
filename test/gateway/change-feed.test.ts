import { expect, test } from "vitest";
import { ANONYMOUS, type Client } from "../../src/core/client.js";
import type { Change, ChangeFeed, ChangeFilter } from "../../src/core/gateway-api.js";
import { SILENT } from "../../src/core/logger.js";
import { PersistentChangeFeed } from "../../src/gateway/change-feed.js";

const client: Client = {
  principal: ANONYMOUS,
  affinity: "a",
  session: true,
  endpoint: "",
  capabilities: {},
};

test("a subscriber joins the next source before it leaves the last, so that no server stops and restarts", () => {
  const events: string[] = [];
  const source = (name: string): ChangeFeed => ({
    subscribe: () => {
      events.push(`to ${name}`);
      return () => void events.push(`from ${name}`);
    },
    followable: async () => new Map(),
  });
  const feed = new PersistentChangeFeed(source("old"), SILENT);
  const stop = feed.subscribe(client, { lists: new Set(), resources: new Set(["x:a"]) }, () => {});
  feed.switchTo(source("new"), () => false);
  stop();
  expect(events).toEqual(["to old", "to new", "from old", "from new"]);
});

/** A source that tells only what it is made to tell. */
const quiet = (): ChangeFeed => ({ subscribe: () => () => {}, followable: async () => new Map() });
const tools = { lists: new Set(["tools" as const]), resources: new Set<string>() };

test("a subscriber that throws affects neither other subscribers nor the next source", async () => {
  const feed = new PersistentChangeFeed(quiet(), SILENT);
  const heard: Change[] = [];
  feed.subscribe(client, tools, () => {
    throw new Error("the stream is gone");
  });
  feed.subscribe(client, tools, (change) => heard.push(change));
  feed.switchTo({ ...quiet(), followable: async () => new Map([["x:new", "later"]]) }, () => true);
  expect(heard).toEqual([{ kind: "list", list: "tools" }]);
  expect([...(await feed.followable(client, [])).keys()]).toEqual(["x:new"]);
});

test("a subscriber that unsubscribes during a notification is not attached to the next source", () => {
  const feed = new PersistentChangeFeed(quiet(), SILENT);
  let subscribed = 0;
  let leave = (): void => {};
  feed.subscribe(client, tools, () => leave());
  leave = feed.subscribe(client, tools, () => {});
  const subscribe = () => {
    subscribed += 1;
    return () => {};
  };
  feed.switchTo({ ...quiet(), subscribe }, () => true);
  expect(subscribed).toBe(1);
});

test("a resource that its server refused is not followed at the next source", () => {
  let notify: (change: Change) => void = () => {};
  const old: ChangeFeed = {
    ...quiet(),
    subscribe: (_client, _interest, onChange) => {
      notify = onChange;
      return () => {};
    },
  };
  const feed = new PersistentChangeFeed(old, SILENT);
  const heard: Change[] = [];
  const interest = { lists: new Set<never>(), resources: new Set(["x:a", "x:b"]) };
  feed.subscribe(client, interest, (change) => heard.push(change));
  notify({ kind: "unfollowed", uri: "x:a" });
  const joined: ChangeFilter[] = [];
  const subscribe: ChangeFeed["subscribe"] = (_client, next) => {
    joined.push(next);
    return () => {};
  };
  feed.switchTo({ ...quiet(), subscribe }, () => true);
  expect(joined.map(({ resources }) => [...resources])).toEqual([["x:b"]]);
  expect(heard).toEqual([
    { kind: "unfollowed", uri: "x:a" },
    { kind: "resource", uri: "x:b" },
  ]);
});

test("pending changes of the last source are sent before it is compared with the next", () => {
  const events: string[] = [];
  const feed = new PersistentChangeFeed({ ...quiet(), flush: () => void events.push("told") }, SILENT);
  feed.subscribe(client, tools, () => {});
  feed.switchTo(quiet(), () => {
    events.push("compared");
    return false;
  });
  expect(events).toEqual(["told", "compared"]);
});

test("at the next source a subscriber follows the resources available there, and unavailable ones cause no error", () => {
  const feed = new PersistentChangeFeed(quiet(), SILENT);
  const interest = { ...tools, resources: new Set(["x:a"]) };
  feed.subscribe(client, interest, () => {});
  const joined: ChangeFilter[] = [];
  const subscribe: ChangeFeed["subscribe"] = (_client, next) => {
    joined.push(next);
    return () => {};
  };
  feed.switchTo({ ...quiet(), subscribe }, () => false);
  expect(joined).toEqual([{ ...interest, allowPartial: true }]);
});
