/** How long names may be, in what hosts and servers send. */
import { describe, expect, test } from "vitest";
import type { Envelope } from "../../src/wire/envelope.js";
import { checkHostLengths, MAX_NAME_LENGTH, MAX_STATE_LENGTH } from "../../src/wire/length-limits.js";
import { readMessages } from "../../src/wire/message.js";
import fc from "../support/fast-check.js";

const over = "n".repeat(MAX_NAME_LENGTH + 1);
const serverSays = (message: object) => () =>
  readMessages(Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message })));

describe("what is too long", () => {
  test.each<[string, object]>([
    ["a method", { method: over }],
    ["a URI", { method: "notifications/resources/updated", params: { uri: over } }],
    ["a task", { method: "notifications/tasks/status", params: { taskId: over } }],
    ["a logger", { method: "notifications/message", params: { level: "info", logger: over } }],
    ["a token", { method: "notifications/progress", params: { progressToken: over, progress: 1 } }],
    ["a question that is taken back", { method: "notifications/cancelled", params: { requestId: over } }],
    [
      "a related task",
      { method: "n/x", params: { _meta: { "io.modelcontextprotocol/related-task": { taskId: over } } } },
    ],
    ["a cursor", { id: 1, result: { tools: [], nextCursor: "c".repeat(MAX_STATE_LENGTH + 1) } }],
    ["a state", { id: 1, result: { requestState: "s".repeat(MAX_STATE_LENGTH + 1) } }],
    ["the key of a question", { id: 1, result: { inputRequests: { [over]: {} } } }],
    ["the id of a task that was begun", { id: 1, result: { task: { taskId: over } } }],
  ])("of a server is no message: %s", (_, message) => {
    expect(serverSays(message)).toThrow(/has \d+ characters, and may have \d+/);
  });

  test("of a batch is refused alone", () => {
    const good: Envelope = { jsonrpc: "2.0", id: 1, method: "ping" };
    const bad: Envelope = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: over } };
    expect(checkHostLengths([good, bad], 5_000)).toEqual([
      good,
      expect.objectContaining({ code: -32602, id: 2 }),
    ]);
  });

  test("is reported with the id of the call that it would have answered", () => {
    const answer = serverSays({ id: 7, result: { nextCursor: "c".repeat(MAX_STATE_LENGTH + 1) } });
    expect(answer).toThrow(expect.objectContaining({ id: 7 }));
  });

  test("is no name: texts, arguments, results and unknown members may be of any length", () => {
    const text = "t".repeat(200_000);
    for (const message of [
      { id: 1, result: { content: [{ type: "text", text }], structuredContent: { name: text, uri: text } } },
      { method: "notifications/message", params: { level: "info", data: { name: text } } },
      { method: "vendor/news", params: { text, _meta: { "vendor/name": text } } },
    ]) {
      expect(serverSays(message)).not.toThrow();
      expect(() => checkHostLengths({ jsonrpc: "2.0", ...message } as Envelope, 300_000)).not.toThrow();
    }
  });

  test("is found by its length, whatever is beside it", () => {
    const member = fc.constantFrom(
      "name",
      "uri",
      "cursor",
      "requestState",
      "taskId",
      "progressToken",
      "text",
    );
    const most: Record<string, number> = {
      cursor: 2 * MAX_STATE_LENGTH,
      requestState: 2 * MAX_STATE_LENGTH,
      taskId: 2 * MAX_NAME_LENGTH,
    };
    fc.assert(
      fc.property(fc.array(fc.tuple(member, fc.nat(3))), (members) => {
        const params = Object.fromEntries(
          members.map(([key, by]) => [key, "x".repeat((most[key] ?? MAX_NAME_LENGTH) + by - 1)]),
        );
        const tooLong = Object.entries(params).some(
          ([key, text]) => key !== "text" && text.length > (most[key] ?? MAX_NAME_LENGTH),
        );
        const message: Envelope = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
        const check = () => checkHostLengths(message, JSON.stringify(message).length);
        if (tooLong) expect(check).toThrow();
        else expect(check).not.toThrow();
      }),
      { numRuns: 100 },
    );
  });
});
