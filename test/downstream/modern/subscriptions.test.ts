/** `subscriptions/listen` over HTTP: acknowledgement, notifications and end. */
import { once } from "node:events";
import { expect, test } from "vitest";
import type { Client } from "../../../src/core/client.js";
import { GatewayError } from "../../../src/core/errors.js";
import { MemoryBudget } from "../../../src/core/fair-share.js";
import type { ChangeFeed } from "../../../src/core/gateway-api.js";
import { UNLIMITED_STREAMS } from "../../../src/downstream/edge.js";
import { OpenSubscriptions } from "../../../src/downstream/modern/subscriptions.js";
import { META } from "../../../src/wire/names.js";
import { fakeCall } from "../../support/fake-call.js";
import { type FakePort, fakePort } from "../../support/fake-port.js";
import { hearing, modernRequest, open, send } from "../../support/http-host.js";
import { type ListeningOptions, listening } from "../../support/listening.js";

/** Opens a subscription and waits for its acknowledgement. */
async function subscribe(
  notifications: object,
  { id = 1, ...options }: { id?: string | number } & ListeningOptions = {},
) {
  const gateway = (options.gateway as FakePort | undefined) ?? fakePort();
  const listener = await listening({ ...options, gateway });
  const stream = await open(listener.url, modernRequest("subscriptions/listen", { notifications }, { id }));
  const heard = hearing(stream);
  const [acknowledged] = await heard(1);
  return { ...listener, port: gateway, stream, heard, acknowledged };
}

const stamp = (id: string | number) => ({ _meta: { [META.subscriptionId]: id } });

test("the acknowledgement comes first and names what will be delivered, with the id as it was written", async () => {
  for (const id of [7, "7"]) {
    const { acknowledged, stream } = await subscribe(
      {
        toolsListChanged: true,
        promptsListChanged: false,
        resourcesListChanged: "yes",
        resourceSubscriptions: ["a:1", "a:2", "a:1"],
        "com.example/other": true,
      },
      { id, gateway: fakePort({ followable: ["a:1"] }) },
    );
    expect(stream.headers).toMatchObject({ "content-type": "text/event-stream", "x-accel-buffering": "no" });
    expect(acknowledged).toEqual({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { ...stamp(id), notifications: { toolsListChanged: true, resourceSubscriptions: ["a:1"] } },
    });
  }
});

test("what its server refuses is not acknowledged, and not sent", async () => {
  const { acknowledged, port } = await subscribe(
    { resourceSubscriptions: ["a:1", "a:2"] },
    { gateway: fakePort({ refused: ["a:1"] }) },
  );
  expect(acknowledged?.params).toMatchObject({ notifications: { resourceSubscriptions: ["a:2"] } });
  expect(port.interests.map(({ resources }) => [...resources])).toEqual([["a:2"]]);
});

test("changes are sent as requested, stamped with the subscription", async () => {
  const { port, heard } = await subscribe({
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["a:1"],
  });
  port.publish({ kind: "list", list: "tools" });
  port.publish({ kind: "list", list: "prompts" });
  port.publish({ kind: "list", list: "resources" });
  port.publish({ kind: "list", list: "resourceTemplates" });
  port.publish({ kind: "resource", uri: "a:1" });
  const [, ...told] = await heard(6);
  expect(told.map(({ method, params }) => [method, params])).toEqual([
    ["notifications/tools/list_changed", stamp(1)],
    ["notifications/prompts/list_changed", stamp(1)],
    ["notifications/resources/list_changed", stamp(1)],
    ["notifications/resources/list_changed", stamp(1)],
    ["notifications/resources/updated", { ...stamp(1), uri: "a:1" }],
  ]);
});

test("what was not subscribed is not sent", async () => {
  const { port } = await subscribe({ promptsListChanged: true });
  expect(port.interests).toEqual([{ lists: new Set(["prompts"]), resources: new Set() }]);
});

test.each([
  ["the servers cannot be asked who refuses", 1],
  ["what is left cannot be subscribed to anew", 2],
])("nothing stays subscribed where %s", async (_what, failing) => {
  const port = fakePort({ refused: ["a:2"] });
  const { changes } = port;
  let step = 0;
  const fail = () => {
    step += 1;
    if (step === failing) throw new GatewayError("overloaded", "gateway", "no connection left");
  };
  const subscribe: ChangeFeed["subscribe"] = (...of) => {
    if (port.interests.length > 0) fail();
    return changes.subscribe(...of);
  };
  const refusals = async (of: Client, uris: readonly string[]) => {
    fail();
    return (await changes.refusals?.(of, uris)) ?? new Map();
  };
  const { url } = await listening({
    gateway: Object.assign(port, { changes: { ...changes, subscribe, refusals } }),
  });
  const notifications = { resourceSubscriptions: ["a:1", "a:2"] };
  const answer = await send(url, modernRequest("subscriptions/listen", { notifications }));
  expect(answer.json().error).toMatchObject({ data: { cardea: { code: "overloaded" } } });
  expect(port.interests).toEqual([]);
});

