/** list_changed reaches hosts of both eras, over HTTP and over a pipe, exactly once. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN, writeConfig } from "../support/cardea.js";
import { type Era, type Fixture, startFixture, type Transport } from "../support/fixture.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import { type Json, type Place, whenListed } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { sample } from "../support/sample.js";
import { until } from "../support/until.js";

const ERAS: readonly Era[] = ["legacy", "modern"];
const UPSTREAMS: readonly { readonly era: Era; readonly transport: Transport }[] = [
  { era: "legacy", transport: "http" },
  { era: "legacy", transport: "stdio" },
  { era: "modern", transport: "http" },
  { era: "modern", transport: "stdio" },
];
const EVERYTHING = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

/** A host that records list_changed notifications. */
interface Listener {
  readonly host: RawHost;
  readonly told: readonly string[];
  readonly stop: () => void;
}

async function listenAs(era: Era, place: Place): Promise<Listener> {
  const host = era === "legacy" ? await openLegacy(place) : await openModern(place);
  const told: string[] = [];
  await whenListed(host, "test_trigger_tool_change");
  // Each list is loaded on its own, and the first load of one that was empty before is a change too.
  for (const list of ["prompts", "resources", "resourceTemplates"] as const) {
    await until(`the first ${list}`, async () => (await host.list(list)).length > 0);
  }
  const stop = await host.follow(EVERYTHING, ({ method }) => {
    if (String(method).endsWith("list_changed")) told.push(String(method).split("/")[1] ?? "");
  });
  return { host, told, stop };
}

const trigger = (host: RawHost, prefix: string, list: string): Promise<unknown> =>
  host.request("tools/call", { name: `${prefix}test_trigger_${list}_change`, arguments: {} });

/**
 * Changes the tools, then the prompts; once all hosts are notified of the prompts, all notifications of the tools have
 * arrived.
 */
async function changeAndWait(by: RawHost, listeners: readonly Listener[], prefix: string): Promise<void> {
  await trigger(by, prefix, "tool");
  await until("the news of the tools", () => listeners.every(({ told }) => told.includes("tools")));
  await trigger(by, prefix, "prompt");
  await until("the news of the prompts", () => listeners.every(({ told }) => told.includes("prompts")));
}

const count = (told: readonly string[]): Json =>
  Object.fromEntries(
    ["tools", "prompts", "resources"].map((list) => [list, told.filter((name) => name === list).length]),
  );
const ONCE_EACH = { tools: 1, prompts: 1, resources: 0 };

describe.concurrent.each(UPSTREAMS)("a $era server over $transport", (upstream) => {
  let fixture: Fixture;
  let gateway: MetGateway;
  beforeAll(async () => {
    fixture = await startFixture(upstream.era, upstream.transport);
    gateway = await metGateway({ mcpServers: { fix: fixture.entry } });
  });
  afterAll(async () => {
    await gateway.stop();
    await fixture.stop();
  });

  test("notifies HTTP hosts of both eras once of list_changed, and their next list has the change", async () => {
    const listeners = await Promise.all(ERAS.map((era) => listenAs(era, { url: gateway.url })));
    const [first] = listeners;
    if (first === undefined) throw new Error("nobody listens");
    await changeAndWait(first.host, listeners, "fix__");
    for (const { host, told, stop } of listeners) {
      expect(count(told), host.era).toEqual(ONCE_EACH);
      const names = (await host.list("tools")).map(({ name }) => name);
      expect(names, host.era).toContain("fix__changing_tool");
      expect((await host.list("prompts")).map(({ name }) => name)).toContain("fix__changing_prompt");
      stop();
      await host.close();
    }
  });
});

const OVER_STDIO = sample(
  "changes over a pipe",
  ERAS.flatMap((host) => UPSTREAMS.map((upstream) => ({ host, upstream }))),
  2,
).map(({ host, upstream }) => [host, upstream.era, upstream.transport, upstream] as const);

test.concurrent.each(OVER_STDIO)(
  "a %s host over stdio gets one list_changed of a %s server over %s",
  async (era, _era, _transport, upstream) => {
    const fixture = await startFixture(upstream.era, upstream.transport);
    const { file, remove } = writeConfig({ mcpServers: { fix: fixture.entry } });
    const listener = await listenAs(era, {
      command: process.execPath,
      args: [MAIN, "stdio", "--config", file],
    });
    try {
      await changeAndWait(listener.host, [listener], "fix__");
      expect(count(listener.told)).toEqual(ONCE_EACH);
    } finally {
      await listener.host.close();
      await remove();
      await fixture.stop();
    }
  },
);

describe.concurrent.each(ERAS)("a %s server without a gateway", (era) => {
  test("sends a host of its own era one list_changed", async () => {
    const fixture = await startFixture(era, "http");
    const listener = await listenAs(era, { url: String(fixture.entry.url) });
    try {
      await changeAndWait(listener.host, [listener], "");
      expect(count(listener.told)).toEqual(ONCE_EACH);
    } finally {
      listener.stop();
      await listener.host.close();
      await fixture.stop();
    }
  });
});

test.concurrent("list_changed of a host's own connection to a legacy server passes two gateways", async () => {
  const fixture = await startFixture("legacy", "stdio");
  const gateway = await metGateway({ mcpServers: { fix: fixture.entry } });
  // The host is a legacy one, and between the two gateways it is a modern one: its questions need a process of its own.
  const connect = { command: process.execPath, args: [MAIN, "connect", gateway.url] };
  const host = await openLegacy(connect, { capabilities: { sampling: {} } });
  try {
    await whenListed(host, "test_trigger_tool_change");
    const told: string[] = [];
    const filter = { ...EVERYTHING, resourceSubscriptions: ["fix+test://watched-resource"] };
    await host.follow(filter, ({ method }) => told.push(String(method)));
    await trigger(host, "fix__", "tool");
    await until("the news of the tools", () => told.includes("notifications/tools/list_changed"));
    expect((await host.list("tools")).map(({ name }) => name)).toContain("fix__changing_tool");
    await host.request("tools/call", {
      name: "fix__test_trigger_resource_update",
      arguments: { uri: "test://watched-resource" },
    });
    await until("the news of the resource", () => told.includes("notifications/resources/updated"));
  } finally {
    await host.close();
    await gateway.stop();
    await fixture.stop();
  }
});
