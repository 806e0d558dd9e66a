/** The oracle itself: it must know a good message from a bad one, in every revision. */
import { describe, expect, test } from "vitest";
import { REVISIONS, type Revision } from "./official-schemas.js";
import { checkTraffic } from "./traffic.js";
import { type Context, schemaErrors } from "./wire-schema.js";

const from = (sender: "client" | "server", revision: Revision, answers?: string): Context => ({
  sender,
  revision,
  ...(answers !== undefined && { answers }),
});
const request = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
const result = (value: object) => ({ jsonrpc: "2.0", id: 1, result: value });
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

describe.each(REVISIONS)("in %s", (revision) => {
  const _meta = revision === "2026-07-28" ? { _meta: META } : {};

  test("a good call passes and one without a name does not", () => {
    const call = { name: "echo", arguments: {}, ..._meta };
    expect(schemaErrors(request("tools/call", call), from("client", revision))).toEqual([]);
    const nameless = { arguments: {}, ..._meta };
    expect(schemaErrors(request("tools/call", nameless), from("client", revision))).not.toEqual([]);
  });

  test("an answer is held against the result of its request", () => {
    const frame = revision === "2026-07-28" ? { resultType: "complete" } : {};
    const good = result({ ...frame, content: [{ type: "text", text: "hi" }] });
    expect(schemaErrors(good, from("server", revision, "tools/call"))).toEqual([]);
    const bad = result({ ...frame, content: [{ type: "text" }] });
    expect(schemaErrors(bad, from("server", revision, "tools/call"))).not.toEqual([]);
  });

  test("a request that only clients send may not come from a server", () => {
    const call = request("tools/call", { name: "echo", ..._meta });
    expect(schemaErrors(call, from("server", revision))).toEqual(["a server never sends tools/call"]);
  });

  test("an error must have a code and a message", () => {
    const error = { code: -32602, message: "no such tool" };
    expect(schemaErrors({ jsonrpc: "2.0", id: 1, error }, from("server", revision))).toEqual([]);
    const wordless = { jsonrpc: "2.0", id: 1, error: { code: -32602 } };
    expect(schemaErrors(wordless, from("server", revision))).not.toEqual([]);
  });
});

test("a modern request without its version and capabilities is wrong", () => {
  expect(schemaErrors(request("tools/list", {}), from("client", "2026-07-28"))).not.toEqual([]);
});

test("a modern client may cancel, and nothing else, without asking for an answer", () => {
  const notification = (method: string, params: object = {}) => ({ jsonrpc: "2.0", method, params });
  const client = from("client", "2026-07-28");
  expect(schemaErrors(notification("notifications/cancelled", { requestId: 1 }), client)).toEqual([]);
  const changed = notification("notifications/tools/list_changed");
  expect(schemaErrors(changed, client)).toEqual(["a client never sends notifications/tools/list_changed"]);
});

test("a modern list without its freshness is wrong", () => {
  const list = result({ resultType: "complete", tools: [] });
  expect(schemaErrors(list, from("server", "2026-07-28", "tools/list"))).not.toEqual([]);
});

test("an elicitation may have bounds that are no integers, whatever the released schema says", () => {
  const score = { type: "number", minimum: 0.5, default: 95.5 };
  const requestedSchema = { type: "object", properties: { score } };
  const elicit = request("elicitation/create", { message: "score?", requestedSchema });
  expect(schemaErrors(elicit, from("server", "2025-11-25"))).toEqual([]);
});

describe("traffic", () => {
  const initialize = request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "c", version: "1" },
  });
  const initialized = result({
    protocolVersion: "2025-06-18",
    capabilities: {},
    serverInfo: { name: "s", version: "1" },
  });

  test("is held against the revision that its conversation has agreed on", () => {
    const { seen, wrong } = checkTraffic(
      [
        { conversation: "a", from: "client", message: initialize },
        { conversation: "a", from: "server", message: initialized },
        {
          conversation: "a",
          from: "client",
          message: { jsonrpc: "2.0", method: "notifications/initialized" },
        },
      ],
      "client",
    );
    expect(wrong).toEqual([]);
    expect([...seen]).toEqual(["2025-06-18 initialize", "2025-06-18 notifications/initialized"]);
  });

  test("is held against what each answer answers, in its own conversation", () => {
    const bad = result({ tools: [{}] });
    const { wrong } = checkTraffic(
      [
        { conversation: "a", from: "client", message: initialize },
        { conversation: "a", from: "server", message: initialized },
        { conversation: "a", from: "client", message: { ...request("tools/list", {}), id: 2 } },
        { conversation: "b", from: "client", message: { ...request("ping", {}), id: 2 } },
        { conversation: "a", from: "server", message: { ...bad, id: 2 } },
      ],
      "server",
    );
    expect(wrong.join()).toMatch(/ListToolsResult\/tools\/0 .*inputSchema/);
  });
});
