/** The modern era on a pipe, where requests share one channel. */
import { expect, test } from "vitest";
import { ANONYMOUS } from "../../../src/core/client.js";
import { createModernEdge } from "../../../src/downstream/modern/edge.js";
import type { Envelope, MessageId } from "../../../src/wire/envelope.js";
import { parseJson } from "../../../src/wire/json-text.js";
import { META } from "../../../src/wire/names.js";
import { Payload } from "../../../src/wire/payload.js";
import { echo, type FakePort, fakePort, pendingHandler, textReply } from "../../support/fake-port.js";
import { modernMeta, modernRequest } from "../../support/http-host.js";

function piped(gateway: FakePort = fakePort()) {
  const sent: Envelope[] = [];
  const lines: string[] = [];
  const edge = createModernEdge({ gateway, gatewayInfo: { name: "cardea", version: "1" } }).pipe({
    principal: ANONYMOUS,
    endpoint: "files",
    send(text) {
      lines.push(text.toString());
      sent.push(JSON.parse(text.toString()) as Envelope);
    },
  });
  return { edge, sent, lines };
}

const request = (method: string, params: object = {}, id: MessageId = 1): Envelope => ({
  ...(JSON.parse(modernRequest(method, { ...params }).body) as Envelope),
  id,
});
const cancelled = (requestId: MessageId): Envelope => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});

test("a call is answered without any header", async () => {
  const port = fakePort({ handlers: { "tools/call": echo } });
  const { edge, sent } = piped(port);
  await edge.receive(request("tools/call", { name: "say" }, "a"));
  expect(sent).toMatchObject([
    { id: "a", result: { content: [{ text: "say {}" }], resultType: "complete" } },
  ]);
  expect(port.calls[0]?.client.endpoint).toBe("files");
});

test("requests run concurrently, and each receives its own progress before its response", async () => {
  const slow = pendingHandler();
  const port = fakePort({
    handlers: {
      "prompts/get": slow.handler,
      "tools/call": ({ notify }) => {
        notify({ method: "notifications/progress", params: { progressToken: "t", progress: 1 } });
        return textReply("quick");
      },
    },
  });
  const { edge, sent } = piped(port);
  const first = edge.receive(request("prompts/get", { name: "p" }, 1));
  await edge.receive(
    request("tools/call", { name: "say", _meta: { ...modernMeta(), progressToken: "t" } }, 2),
  );
  slow.answer(textReply("slow"));
  await first;
  expect(sent.map(({ id, method }) => id ?? method)).toEqual([2, 1]);
});

test("a cancelled call is aborted and never answered", async () => {
  const { handler, called, answer } = pendingHandler();
  const { edge, sent } = piped(fakePort({ handlers: { "tools/call": handler } }));
  const running = edge.receive(request("tools/call", { name: "say" }, 5));
  const { signal } = await called;
  await edge.receive(cancelled("5"));
  expect(signal.aborted).toBe(false);
  await edge.receive(cancelled(5));
  expect(signal.aborted).toBe(true);
  answer(textReply("late"));
  await running;
  expect(sent).toEqual([]);
});

test("an id beyond double precision is distinct from its neighbours, and can be cancelled", async () => {
  const [one, two] = [pendingHandler(), pendingHandler()];
  const handlers = { "prompts/get": one.handler, "tools/call": two.handler };
  const { edge, sent } = piped(fakePort({ handlers }));
  const exact = (source: string) => parseJson(source) as MessageId;
  void edge.receive(request("prompts/get", { name: "p" }, exact("9007199254740992")));
  void edge.receive(request("tools/call", { name: "say" }, exact("9007199254740993")));
  const [first, second] = [await one.called, await two.called];
  await edge.receive(request("tools/call", { name: "say" }, exact("9007199254740993.0")));
  expect(sent).toMatchObject([{ id: null, error: { code: -32600 } }]);
  await edge.receive(cancelled(exact("9007199254740994")));
  await edge.receive(cancelled("9007199254740993"));
  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, false]);
  await edge.receive(cancelled(exact("9007199254740993e0")));
  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, true]);
  await edge.close();
});