test("the memory of one that its host closes while servers are waited for is released once", async () => {
  const memoryBudget = new MemoryBudget();
  let isFollowable = (): void => {};
  const { changes } = fakePort();
  const followable = async (...of: Parameters<ChangeFeed["followable"]>) => {
    await new Promise<void>((resolve) => {
      isFollowable = resolve;
    });
    return changes.followable(...of);
  };
  const subscribe = (): never => {
    throw new GatewayError("overloaded", "gateway", "no connection left");
  };
  const open = new OpenSubscriptions(
    { changes: { ...changes, followable, subscribe } },
    () => ({ status: 200, pieces: [] }),
    { subscriptions: 1, resourcesEach: 1 },
    UNLIMITED_STREAMS,
    memoryBudget,
  );
  const host = new AbortController();
  const params = { notifications: { resourceSubscriptions: ["a:1"] } };
  const opened = open.open(
    { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
    fakeCall({ method: "subscriptions/listen", params }),
    { signal: host.signal, send: () => {}, respond: () => {} },
  );
  host.abort();
  isFollowable();
  await expect(opened).rejects.toThrow("no connection left");
  expect(memoryBudget.used).toBe(0);
});

test("a subscription that waits for a server is acknowledged, and ends when that server refuses it", async () => {
  const { acknowledged, port, heard } = await subscribe(
    { resourceSubscriptions: ["a:1", "a:2"] },
    { gateway: fakePort({ later: ["a:2"] }) },
  );
  expect(acknowledged?.params).toMatchObject({ notifications: { resourceSubscriptions: ["a:1", "a:2"] } });
  port.publish({ kind: "unfollowed", uri: "a:2" });
  expect((await heard(2))[1]).toMatchObject({ id: 1, result: { resultType: "complete" } });
  expect(port.interests).toEqual([]);
});

test("what changes while servers are waited for is sent after the acknowledgement", async () => {
  const gateway = fakePort();
  const { followable } = gateway.changes;
  const waited: ChangeFeed["followable"] = async (...of) => {
    gateway.publish({ kind: "list", list: "tools" });
    return followable(...of);
  };
  Object.assign(gateway, { changes: { ...gateway.changes, followable: waited } });
  const { acknowledged, heard } = await subscribe(
    { toolsListChanged: true, resourceSubscriptions: ["a:1"] },
    { gateway },
  );
  expect(acknowledged).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
  expect((await heard(2))[1]).toMatchObject({ method: "notifications/tools/list_changed" });
});

test("an empty subscription is allowed", async () => {
  const { acknowledged } = await subscribe({});
  expect(acknowledged).toMatchObject({ params: { notifications: {} } });
});

test("a client that closes the stream is forgotten", async () => {
  const { port, stream, url } = await subscribe({ toolsListChanged: true });
  expect(port.interests).toHaveLength(1);
  stream.destroy();
  // Each answer gives the listener a turn to notice; it needs few.
  while (port.interests.length > 0) await send(url, modernRequest("server/discover"));
});

test("the gateway that ends a subscription answers it", async () => {
  const { port, heard, modern } = await subscribe({ toolsListChanged: true }, { id: "s" });
  await modern.close();
  const [, answer] = await heard(2);
  expect(answer).toEqual({
    jsonrpc: "2.0",
    id: "s",
    result: {
      resultType: "complete",
      _meta: { ...stamp("s")._meta, [META.serverInfo]: { name: "cardea", version: "0.0.0-test" } },
    },
  });
  expect(port.interests).toEqual([]);
});

test("subscriptions are bounded in number and in size", async () => {
  const { url, stream } = await subscribe({}, { edge: { limits: { subscriptions: 1, resourcesEach: 2 } } });
  const another = (notifications: object) =>
    send(url, modernRequest("subscriptions/listen", { notifications }));
  const many = await another({});
  expect([many.status, many.json().error]).toMatchObject([
    503,
    { data: { cardea: { code: "overloaded", retryable: true, retryAfterMs: 5000 } } },
  ]);
  const large = await another({ resourceSubscriptions: ["a:1", "a:2", "a:3"] });
  expect([large.status, large.json().error]).toMatchObject([400, { code: -32602 }]);
  expect(stream.destroyed).toBe(false);
});

test.each([
  ["no filter", {}],
  ["a filter that is no object", { notifications: [] }],
  ["resources that are no list", { notifications: { resourceSubscriptions: "a:1" } }],
  ["a resource that is no text", { notifications: { resourceSubscriptions: [1] } }],
])("%s is malformed", async (_what, params) => {
  const { url } = await listening();
  const answer = await send(url, modernRequest("subscriptions/listen", params));
  expect([answer.status, answer.json().error]).toMatchObject([400, { code: -32602 }]);
});

test("open streams are counted by kind", async () => {
  const counted: string[] = [];
  const { modern, stream } = await subscribe(
    {},
    { edge: { onStreamCount: (kind, change) => counted.push(`${kind} ${change}`) } },
  );
  const ended = once(stream, "end");
  await modern.close();
  await ended;
  expect(counted).toEqual(["subscription 1", "subscription -1"]);
});
