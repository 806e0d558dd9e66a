/** The official SDK's clients as hosts of the legacy edge, over real HTTP. */
import {
  Client as LaterClient,
  StreamableHTTPClientTransport as LaterTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Call, Reply } from "../../../src/core/call.js";
import { type FakeHandler, pendingHandler, resultReply, textReply } from "../../support/fake-port.js";
import { until } from "../../support/until.js";
import { edgeServer } from "./support.js";

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true },
  logging: {},
};

async function sdkHost(handlers: Record<string, FakeHandler>) {
  const server = await edgeServer({ handlers, introduction: { capabilities: CAPABILITIES } });
  const client = new Client(
    { name: "sdk", version: "1.32" },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(server.url));
  onTestFinished(() => client.close());
  const heard: unknown[] = [];
  let next = () => {};
  const hear = (notification: unknown) => {
    heard.push(notification);
    next();
  };
  client.setNotificationHandler(LoggingMessageNotificationSchema, hear);
  client.setNotificationHandler(ToolListChangedNotificationSchema, hear);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, hear);
  // The SDK's own types are looser about undefined members than ours.
  await client.connect(transport as Transport);
  return {
    server,
    client,
    transport,
    hears: async (count: number) => {
      while (heard.length < count) {
        await new Promise<void>((wake) => {
          next = wake;
        });
      }
      return heard;
    },
  };
}

const ask = (call: Call, method: string, params: object): Reply | undefined =>
  call.inputResponses === undefined
    ? { kind: "input_required", requests: { q: { method, params } } }
    : undefined;

test("it lists, calls, receives progress and log messages, and ends its session", async () => {
  const { client, server, transport, hears } = await sdkHost({
    "tools/list": () => resultReply({ tools: [{ name: "t", inputSchema: { type: "object" } }] }),
    "tools/call": (call) => {
      const token = (call.params._meta as { progressToken?: unknown } | undefined)?.progressToken;
      call.notify({
        method: "notifications/progress",
        params: { progressToken: token, progress: 1, total: 2 },
      });
      call.notify({ method: "notifications/message", params: { level: "warning", data: "careful" } });
      return textReply("done");
    },
  });
  await client.setLoggingLevel("info");
  expect((await client.listTools()).tools).toMatchObject([{ name: "t" }]);
  const progress: unknown[] = [];
  const result = await client.callTool({ name: "t" }, undefined, {
    onprogress: (step) => void progress.push(step),
  });
  expect(result.content).toEqual([{ type: "text", text: "done" }]);
  expect(progress).toEqual([{ progress: 1, total: 2 }]);
  expect(await hears(1)).toMatchObject([{ params: { data: "careful" } }]);
  await transport.terminateSession();
  expect(server.edge.sessions()).toEqual([]);
});

test("it answers sampling, elicitation and roots in the course of a call", async () => {
  const { client, server } = await sdkHost({
    "tools/call": (call) => {
      const schema = { type: "object", properties: { name: { type: "string" } } };
      switch (call.params.name) {
        case "form":
          return (
            ask(call, "elicitation/create", { mode: "form", message: "?", requestedSchema: schema }) ??
            textReply("ok")
          );
        case "model":
          return ask(call, "sampling/createMessage", { messages: [], maxTokens: 5 }) ?? textReply("ok");
        default:
          return ask(call, "roots/list", {}) ?? textReply("ok");
      }
    },
  });
  const completion = {
    role: "assistant" as const,
    model: "m",
    content: { type: "text" as const, text: "hi" },
  };
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ann" } }));
  client.setRequestHandler(CreateMessageRequestSchema, () => completion);
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///a" }] }));
  for (const name of ["form", "model", "roots"]) {
    expect((await client.callTool({ name })).content).toMatchObject([{ text: "ok" }]);
  }
  const answers = server.port.calls.flatMap(({ inputResponses: given }) =>
    given === undefined ? [] : [given.responses.q],
  );
  expect(answers).toEqual([
    { action: "accept", content: { name: "Ann" } },
    completion,
    { roots: [{ uri: "file:///a" }] },
  ]);
});

test("it receives list_changed on the GET stream that it opens", async () => {
  const { client, server, hears } = await sdkHost({});
  await client.subscribeResource({ uri: "x:a" });
  server.port.publish({ kind: "list", list: "tools" });
  server.port.publish({ kind: "resource", uri: "x:a" });
  expect(await hears(2)).toMatchObject([
    { method: "notifications/tools/list_changed" },
    { method: "notifications/resources/updated", params: { uri: "x:a" } },
  ]);
});

test("it cancels exactly the call that it aborts", async () => {
  const pending = pendingHandler();
  const { client } = await sdkHost({
    "tools/call": (call) => (call.params.name === "slow" ? pending.handler(call) : textReply("quick")),
  });
  const giveUp = new AbortController();
  const slow = expect(
    client.callTool({ name: "slow" }, undefined, { signal: giveUp.signal }),
  ).rejects.toThrow();
  const call = await pending.called;
  const aborted = new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
  giveUp.abort("no longer wanted");
  await slow;
  await aborted;
  expect((await client.callTool({ name: "t" })).content).toMatchObject([{ text: "quick" }]);
});

