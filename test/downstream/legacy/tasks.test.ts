/** Tasks of 2025-11-25 at this edge: requests to the gateway, and task notifications to a session between its calls. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { echo, resultReply } from "../../support/fake-port.js";
import { edgeHost } from "./support.js";

const TREE = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
const EXTENSION = "io.modelcontextprotocol/tasks";
const capabilities = { tools: {}, tasks: TREE, extensions: { [EXTENSION]: {}, "x/y": {} } };
const options = { introduction: { capabilities }, handlers: { "tools/call": echo } };

describe("a session", () => {
  test.each([
    ["2025-11-25", { tools: {}, tasks: TREE, extensions: { "x/y": {} } }, { name: "run", task: { ttl: 5 } }],
    ["2025-06-18", { tools: {}, extensions: { "x/y": {} } }, { name: "run" }],
  ])(
    "of %s is advertised, and may request, what its revision knows of tasks",
    async (version, promised, params) => {
      const { server, host } = await edgeHost(options, { version });
      expect(host.initialize.capabilities).toMatchObject(promised);
      expect(Object.keys(host.initialize.capabilities as JsonObject)).toEqual(Object.keys(promised));
      await host.request("tools/call", { name: "run", task: { ttl: 5 } });
      expect(server.port.calls.at(-1)?.params).toEqual(params);
    },
  );

  test("gets a task for its answer, with every member of it", async () => {
    const task = { taskId: "t", status: "working", ttl: null, pollInterval: 5, "x-more": 1 };
    const { host } = await edgeHost({ ...options, handlers: { "tools/call": () => resultReply({ task }) } });
    expect((await host.request("tools/call", { name: "run", task: {} })).result).toEqual({ task });
  });

  test("receives the status of its tasks, and the progress of those with a token, between its calls", async () => {
    const { server, host } = await edgeHost(options);
    const events = await host.listen();
    await host.request("tools/call", { name: "run", task: {}, _meta: { progressToken: "mine" } });
    await host.request("tools/call", { name: "run", _meta: { progressToken: "of a call" } });
    const tell = (method: string, params: JsonObject) =>
      server.edge.directory.find(host.sessionId)?.notify?.({ method, params });
    tell("notifications/progress", { progressToken: "of a call", progress: 1 });
    tell("notifications/progress", { progressToken: "mine", progress: 2 });
    tell("notifications/tasks/status", { taskId: "t", status: "completed" });
    expect(await events.message()).toMatchObject({ params: { progressToken: "mine", progress: 2 } });
    expect(await events.message()).toMatchObject({ params: { taskId: "t", status: "completed" } });
  });

  test("of an older revision receives nothing about tasks", async () => {
    const { server, host } = await edgeHost(options, { version: "2025-06-18" });
    const events = await host.listen();
    const tell = (method: string) =>
      server.edge.directory.find(host.sessionId)?.notify?.({ method, params: {} });
    tell("notifications/tasks/status");
    tell("notifications/other");
    expect(await events.message()).toMatchObject({ method: "notifications/other" });
  });
});
