/** Results of tasks over their budget, in both dialects: a poll that comes again finds the same kept result. */
import { expect, test } from "vitest";
import type { Server } from "../../support/open-gateway.js";
import type { Json } from "../../support/peers/host.js";
import { ask, BUDGET, call, idOf, opened, PROSE, readOn, sizeOf, textOf } from "./support.js";

const EXTENSION = "io.modelcontextprotocol/tasks";
const AT = "2026-11-29T10:00:00Z";
const WHOLE = { content: [{ type: "text", text: PROSE }] };
const inputSchema = { type: "object", properties: {} };

/** A server of 2026-07-28 whose tool becomes a task that has ended by the first poll. */
const modern: Server = {
  tools: [{ name: "prose", inputSchema }],
  capabilities: { extensions: { [EXTENSION]: {} } },
  answer({ method }) {
    const task = { taskId: "t1", createdAt: AT, lastUpdatedAt: AT, ttlMs: 600_000, pollIntervalMs: 100 };
    if (method === "tools/call") return { resultType: "task", status: "working", ...task };
    return method === "tasks/get" ? { status: "completed", ...task, result: WHOLE } : undefined;
  },
};

/** The same of 2025-11-25. */
const legacyServer = (taskSupport: string): Server => ({
  era: "legacy",
  tools: [{ name: "prose", inputSchema, execution: { taskSupport } }],
  answer({ method }) {
    const task = { taskId: "t1", createdAt: AT, lastUpdatedAt: AT, ttl: 600_000, pollInterval: 1 };
    const capabilities = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
    switch (method) {
      case "initialize":
        return { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "big", version: "1" } };
      case "tools/call":
        return { task: { ...task, status: "working" } };
      case "tasks/get":
        return { ...task, status: "completed" };
      case "tasks/result":
        return { ...WHOLE, _meta: { "io.modelcontextprotocol/related-task": { taskId: "t1" } } };
      default:
        return undefined;
    }
  },
});

const CONFIG = { results: { maxTokens: BUDGET } };
const isSmall = (preview: Json): boolean => sizeOf(preview) <= BUDGET * 4;

test("a host of 2026-07-28 gets a preview inside of its task, and the same one when it polls again", async () => {
  const running = await opened(CONFIG, modern);
  const options = { capabilities: { extensions: { [EXTENSION]: {} } } };
  const host = await running.host({ era: "modern", door: "http" }, "ann", "", options);
  const { taskId } = await call(host, "big__prose");
  const [first, again] = [await ask(host, "tasks/get", { taskId }), await ask(host, "tasks/get", { taskId })];
  expect(first).toMatchObject({ status: "completed", ttlMs: 600_000, taskId });
  const preview = first.result as Json;
  expect(isSmall(preview)).toBe(true);
  expect(idOf(again.result as Json)).toBe(idOf(preview));
  expect(textOf(await readOn(host, idOf(preview), { offset: 2_999 }))).toBe("line 2999: the quick brown fox");
});

test("a host of 2025-11-25 gets a preview as the result of its task, and the same one when it asks again", async () => {
  const running = await opened(CONFIG, legacyServer("optional"));
  const host = await running.host({ era: "legacy", door: "http" });
  const begun = await ask(host, "tools/call", { name: "big__prose", arguments: {}, task: { ttl: 60_000 } });
  const { taskId } = begun.task as { readonly taskId: string };
  const preview = await ask(host, "tasks/result", { taskId });
  expect(isSmall(preview)).toBe(true);
  expect(preview._meta).toMatchObject({ "io.modelcontextprotocol/related-task": { taskId } });
  expect(idOf(await ask(host, "tasks/result", { taskId }))).toBe(idOf(preview));
  expect(textOf(await readOn(host, idOf(preview), { offset: 2_999 }))).toBe("line 2999: the quick brown fox");
});

test("a host that knows no tasks gets a preview of one of 2025-11-25 that the gateway has awaited", async () => {
  const running = await opened(CONFIG, legacyServer("required"));
  const host = await running.host({ era: "modern", door: "http" });
  const preview = await call(host, "big__prose");
  expect(isSmall(preview)).toBe(true);
  expect(textOf(await readOn(host, idOf(preview), { limit: 1 }))).toBe("line 0: the quick brown fox");
});
