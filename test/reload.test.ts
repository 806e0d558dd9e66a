/** A gateway whose config is replaced while it runs. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { Config } from "../src/config/config.js";
import { readConfig } from "../src/config/read.js";
import { ANONYMOUS } from "../src/core/client.js";
import { SILENT } from "../src/core/logger.js";
import { Stop } from "../src/core/stop.js";
import { createGateway } from "../src/gateway/gateway.js";
import { CLI_CLIENT } from "../src/gateway/live-config.js";
import { openedFeatures, SECTIONS, testOf } from "./support/features.js";
import { collectGarbage } from "./support/heap.js";
import { Host, openHost } from "./support/host/host.mjs";
import { settled } from "./support/met-upstream.js";
import { until } from "./support/until.js";
import { configOf as configFor, World } from "./upstream/life-cycle/world.js";

/** As it would stand in a file. */
function configOf(file: object): Config {
  const read = readConfig(JSON.stringify(file), "cardea.json", { env: {}, cwd: "/", sections: SECTIONS });
  if (!read.ok) throw new Error(read.problems[0]?.message);
  return read.config;
}

test("memory of an old config is released after reloads", async () => {
  // Nothing listens at that address, which makes it a server like any other.
  const config = (): Config => configOf({ mcpServers: { away: { url: "http://127.0.0.1:1/mcp" } } });
  const gateway = createGateway(config(), { logger: SILENT, version: "0.0.0-test" });
  const replaced: WeakRef<Config>[] = [];
  for (let i = 0; i < 5; i += 1) {
    const next = config();
    replaced.push(new WeakRef(next));
    await gateway.reload(next);
  }
  await until("all but the last config to be collected", () => {
    collectGarbage();
    return replaced.slice(0, -1).every((config) => config.deref() === undefined);
  });
  expect(replaced.at(-1)?.deref()).toBeDefined();
  await gateway.stop({ immediate: true });
});

test("memory of old configs is released while hosts that came before each reload stay", async () => {
  const config = (): Config => {
    const away = { url: "http://127.0.0.1:1/mcp" };
    return configOf({ mcpServers: { away }, listen: { http: { port: 0 }, admin: { port: 0 } } });
  };
  const gateway = createGateway(config(), { logger: SILENT, version: "0.0.0-test" });
  const { url } = await gateway.start();
  onTestFinished(() => gateway.stop({ immediate: true }));
  const replaced: WeakRef<Config>[] = [];
  for (let i = 0; i < 5; i += 1) {
    const next = config();
    replaced.push(new WeakRef(next));
    await gateway.reload(next);
    await openHost(url, "legacy");
    const stream = await new Host(url, "modern").stream({ notifications: { toolsListChanged: true } });
    onTestFinished(() => stream.stop());
  }
  await until("all but the last config to be collected", () => {
    collectGarbage();
    return replaced.slice(0, -1).every((config) => config.deref() === undefined);
  });
  expect(replaced.at(-1)?.deref()).toBeDefined();
});

test("a reload during a stop starts no server", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const world = new World(new Map([["a", 0]]));
  await vi.advanceTimersByTimeAsync(2_000);
  world.stop();
  const replaced = world.inEffect.replace(configFor(new Map([["b", 0]])), () => {});
  await expect(replaced).rejects.toThrow("the gateway is stopping");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await world.stopping).toBe(0);
  expect(world.machine("b-0").server.channels).toEqual([]);
});

test("a reload while a stop waits for running calls starts no server", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const world = new World(new Map([["a", 0]]));
  await vi.advanceTimersByTimeAsync(2_000);
  world.inEffect.stopWaiting();
  const replaced = world.inEffect.replace(configFor(new Map([["b", 0]])), () => {});
  await expect(replaced).rejects.toThrow("the gateway is stopping");
  expect(world.machine("b-0").server.channels).toEqual([]);
  world.stop();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await world.stopping).toBe(0);
});

test("a list that waits during a reload ends when the gateway stops", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const world = new World(new Map([["a", 0]]));
  await vi.advanceTimersByTimeAsync(2_000);
  world.setMood("c", "hangs");
  const replaced = world.inEffect.replace(configFor(new Map([["c", 0]])), () => {});
  await settled();
  world.inEffect.stopWaiting();
  await vi.advanceTimersByTimeAsync(2_000);
  await replaced;
  let isListed = false;
  const { catalog } = world.inEffect.pipeline;
  void catalog.prepareLists(CLI_CLIENT, new Stop().signal).then(() => {
    isListed = true;
  });
  await settled();
  expect([catalog.starting(), isListed]).toEqual([["c"], true]);
  world.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await world.stopping).toBe(0);
});

testOf("policy")(
  "a session question is evaluated by the policy in the form that the host receives",
  async () => {
    const rule = { name: "no-secrets", on: "sampling", effect: "deny" };
    const when = "request.messages.exists(m, m.content.uri == 'a+x:secret')";
    const config = configOf({
      mcpServers: { a: { command: "a-0" }, b: { command: "b-0" } },
      policy: { rules: [{ ...rule, when }] },
    });
    const world = new World(config, await openedFeatures(config));
    const ask = (uri: string) =>
      world.inEffect.pipeline.evaluateQuestion(
        "a",
        { principal: ANONYMOUS, affinity: "host", session: true, endpoint: "", capabilities: {} },
        {
          method: "sampling/createMessage",
          params: { messages: [{ role: "user", content: { type: "resource_link", name: "it", uri } }] },
        },
      );
    expect(ask("x:open")).toMatchObject({ params: { messages: [{ content: { uri: "a+x:open" } }] } });
    expect(() => ask("x:secret")).toThrow("policy does not let this server use sampling");
    world.stop();
    expect(await world.stopping).toBe(0);
  },
);

test("calls on a server that the next config removes finish, then the server is closed", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const world = new World(new Map([["a", 0]]));
  await vi.advanceTimersByTimeAsync(2_000);
  const short = world.call("a", 1_000);
  const endless = world.call("a", 50_000);
  await settled();
  const replaced = world.inEffect.replace(configFor(new Map([["b", 0]])), () => {});
  await vi.advanceTimersByTimeAsync(2_000);
  await replaced;
  expect(short.outcome).toBe("ok");
  expect(world.machine("a-0").running).toHaveLength(1);
  // There is an end to patience.
  await vi.advanceTimersByTimeAsync(30_000);
  expect(endless.outcome).toBe("upstream_closed");
  expect(world.machine("a-0").running).toEqual([]);
  world.stop();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await world.stopping).toBe(0);
});
