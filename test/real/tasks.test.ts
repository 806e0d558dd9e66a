/** Tasks of real servers: given to hosts that know them, each in its own era, and awaited for hosts that do not. */
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  TaskStatusNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fixture, startFixture } from "../support/fixture.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import { ASKABLE } from "../support/peers/askable.js";
import type { Place } from "../support/peers/host.js";
import { openModern } from "../support/peers/raw.js";
import { until } from "../support/until.js";
import { realServers } from "./servers.js";

const everything = realServers("/")[0]?.place as Place;
const CLARIFIED = { action: "accept", content: { interpretation: "technical" } } as const;
const research = (topic: string, ambiguous = false) => ({
  name: "everything__simulate-research-query",
  arguments: { topic, ambiguous },
});

let fixture: Fixture;
let gateway: MetGateway;
beforeAll(async () => {
  fixture = await startFixture("modern", "http");
  gateway = await metGateway({ mcpServers: { everything, jobs: fixture.entry } });
});
afterAll(async () => {
  await gateway.stop();
  await fixture.stop();
});

/** A host made of SDK 1.32, which knows the tasks of 2025-11-25. */
async function taskHost() {
  const client = new Client1(
    { name: "task-host", version: "1" },
    { capabilities: { elicitation: { form: {} } } },
  );
  const asked: unknown[] = [];
  const statuses: { taskId: string; status: string }[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params._meta?.["io.modelcontextprotocol/related-task"]);
    return CLARIFIED as never;
  });
  client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void statuses.push(params));
  const transport = new StreamableHTTPClientTransport(new URL(gateway.url));
  await client.connect(transport as Parameters<Client1["connect"]>[0]);
  await until("the tools of everything", async () =>
    (await client.listTools()).tools.some(({ name }) => name.endsWith("research-query")),
  );
  return { client, tasks: client.experimental.tasks, asked, statuses };
}

// The research of server-everything takes seconds.
describe.concurrent("a host and a server of 2025-11-25", () => {
  test("run a tool as a task with a question, list tasks and cancel one", async () => {
    const { client, tasks, asked, statuses } = await taskHost();
    expect(client.getServerCapabilities()?.tasks).toEqual({
      list: {},
      cancel: {},
      requests: { tools: { call: {} } },
    });
    const messages: string[] = [];
    let taskId = "";
    let report = "";
    for await (const message of tasks.callToolStream(research("tides", true), CallToolResultSchema)) {
      messages.push(message.type);
      if (message.type === "taskCreated") taskId = message.task.taskId;
      if (message.type === "result") report = JSON.stringify(message.result);
    }
    expect(messages[0]).toBe("taskCreated");
    expect(messages.at(-1)).toBe("result");
    expect(report).toContain("tides (technical)");
    expect(taskId).toMatch(/^task1\./);
    expect(asked).toEqual([{ taskId }]);
    // They come on another stream than the result.
    await until("the last status", () => statuses.at(-1)?.status === "completed");
    expect(new Set(statuses.map((status) => status.taskId))).toEqual(new Set([taskId]));

    const begun = (await client.request(
      { method: "tools/call", params: { ...research("winds"), task: { ttl: 60_000 } } },
      CallToolResultSchema.passthrough() as never,
    )) as { task: { taskId: string } };
    const other = begun.task.taskId;
    expect((await tasks.listTasks()).tasks.map((task) => task.taskId).sort()).toEqual([taskId, other].sort());
    expect(await tasks.cancelTask(other)).toMatchObject({ taskId: other, status: "cancelled" });
    expect(await tasks.getTask(other)).toMatchObject({ taskId: other, status: "cancelled" });

    const stranger = await taskHost();
    expect((await stranger.tasks.listTasks()).tasks).toEqual([]);
    await Promise.all([client.close(), stranger.client.close()]);
  });
});

describe.concurrent.each(ASKABLE.filter(({ era }) => era === "modern"))(
  "a host built with $name, which has no such tasks",
  (kind) => {
    test("gets the result of the task and its questions, as in any other call", async () => {
      const host = await kind.connect(
        { url: gateway.url },
        { elicit: () => CLARIFIED, sample: () => ({}), roots: () => ({ roots: [] }) },
      );
      const { name, arguments: args } = research("tides", true);
      await until("its tools", async () => (await host.listTools()).includes(name));
      expect(await host.call(name, args)).toContain("tides (technical)");
      expect(host.asked.map(({ method }) => method).filter((method) => method !== "roots/list")).toEqual([
        "elicitation/create",
      ]);
      await host.close();
    });
  },
);

describe.concurrent("a host and a server of 2026-07-28", () => {
  const capabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };

  test("have tasks as an extension, and not the task methods of 2025-11-25", async () => {
    const host = await openModern({ url: gateway.url }, { capabilities });
    const { extensions, tasks } = host.introduction().capabilities;
    expect(extensions).toHaveProperty(["io.modelcontextprotocol/tasks"]);
    expect(tasks).toBeUndefined();
    const { result } = await host.request("tools/call", {
      name: "jobs__confirm_delete",
      arguments: { filename: "a" },
      task: { ttl: 1 },
    });
    expect(result).toMatchObject({ resultType: "task", taskId: expect.stringMatching(/^task1\./) });
    const taskId = result?.taskId;
    const get = async () => (await host.request("tasks/get", { taskId })).result;
    await until("its question", async () => (await get())?.status === "input_required");
    expect(await get()).toMatchObject({
      taskId,
      inputRequests: { confirm: { params: { message: "Conformance fixture (jobs): Delete a?" } } },
    });
    const inputResponses = { confirm: { action: "accept", content: { confirm: true } } };
    expect((await host.request("tasks/update", { taskId, inputResponses })).result).toBeDefined();
    await until("its end", async () => (await get())?.status === "completed");
    expect(await get()).toMatchObject({ taskId, result: { content: [{ text: "deleted a" }] } });
    for (const method of ["tasks/result", "tasks/list"]) {
      expect((await host.request(method, { taskId })).error?.code).toBe(-32601);
    }
    await host.close();
  });

  test("cannot see a task of the other era, and the other era cannot see theirs", async () => {
    const [legacy, modern] = [await taskHost(), await openModern({ url: gateway.url }, { capabilities })];
    const { result } = await modern.request("tools/call", {
      name: "jobs__slow_compute",
      arguments: { seconds: 60 },
    });
    const taskId = String(result?.taskId);
    await expect(legacy.tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602 });
    expect((await modern.request("tasks/cancel", { taskId })).error).toBeUndefined();
    await Promise.all([legacy.client.close(), modern.close()]);
  });
});
