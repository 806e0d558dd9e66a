/** Every kind of message this edge writes is what the official schema of the revision says it must be. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { META } from "../../../src/wire/names.js";
import { errorReply, type FakeHandler, fakePort, resultReply, textReply } from "../../support/fake-port.js";
import { hearing, modernMeta, modernRequest, open, type Sent, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";
import { schemaErrors } from "../../support/wire-schema.js";

const question = {
  method: "elicitation/create",
  params: { message: "?", requestedSchema: { type: "object", properties: {} } },
};
const handlers: Record<string, FakeHandler> = {
  "tools/list": () => resultReply({ tools: [{ name: "t", inputSchema: { type: "object" } }] }),
  "prompts/list": () => resultReply({ prompts: [] }),
  "resources/list": () => resultReply({ resources: [], nextCursor: "" }),
  "resources/templates/list": () => resultReply({ resourceTemplates: [] }),
  "resources/read": () => resultReply({ contents: [{ uri: "a:b", text: "x" }] }),
  "prompts/get": () => ({ kind: "input_required", requests: { q: question }, sealedState: "s" }),
  "completion/complete": () => resultReply({ completion: { values: [] } }),
  "tools/call": ({ notify }) => {
    notify({ method: "notifications/progress", params: { progressToken: "p", progress: 1 } });
    notify({ method: "notifications/message", params: { level: "info", data: { a: 1 } } });
    return textReply("done");
  },
  "x/fails": () =>
    errorReply(-31503, "the server is not there", { cardea: { code: "upstream_unavailable" } }),
};

const valid = (message: JsonObject, answers?: string) =>
  expect(
    schemaErrors(message, { revision: "2026-07-28", sender: "server", ...(answers && { answers }) }),
  ).toEqual([]);

const capable = { ...modernMeta({ elicitation: {} }), progressToken: "p", [META.logLevel]: "debug" };

test.each<[string, JsonObject]>([
  ["server/discover", {}],
  ["tools/list", {}],
  ["prompts/list", {}],
  ["resources/list", {}],
  ["resources/templates/list", {}],
  ["resources/read", { uri: "a:b" }],
  ["prompts/get", { name: "p" }],
  ["completion/complete", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }],
  ["tools/call", { name: "t" }],
])("what %s is answered with", async (method, params) => {
  const { url } = await listening({ gateway: fakePort({ handlers }) });
  const answer = await send(url, modernRequest(method, params, { meta: capable }));
  expect(answer.status).toBe(200);
  const messages = answer.headers["content-type"] === "text/event-stream" ? answer.events() : [answer.json()];
  expect(messages).toHaveLength(method === "tools/call" ? 3 : 1);
  for (const message of messages) valid(message, "id" in message ? method : undefined);
});

test.each<[string, Sent, number]>([
  ["no method", modernRequest("x/unknown"), 404],
  ["a server that is not there", modernRequest("x/fails"), 200],
  ["no metadata", modernRequest("tools/list", {}, { meta: { [META.clientCapabilities]: 7 } }), 400],
  ["a header mismatch", modernRequest("tools/list", {}, { headers: { "mcp-method": "x" } }), 400],
  [
    "a revision that is not served",
    modernRequest(
      "tools/list",
      {},
      { meta: { [META.protocolVersion]: "v1" }, headers: { "mcp-protocol-version": "v1" } },
    ),
    400,
  ],
  ["a capability that is missing", modernRequest("prompts/get", { name: "p" }), 400],
  ["no JSON", { headers: { "content-type": "application/json" }, body: "{" }, 400],
  ["another content type", { body: "{}" }, 415],
])("the error for %s", async (_what, request, status) => {
  const { url } = await listening({ gateway: fakePort({ handlers }) });
  const answer = await send(url, request);
  expect(answer.status).toBe(status);
  valid(answer.json());
});

test("all that is said on a subscription", async () => {
  const gateway = fakePort();
  const { url, modern } = await listening({ gateway });
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["a:b"] };
  const heard = hearing(await open(url, modernRequest("subscriptions/listen", { notifications })));
  await heard(1);
  gateway.publish({ kind: "list", list: "tools" });
  gateway.publish({ kind: "resource", uri: "a:b" });
  await modern.close();
  for (const message of await heard(4)) valid(message, "id" in message ? "subscriptions/listen" : undefined);
});
