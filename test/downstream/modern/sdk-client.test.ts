/** The official 2.4.0 client in the modern era, against this edge alone. */
import { createSecretKey } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { sealedState } from "../../../src/resilience/sealed-state.js";
import { type FakeHandler, fakePort, resultReply, textReply } from "../../support/fake-port.js";
import { listening } from "../../support/listening.js";

const KEY = createSecretKey(Buffer.alloc(32, 1));
const TOOL = {
  name: "ask",
  inputSchema: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } },
};

/** A connected client, able to answer elicitations, in front of one tool. */
async function connected(tool: FakeHandler) {
  const plain = fakePort({
    handlers: { "tools/list": () => resultReply({ tools: [TOOL] }), "tools/call": tool },
    tools: { ask: TOOL },
  });
  const gateway = { ...plain, handle: sealedState({ key: KEY })(plain.handle) };
  const { url, modern } = await listening({ gateway });
  const client = new Client(
    { name: "official", version: "2.4.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
  );
  client.setRequestHandler("elicitation/create", async () => ({
    action: "accept",
    content: { name: "Ada" },
  }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return { client, port: plain, modern };
}

test("it discovers, lists, and mirrors arguments that a schema marks", async () => {
  const { client, port } = await connected((call) => textReply(JSON.stringify(call.params.arguments)));
  expect(client.getServerVersion()).toMatchObject({ name: "cardea" });
  expect((await client.listTools()).tools).toMatchObject([{ name: "ask" }]);
  const result = await client.callTool({ name: "ask", arguments: { region: "Zürich" } });
  expect(result.content).toEqual([{ type: "text", text: '{"region":"Zürich"}' }]);
  expect(port.calls.at(-1)?.client).toMatchObject({
    capabilities: { elicitation: { form: {} } },
    info: { name: "official" },
  });
});

test("it receives progress", async () => {
  const { client } = await connected(({ notify, params }) => {
    const { progressToken } = params._meta as { progressToken: number };
    for (const progress of [1, 2])
      notify({ method: "notifications/progress", params: { progressToken, progress } });
    return textReply("done");
  });
  const heard: number[] = [];
  await client.callTool({ name: "ask" }, { onprogress: ({ progress }) => heard.push(progress) });
  expect(heard).toEqual([1, 2]);
});

test("it is asked, answers, and brings the sealed state back", async () => {
  const question = {
    method: "elicitation/create",
    params: { message: "Who?", requestedSchema: { type: "object", properties: {} } },
  };
  const { client, port } = await connected(({ inputResponses }) =>
    inputResponses === undefined
      ? { kind: "input_required", requests: { who: question }, state: { server: "the server's own" } }
      : textReply(JSON.stringify(inputResponses)),
  );
  const result = await client.callTool({ name: "ask" });
  const [{ text = "" } = {}] = result.content as readonly { readonly text?: string }[];
  expect(JSON.parse(text)).toEqual({
    responses: { who: { action: "accept", content: { name: "Ada" } } },
    state: { server: "the server's own" },
    round: { id: expect.any(String), isFirst: true },
  });
  expect(port.calls.filter(({ method }) => method === "tools/call")).toHaveLength(2);
});

test("it cancels by closing its stream", async () => {
  const cancel = new AbortController();
  const { client } = await connected(
    ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(textReply("too late")));
        cancel.abort();
      }),
  );
  await expect(client.callTool({ name: "ask" }, { signal: cancel.signal })).rejects.toThrow();
});

test("it listens until the gateway ends the subscription gracefully", async () => {
  const { client, port, modern } = await connected(() => textReply("unused"));
  const changed = new Promise<void>((resolve) => {
    client.setNotificationHandler("notifications/tools/list_changed", () => resolve());
  });
  const subscription = await client.listen({ toolsListChanged: true });
  port.publish({ kind: "list", list: "tools" });
  await changed;
  await modern.close();
  expect(await subscription.closed).toBe("graceful");
});
