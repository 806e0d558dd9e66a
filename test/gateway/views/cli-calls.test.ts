/** How long commands such as `cardea list` wait for the servers of a running gateway, and what ends the wait. */
import { expect, test, vi } from "vitest";
import type { ServerConfig } from "../../../src/config/config.js";
import { Stop, type StopSignal } from "../../../src/core/stop.js";
import type { Pipeline } from "../../../src/gateway/pipeline.js";
import { cliLists } from "../../../src/gateway/views/cli-calls.js";
import { onlySafeLinks } from "../../../src/resilience/safe-links.js";
import { catalogOf, tool } from "../../catalog/support.js";
import { fakeTime, pass, settle } from "../../support/fake-time.js";
import { type FakeUpstream, fakeUpstream } from "../../support/fake-upstream.js";

fakeTime();

/** As much of a pipeline as lists read: these servers, all of them `required` or none. */
function pipelineOf(
  upstreams: readonly FakeUpstream[],
  { required = false, before }: { readonly required?: boolean; readonly before?: Pipeline } = {},
): Pipeline {
  const configs = upstreams.map(
    ({ name }) => ({ name, prefix: name, required, connectTimeoutMs: 30_000 }) as ServerConfig,
  );
  return {
    config: { servers: configs, startupWaitMs: 10_000, naming: { separator: "__", maxLength: 60 } },
    servers: new Map(upstreams.map((upstream, at) => [upstream.name, { config: configs[at], upstream }])),
    catalog: catalogOf(upstreams, before && { before: before.catalog }),
    policy: onlySafeLinks(),
  } as unknown as Pipeline;
}

/** What `cardea list tools` shows or fails with, and after how long (ms). */
function listing(inEffect: () => Pipeline, signal: StopSignal = new Stop().signal) {
  const began = performance.now();
  const seen = { waited: Number.NaN, tools: [] as readonly unknown[], error: "" };
  const waited = () => {
    seen.waited = performance.now() - began;
  };
  void cliLists(inEffect, "tools", { signal }).then(
    (entries) => {
      waited();
      seen.tools = entries.map(({ item }) => item.name);
    },
    (error: Error) => {
      waited();
      seen.error = error.message;
    },
  );
  return seen;
}

const starting = (name: string) =>
  fakeUpstream(name, { state: "starting", lists: { tools: [tool("read")] } });

test("a list waits until each server has listed or failed", async () => {
  const [files, broken] = [starting("files"), starting("broken")];
  const pipeline = pipelineOf([files, broken]);
  const list = listing(() => pipeline);
  await pass(3_000);
  broken.goDown();
  await pass(1_000);
  files.becomeReady();
  await settle();
  expect(list).toMatchObject({ waited: 4_000, tools: ["files__read"] });
});

test("a list does not wait for a required server that was connected and is disconnected", async () => {
  const files = fakeUpstream("files", { lists: { tools: [tool("read")] } });
  const pipeline = pipelineOf([files], { required: true });
  await settle();
  files.goDown();
  const list = listing(() => pipeline);
  await settle();
  expect(list).toMatchObject({ waited: 0, tools: ["files__read"] });
});

test("a list names a required server that never connected, and leaks nothing", async () => {
  const files = starting("files");
  const pipeline = pipelineOf([files], { required: true });
  const { watchers } = files;
  const list = listing(() => pipeline);
  await pass(35_000);
  expect(list).toMatchObject({ waited: 35_000, error: expect.stringContaining("required server files") });
  expect([files.watchers, vi.getTimerCount()]).toEqual([watchers, 0]);
});

test("a list does not wait for a server that is stopped", async () => {
  const files = starting("files");
  const pipeline = pipelineOf([files], { required: true });
  await files.close();
  const list = listing(() => pipeline);
  await settle();
  expect(list.waited).toBe(0);
});

test("a list whose server is removed by a reload uses the new config", async () => {
  const [stuck, files] = [starting("stuck"), starting("files")];
  const before = pipelineOf([stuck], { required: true });
  let inEffect = before;
  const list = listing(() => inEffect);
  await pass(1_000);
  inEffect = pipelineOf([files], { before });
  before.catalog.close();
  await pass(1_000);
  expect(list.waited).toBeNaN();
  files.becomeReady();
  await settle();
  expect(list).toMatchObject({ waited: 2_000, tools: ["files__read"] });
  expect(stuck.watchers).toBe(0);
});

test("a list is cancelled with its client, and stops observing servers", async () => {
  const stuck = starting("stuck");
  const pipeline = pipelineOf([stuck], { required: true });
  const { watchers } = stuck;
  const stop = new Stop();
  const list = listing(() => pipeline, stop.signal);
  await pass(1_000);
  stop.abort();
  await settle();
  expect(list.waited).toBe(1_000);
  expect([stuck.watchers, vi.getTimerCount()]).toEqual([watchers, 0]);
});

test("every list has a timeout", async () => {
  const stuck = starting("stuck");
  const pipeline = pipelineOf([stuck, fakeUpstream("files", { lists: { tools: [tool("read")] } })]);
  const list = listing(() => pipeline);
  await pass(89_999);
  expect(list.waited).toBeNaN();
  await pass(1);
  expect(list).toMatchObject({ waited: 90_000, tools: ["files__read"] });
});
