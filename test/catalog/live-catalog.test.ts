/** Subscribers when the catalog of another config goes live. */
import { expect, test } from "vitest";
import { GatewayError } from "../../src/core/errors.js";
import type { Change } from "../../src/core/gateway-api.js";
import { fakeTime, pass, settle } from "../support/fake-time.js";
import { type FakeUpstream, fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { followable, listen, toolsChanged } from "./subscribers.js";
import { catalogOf, tool } from "./support.js";

fakeTime();

const lists = { resources: [{ uri: "test://a" }, { uri: "test://b" }], tools: [tool("read")] };
const [a, b] = ["files+test://a", "files+test://b"];
const updated = (uri: string): Change => ({ kind: "resource", uri });

/** The same server in two configs, each with an upstream of its own, and what is subscribed at either. */
async function twoConfigs(next: Parameters<typeof fakeUpstream>[1] = { lists }) {
  const events: string[] = [];
  const upstreamOf = (name: string, options: Parameters<typeof fakeUpstream>[1]): FakeUpstream => {
    const upstream = fakeUpstream("files", options);
    const { subscribe } = upstream.resources;
    upstream.resources.subscribe = (uri, client) => {
      events.push(`${uri} at ${name}`);
      const stop = subscribe(uri, client);
      return () => {
        events.push(`${uri} no more at ${name}`);
        stop();
      };
    };
    return upstream;
  };
  const [old, other] = [upstreamOf("old", { lists }), upstreamOf("new", next)];
  const before = catalogOf([old]);
  const catalog = catalogOf([other], { before });
  await settle();
  return { before, catalog, old, other, events };
}

test("a subscriber joins the next catalog before it leaves the last, so that no server stops and restarts", async () => {
  const { before, catalog, events } = await twoConfigs();
  const { heard, stop } = listen(before, { lists: [], resources: [a] });
  catalog.goLive();
  before.close();
  stop();
  expect(events).toEqual([
    ...["test://a at old", "test://a at new"],
    ...["test://a no more at old", "test://a no more at new"],
  ]);
  expect(heard).toEqual([updated(a)]);
});

test("a subscriber that throws affects neither other subscribers nor the next catalog", async () => {
  const next = { lists: { tools: [tool("write")], resources: [{ uri: "test://new" }] } };
  const { before, catalog } = await twoConfigs(next);
  before.changes.subscribe(fakeClient(), { lists: new Set(["tools"]), resources: new Set() }, () => {
    throw new Error("the stream is gone");
  });
  const { heard } = listen(before, { lists: ["tools"] });
  catalog.goLive();
  expect(heard).toEqual([toolsChanged]);
  expect(await followable(before, ["files+test://new"])).toEqual({ "files+test://new": "now" });
});

test("a subscriber that unsubscribes during a notification follows nothing at the next catalog", async () => {
  const { before, catalog, events } = await twoConfigs();
  let leave = (): void => {};
  before.changes.subscribe(fakeClient(), { lists: new Set(), resources: new Set([a]) }, () => leave());
  leave = listen(before, { lists: [], resources: [b] }).stop;
  catalog.goLive();
  expect(events.filter((event) => event.endsWith(" at new"))).toEqual(["test://a at new"]);
});

test("a resource that its server refused is not followed at the next catalog", async () => {
  const { before, catalog, old, events } = await twoConfigs();
  const { heard } = listen(before, { lists: [], resources: [a, b] });
  old.resources.subscriptionError = async (uri) =>
    uri === "test://a" ? { code: -32_602, message: "not yours" } : undefined;
  old.goDown();
  old.becomeReady();
  await pass(20);
  events.length = 0;
  catalog.goLive();
  expect(events).toEqual(["test://b at new", "test://b no more at old"]);
  expect(heard).toEqual([{ kind: "unfollowed", uri: a }, updated(b)]);
});

test("a refusal by a server of the last catalog ends nothing at the next", async () => {
  const { before, catalog, old, other } = await twoConfigs();
  let refuse: (error: { code: number; message: string }) => void = () => {};
  const word = new Promise<{ code: number; message: string }>((resolve) => {
    refuse = resolve;
  });
  old.resources.subscriptionError = () => word;
  const { heard } = listen(before, { lists: [], resources: [a] });
  const refusals = before.changes.refusals?.(fakeClient(), [a]);
  await pass(5_000);
  expect(await refusals).toEqual(new Map());
  catalog.goLive();
  refuse({ code: -32_602, message: "not yours" });
  await settle();
  expect([heard, other.followed]).toEqual([[updated(a)], ["test://a@anonymous"]]);
});

test("pending changes of the last catalog are sent before it is compared with the next, which is equal", async () => {
  const files = fakeUpstream("files", { lists });
  const before = catalogOf([files]);
  await settle();
  const { heard } = listen(before);
  files.setList("tools", [tool("write")]).listChanged("tools");
  // The list is there, and the walk over its subscribers is due in 20 ms.
  await pass(60);
  expect(heard).toEqual([]);
  const catalog = catalogOf([files], { before });
  catalog.goLive();
  expect(heard).toEqual([toolsChanged]);
  before.close();
  await pass(1_000);
  expect(heard).toEqual([toolsChanged]);
});

test("what the last catalog still reports after the switch reaches no subscriber", async () => {
  const { before, catalog, old, other } = await twoConfigs();
  const { heard } = listen(before, { lists: ["tools"], resources: [a] });
  catalog.goLive();
  heard.length = 0;
  old.resourceUpdated("test://a");
  old.setList("tools", [tool("late")]).listChanged("tools");
  await pass(1_000);
  expect(heard).toEqual([]);
  other.resourceUpdated("test://a");
  expect(heard).toEqual([updated(a)]);
});

test("a catalog that is not live yet notifies no subscriber", async () => {
  const { before, other } = await twoConfigs();
  const { heard } = listen(before, { lists: ["tools"], resources: [a] });
  other.resourceUpdated("test://a");
  other.setList("tools", [tool("early")]).listChanged("tools");
  await pass(1_000);
  expect(heard).toEqual([]);
});

test("at the next catalog a subscriber follows the resources available there, and others as soon as they are", async () => {
  const { before, catalog, other } = await twoConfigs();
  const { heard } = listen(before, { lists: [], resources: [a, b] });
  const { subscribe } = other.resources;
  other.resources.subscribe = (uri, client) => {
    if (uri === "test://a") throw new GatewayError("overloaded", "gateway", "no connection left");
    return subscribe(uri, client);
  };
  catalog.goLive();
  expect([heard, other.followed]).toEqual([[updated(a), updated(b)], ["test://b@anonymous"]]);
  other.resources.subscribe = subscribe;
  other.setList("tools", [tool("new")]).listChanged("tools");
  await pass(1_000);
  expect(other.followed).toEqual(["test://b@anonymous", "test://a@anonymous"]);
  expect(heard.slice(2)).toEqual([updated(a)]);
});