test("an id can be used again once its request is over, and not before", async () => {
  const { handler, called, answer } = pendingHandler();
  const { edge, sent } = piped(fakePort({ handlers: { "tools/call": handler } }));
  const running = edge.receive(request("tools/call", { name: "say" }, 1));
  await called;
  await edge.receive(request("tools/call", { name: "say" }, 1));
  // Under that id it would end the request that is running.
  expect(sent).toMatchObject([{ id: null, error: { code: -32600, message: expect.stringContaining("1") } }]);
  answer(textReply("one"));
  await running;
  await edge.receive(request("tools/call", { name: "say" }, 1));
  expect(sent.slice(1)).toMatchObject([{ result: {} }, { result: {} }]);
});

test("a subscription receives changes until it is cancelled, and then gets no response", async () => {
  const port = fakePort();
  const { edge, sent } = piped(port);
  await edge.receive(request("subscriptions/listen", { notifications: { toolsListChanged: true } }, 3));
  port.publish({ kind: "list", list: "tools" });
  await edge.receive(cancelled(3));
  port.publish({ kind: "list", list: "tools" });
  expect(sent.map(({ method }) => method)).toEqual([
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
  ]);
  for (const { params } of sent) expect(params).toMatchObject({ _meta: { [META.subscriptionId]: 3 } });
  expect(port.interests).toEqual([]);
});

test("closing answers subscriptions and aborts calls", async () => {
  const { handler, called } = pendingHandler();
  const { edge, sent } = piped(fakePort({ handlers: { "tools/call": handler } }));
  await edge.receive(request("subscriptions/listen", { notifications: {} }, 3));
  void edge.receive(request("tools/call", { name: "say" }, 4));
  const { signal } = await called;
  await edge.close();
  expect(signal.aborted).toBe(true);
  expect(sent.slice(1)).toMatchObject([{ id: 3, result: { resultType: "complete" } }]);
});

test("a message is one line, however its server wrote it", async () => {
  const pretty = JSON.stringify({ content: [{ type: "text", text: "a\nb" }] }, null, 2);
  const forms = [Payload.ofText(pretty), Payload.ofText(Buffer.from(pretty))];
  const { edge, lines, sent } = piped(
    fakePort({
      handlers: { "tools/call": () => ({ kind: "result", result: forms.pop() ?? Payload.ofObject({}) }) },
    }),
  );
  await edge.receive(request("tools/call", { name: "say" }, 1));
  await edge.receive(request("tools/call", { name: "say" }, 2));
  for (const line of lines) expect(line).not.toMatch(/[\r\n]/);
  for (const { result } of sent) expect(result).toMatchObject({ content: [{ text: "a\nb" }] });
});

test("a malformed request is an error, and anything else that is malformed is dropped", async () => {
  const { edge, sent } = piped();
  await edge.receive({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: {} } });
  await edge.receive({ jsonrpc: "2.0", id: 1, result: {} });
  await edge.receive({ jsonrpc: "2.0", method: "notifications/initialized" });
  await edge.receive({ jsonrpc: "2.0", method: "notifications/cancelled" });
  expect(sent).toMatchObject([{ id: 1, error: { code: -32602 } }]);
});

test("a thousand requests may be in flight; one more is refused, until one ends", async () => {
  const { edge, sent } = piped(
    fakePort({ handlers: { "tools/call": () => new Promise(() => {}), "prompts/get": echo } }),
  );
  for (let id = 1; id <= 1000; id += 1) void edge.receive(request("tools/call", { name: "say" }, id));
  await edge.receive(request("prompts/get", { name: "p" }, 1001));
  expect(sent).toMatchObject([
    { id: 1001, error: { data: { cardea: { code: "overloaded", retryable: true } } } },
  ]);
  await edge.receive(cancelled(7));
  await edge.receive(request("prompts/get", { name: "p" }, 1002));
  expect(sent[1]).toMatchObject({ id: 1002, result: {} });
  await edge.close();
});
