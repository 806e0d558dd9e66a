/** Headers of hosts that the config carries to a server, with several replicas in front of it. */
import { expect, onTestFinished, test } from "vitest";
import type { Host } from "../../support/host/host.mjs";
import { openLegacy, openModern } from "../../support/peers/raw.js";
import { roundRobin } from "../../support/round-robin.js";
import { tenantServer } from "../../support/servers/tenants.js";
import { introduce, memoryStore, startReplica } from "./replicas.js";

const whoAmI = async (host: Host): Promise<string | undefined> => {
  const { result, error } = await host.request("tools/call", { name: "far__whoami", arguments: {} });
  const [content] = (result?.content ?? []) as { readonly text?: string }[];
  return content?.text?.split(" ")[0] ?? error?.message;
};

test.each(["legacy", "modern"] as const)(
  "reach a %s server from each replica, also of a session that another one owns or takes over",
  async (era) => {
    const store = memoryStore();
    const server = await tenantServer(era);
    const config = {
      mcpServers: { far: { url: server.url, forwardHeaders: ["x-tenant"] } },
      startupWait: "10m",
    };
    const first = await startReplica(store.view(), config);
    const second = await startReplica(store.view(), config);
    onTestFinished(async () => {
      for (const { gateway } of [first, second]) await gateway.stop({ immediate: true });
    });
    await introduce([first, second]);
    let urls = [first.url, second.url];
    const balancer = await roundRobin(() => urls);
    onTestFinished(() => balancer.close());
    const enter = async (open: typeof openLegacy, tenant: string): Promise<Host> => {
      const host = await open({ url: balancer.url }, { headers: { "x-tenant": tenant }, agent: false });
      onTestFinished(() => host.close());
      return host;
    };
    const hosts = [
      ["geheim-ada", await enter(openLegacy, "geheim-ada")],
      ["geheim-eve", await enter(openLegacy, "geheim-eve")],
      ["geheim-bob", await enter(openModern, "geheim-bob")],
    ] as const;
    const askAll = async (): Promise<void> => {
      for (const [tenant, host] of hosts) {
        expect(await whoAmI(host)).toBe(tenant);
        expect((await host.list("tools")).map(({ name }) => name)).toEqual([
          "far__whoami",
          `far__of-${tenant}`,
        ]);
      }
    };
    for (let round = 0; round < 4; round += 1) await askAll();
    await first.gateway.stop();
    urls = [second.url];
    await askAll();
    const stored = store.keys().map((key) => `${key} ${store.get(key) ?? ""}`);
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.join("\n")).not.toContain("geheim");
  },
);
