/** A reload that changes a server while calls to it run or wait. */

import "../features/admin/needed.js";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { createGateway } from "../../src/gateway/gateway.js";
import { wordOf } from "../support/calls.js";
import { openedFeatures, testOf } from "../support/features.js";
import { configOf, listening } from "../support/gateway.js";
import { recordingServer } from "../support/servers/recording-server.js";
import { until } from "../support/until.js";

/** A gateway whose server answers each call when it is let go; `reload` changes the headers of the server to this number. */
async function changing(era: "legacy" | "modern", limits: readonly object[] = []) {
  const letGo: (() => void)[] = [];
  const server = await recordingServer("db", era, { tools: ["run"] }, ({ method }) =>
    method === "tools/call" ? new Promise<void>((resolve) => void letGo.push(resolve)) : undefined,
  );
  const at = (version: number) =>
    configOf({
      mcpServers: { db: { type: "http", url: server.url, headers: { "x-version": String(version) } } },
      ...(limits.length > 0 && { limits }),
    });
  const features = await openedFeatures(at(0));
  const gateway = createGateway(at(0), { logger: SILENT, version: "0.0.0-test", features });
  const { adminUrl } = await listening(gateway);
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    await server.close();
  });
  await gateway.lists("tools");
  const release = async (count: number): Promise<void> => {
    await until(`call ${count} at the server`, () => letGo.length >= count);
    letGo[count - 1]?.();
  };
  return { gateway, adminUrl, reload: (version: number) => gateway.reload(at(version)), letGo, release };
}

testOf("policy").each(["legacy", "modern"] as const)(
  "calls to a %s server that wait for a limit end where they began",
  async (era) => {
    const { gateway, reload, letGo, release } = await changing(era, [
      { name: "one", tools: ["db__*"], concurrency: 1, queue: 5, per: "server" },
    ]);
    const calls = [gateway.call("db__run", { n: 1 })];
    await until("the first call at the server", () => letGo.length === 1);
    calls.push(gateway.call("db__run", { n: 2 }));
    await reload(1);
    await release(1);
    await release(2);
    expect((await Promise.all(calls)).map(wordOf)).toEqual(["result", "result"]);
  },
);

test("a server that is changed and changed back keeps its gauges", async () => {
  const { gateway, adminUrl, reload, letGo, release } = await changing("modern");
  const gauges = async (): Promise<readonly string[]> => {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    const ofServer = /^cardea_(?:upstream_up|inflight_requests|queue_depth|circuit_state)\{/;
    return text.split("\n").filter((line) => ofServer.test(line));
  };
  const before = await gauges();
  expect(before).toHaveLength(4);
  const call = gateway.call("db__run", {});
  await until("the call at the server", () => letGo.length === 1);
  await reload(1);
  await reload(0);
  await release(1);
  await call;
  await expect.poll(gauges).toEqual(before);
});