test("whose connection is cut resumes its responses, and gets an error for the one that was evicted", async () => {
  const server = await edgeServer({ handlers: {}, introduction: { capabilities: CAPABILITIES } });
  const held = [pendingHandler(), pendingHandler()];
  Object.assign(server.port, {
    handle: (call: Call) => {
      const token = (call.params._meta as { progressToken?: unknown } | undefined)?.progressToken;
      call.notify({ method: "notifications/progress", params: { progressToken: token, progress: 1 } });
      return held[Number(call.params.name)]?.handler(call);
    },
  });
  const client = new Client({ name: "sdk", version: "1.32" });
  onTestFinished(() => client.close());
  /** Cuts the responses that are open. */
  const cuts: (() => void)[] = [];
  const gets: (string | null)[] = [];
  const cutting = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    if (init?.method === "GET") gets.push(new Headers(init.headers).get("last-event-id"));
    if (response.body === null || response.headers.get("content-type") !== "text/event-stream")
      return response;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const cut = new AbortController();
    if (init?.method === "POST") cuts.push(() => cut.abort(new Error("cut")));
    response.body.pipeTo(writable, { signal: cut.signal }).catch(() => {});
    return new Response(readable, { status: response.status, headers: response.headers });
  };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url), { fetch: cutting }) as Transport,
  );
  client.onerror = () => {};
  const outcomes = ["0", "1"].map((name) =>
    client.callTool({ name }, undefined, { onprogress: () => {} }).then(
      ({ content }) => content,
      (error: unknown) => error,
    ),
  );
  await Promise.all(held.map(({ called }) => called));
  while (cuts.length < 2) await new Promise(setImmediate);
  for (const cut of cuts) cut();
  for (const { answer } of held) answer(textReply("x".repeat(900_000)));
  expect(await Promise.all(outcomes)).toMatchObject([
    { code: -31_502, data: { cardea: { code: "outcome_unknown" } } },
    [{ type: "text" }],
  ]);
  // The first one reconnects because it counts results only, and is stopped.
  while (gets.filter((id) => id?.startsWith("call-")).length < 3) await new Promise(setImmediate);
  await client.ping();
  expect(gets.filter((id) => id === null)).toHaveLength(1);
});

describe.each([
  ["SDK 1.32", () => new Client({ name: "sdk", version: "1" }), StreamableHTTPClientTransport, [undefined]],
  [
    "SDK 2.4",
    () => new LaterClient({ name: "sdk", version: "2" }, { versionNegotiation: { mode: "legacy" } }),
    LaterTransport,
    [],
  ],
] as const)("%s, whose request is cancelled,", (_name, create, HostTransport, schema) => {
  test.each([
    ["before anything was said", false],
    ["after its stream was opened", true],
  ])("%s reconnects at most once, and continues", async (_when, notifies) => {
    const server = await edgeServer({ handlers: {}, introduction: { capabilities: CAPABILITIES } });
    const pending = pendingHandler();
    Object.assign(server.port, {
      handle: (call: Call) => {
        const token = (call.params._meta as { progressToken?: unknown } | undefined)?.progressToken;
        if (notifies)
          call.notify({ method: "notifications/progress", params: { progressToken: token, progress: 1 } });
        return pending.handler(call);
      },
    });
    /** The `Last-Event-ID` of each GET, and what it was answered with. */
    const gets: [string | null, number][] = [];
    let ended: Promise<unknown> | undefined;
    const watched = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const response = await fetch(url, init);
      if (init?.method === "GET")
        gets.push([new Headers(init.headers).get("last-event-id"), response.status]);
      if (String(init?.body).includes("tools/call")) ended = response.clone().text();
      return response;
    };
    const client = create();
    onTestFinished(() => client.close());
    await client.connect(new HostTransport(new URL(server.url), { fetch: watched }) as never);
    const errors: unknown[] = [];
    client.onerror = (error: unknown) => void errors.push(error);
    const giveUp = new AbortController();
    let heard = 0;
    const options = { signal: giveUp.signal, onprogress: () => void heard++ };
    // The older one takes a schema in between.
    const args = [{ name: "t" }, ...schema, options] as never as Parameters<Client["callTool"]>;
    const call = (client as Client).callTool(...args).catch(() => "cancelled");
    await pending.called;
    if (notifies) await until("the notice", () => heard === 1);
    giveUp.abort();
    expect(await call).toBe("cancelled");
    await until("the end of the request", () => ended !== undefined);
    expect(await ended).not.toContain('"id":');
    if (notifies) await until("the host to come back", () => gets.length === 2);
    for (let round = 0; round < 3; round += 1) await client.ping();
    expect(gets.slice(1)).toEqual(notifies ? [[expect.stringMatching(/^call-/), 204]] : []);
    expect(errors).toEqual([]);
  });
});
