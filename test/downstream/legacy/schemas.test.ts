/** Every message of a session is what the official schema of its revision says. */
import { expect, test } from "vitest";
import type { Reply } from "../../../src/core/call.js";
import { errorReply, type FakeHandler, resultReply } from "../../support/fake-port.js";
import { REVISIONS } from "../../support/official-schemas.js";
import { schemaErrors } from "../../support/wire-schema.js";
import { Events, edgeServer, type Message } from "./support.js";

const LEGACY = REVISIONS.filter((revision) => revision !== "2026-07-28");

/** Modern answers with everything in them that older hosts do not know. */
const HANDLERS: Readonly<Record<string, FakeHandler>> = {
  "tools/list": () =>
    resultReply({
      resultType: "complete",
      ttlMs: 1,
      cacheScope: "public",
      tools: [{ name: "t", inputSchema: { type: "object" }, outputSchema: { type: "array", items: {} } }],
    }),
  "tools/call": (call) => {
    if (call.inputResponses === undefined) return questions();
    const { progressToken } = call.params._meta as { progressToken: number };
    call.notify({
      method: "notifications/progress",
      params: { progressToken, progress: 1, message: "half" },
    });
    call.notify({ method: "notifications/message", params: { level: "info", logger: "l", data: {} } });
    return resultReply({
      resultType: "complete",
      content: [
        { type: "resource_link", uri: "x:a", name: "a" },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ],
      structuredContent: [1],
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "s", version: "1" } },
    });
  },
  "resources/read": () => errorReply(-32602, "missing", { uri: "x:a" }),
};

const questions = (): Reply => ({
  kind: "input_required",
  requests: {
    form: {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "m",
        requestedSchema: {
          type: "object",
          properties: { a: { type: "string", oneOf: [{ const: "a", title: "A" }] }, b: { type: "boolean" } },
        },
      },
    },
    url: { method: "elicitation/create", params: { mode: "url", message: "m", url: "https://x.test/" } },
    model: {
      method: "sampling/createMessage",
      params: { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 1 },
    },
    roots: { method: "roots/list" },
  },
});

test.each(LEGACY)("in a session of %s", async (revision) => {
  const server = await edgeServer({
    handlers: HANDLERS,
    introduction: {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true },
        completions: {},
        logging: {},
      },
      instructions: "i",
    },
  });
  // A host that names links is sent to them whatever its revision says.
  const elicitation = revision === "2025-06-18" ? {} : { form: {}, url: {} };
  const capabilities = { elicitation, sampling: {}, roots: {} };
  const host = await server.host({ version: revision, capabilities });
  const wrong: unknown[] = schemaErrors(
    { jsonrpc: "2.0", id: 1, result: host.initialize },
    { revision, sender: "server", answers: "initialize" },
  ).map((error) => ["initialize", error]);
  const check = (message: Message, answers?: string) => {
    const errors = schemaErrors(message, { revision, sender: "server", ...(answers && { answers }) });
    if (errors.length > 0) wrong.push(message, errors);
  };
  const request = async (method: string, params = {}) => check(await host.request(method, params), method);

  await request("ping");
  await request("logging/setLevel", { level: "info" });
  await request("tools/list");
  await request("resources/read", { uri: "x:a" });
  await request("resources/subscribe", { uri: "x:a" });
  await request("nobody/knows");

  const call = {
    jsonrpc: "2.0",
    id: 5,
    method: "tools/call",
    params: { name: "t", _meta: { progressToken: 3 } },
  };
  const events = new Events(await host.open(call));
  for (let message = await events.message(); ; message = await events.message()) {
    check(message, "tools/call");
    if (message.method === undefined) break;
    if (message.id !== undefined) await host.respond(message.id, { action: "cancel", roots: [] });
  }

  const stream = await host.listen();
  server.port.publish({ kind: "list", list: "tools" });
  check(await stream.message());
  server.port.publish({ kind: "resource", uri: "x:a" });
  check(await stream.message());
  await stream.cancel();
  expect(wrong).toEqual([]);
});
