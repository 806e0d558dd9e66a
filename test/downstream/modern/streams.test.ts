/** Notifications before the response, and cancellation. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import type { Call } from "../../../src/core/call.js";
import { META } from "../../../src/wire/names.js";
import { Payload } from "../../../src/wire/payload.js";
import { fakePort, pendingHandler, resultReply, textReply } from "../../support/fake-port.js";
import { givenUp } from "../../support/given-up.js";
import { modernRequest, open, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

const PRETTY = Payload.ofText(
  Buffer.from(JSON.stringify({ content: [{ type: "text", text: "a\nb" }] }, null, 2)),
);
const call = modernRequest("tools/call", { name: "work" }, { id: 9, meta: { progressToken: "mine" } });

/** A tool that says all of this and then answers. */
const saying = (speak: (call: Call) => void) =>
  fakePort({
    handlers: {
      "tools/call": (call) => {
        speak(call);
        return textReply("done");
      },
    },
  });

const progress = (progressToken: unknown, progress = 1) => ({
  method: "notifications/progress",
  params: { progressToken, progress, total: 2, vendor: "kept" },
});
const message = (level: string) => ({ method: "notifications/message", params: { level, data: level } });

test("progress turns the answer into a stream that ends with it", async () => {
  const { url } = await listening({ gateway: saying(({ notify }) => notify(progress("mine"))) });
  const answer = await send(url, call);
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({ "content-type": "text/event-stream", "x-accel-buffering": "no" });
  expect(answer.events()).toMatchObject([
    { jsonrpc: "2.0", method: "notifications/progress", params: progress("mine").params },
    { jsonrpc: "2.0", id: 9, result: { content: [{ text: "done" }], resultType: "complete" } },
  ]);
});

test("progress of another token is not sent, nor of its own in another JSON type", async () => {
  const gateway = saying(({ notify }) => {
    for (const token of ["other", undefined, 7]) notify(progress(token));
  });
  const { url } = await listening({ gateway });
  for (const token of ["mine", "7"]) {
    const request = modernRequest("tools/call", { name: "work" }, { meta: { progressToken: token } });
    expect((await send(url, request)).headers["content-type"]).toBe("application/json");
  }
});

test("log messages are sent at the requested level and above, and not at all without one", async () => {
  const gateway = saying(({ notify }) => {
    for (const level of ["debug", "info", "warning", "emergency", "loud"]) notify(message(level));
  });
  const { url } = await listening({ gateway });
  const asking = modernRequest("tools/call", { name: "work" }, { meta: { [META.logLevel]: "warning" } });
  const heard = (await send(url, asking))
    .events()
    .map((event) => (event.params as { level?: string })?.level);
  expect(heard).toEqual(["warning", "emergency", undefined]);
  expect((await send(url, call)).headers["content-type"]).toBe("application/json");
});

test("what belongs on other streams is kept away, what no revision defines passes", async () => {
  const gateway = saying(({ notify }) => {
    notify({ method: "notifications/tools/list_changed" });
    notify({ method: "notifications/resources/updated", params: { uri: "a:b" } });
    notify({ method: "notifications/cancelled", params: { requestId: 9 } });
    notify({ method: "notifications/com.example/thought", params: { deep: true } });
  });
  const { url } = await listening({ gateway });
  const heard = (await send(url, call)).events().map((event) => event.method ?? "answer");
  expect(heard).toEqual(["notifications/com.example/thought", "answer"]);
});

test("nothing is sent after the response", async () => {
  let late: Call | undefined;
  const { url } = await listening({ gateway: saying((call) => (late = call)) });
  const answer = await send(url, call);
  late?.notify(progress("mine"));
  expect(answer.headers["content-type"]).toBe("application/json");
});

test("an error after progress ends the stream", async () => {
  const gateway = fakePort({
    handlers: {
      "tools/call": ({ notify }) => {
        notify(progress("mine"));
        throw new Error("a secret of the inside");
      },
    },
  });
  const { url } = await listening({ gateway });
  const events = (await send(url, call)).events();
  expect(events[1]).toMatchObject({ id: 9, error: { code: -32603 } });
  expect(JSON.stringify(events)).not.toContain("secret");
});

test("text with line breaks between its tokens is one event", async () => {
  const gateway = fakePort({
    handlers: {
      "tools/call": ({ notify }) => {
        notify(progress("mine"));
        return { kind: "result", result: PRETTY };
      },
    },
  });
  const { url } = await listening({ gateway });
  const answer = await send(url, call);
  expect(answer.text.split("\n\n").filter((event) => event !== "")).toHaveLength(2);
  expect(answer.events()[1]).toMatchObject({ result: { content: [{ text: "a\nb" }] } });
});

test("a quiet call becomes an event stream with keep-alive comments", async () => {
  const { handler, called, answer } = pendingHandler();
  const { url } = await listening({
    gateway: fakePort({ handlers: { "tools/call": handler } }),
    edge: { keepAliveMs: 5 },
  });
  const response = open(url, call);
  await called;
  const stream = (await response).setEncoding("utf8");
  const [first] = (await once(stream, "data")) as [string];
  expect(first).toMatch(/^:\n\n/);
  answer(textReply("late"));
  const rest = (await stream.toArray()).join("");
  expect(rest).toContain('"text":"late"');
});

test("a client that closes its stream has cancelled its call, and no other", async () => {
  const first = pendingHandler();
  const second = pendingHandler();
  const gateway = fakePort({ handlers: { "tools/call": first.handler, "prompts/get": second.handler } });
  const { url } = await listening({ gateway, edge: { keepAliveMs: 5 } });
  const gone = open(url, call);
  const stays = send(url, modernRequest("prompts/get", { name: "p" }));
  const [cancelled, other] = await Promise.all([first.called, second.called]);
  (await gone).destroy();
  await givenUp(cancelled.signal);
  expect(cancelled.signal.reason).toMatchObject({ code: "cancelled", source: "downstream" });
  expect(other.signal.aborted).toBe(false);
  first.answer(textReply("nobody reads this"));
  second.answer(resultReply({ messages: [] }));
  expect((await stays).status).toBe(200);
});

test("a client that goes away before any head of an answer has cancelled too", async () => {
  const { handler, called } = pendingHandler();
  const { port } = await listening({ gateway: fakePort({ handlers: { "tools/call": handler } }) });
  const socket = connect(port, "127.0.0.1");
  const lines = Object.entries(call.headers ?? {}).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${call.body.length}\r\n${lines.join("")}\r\n${call.body}`,
  );
  const { signal } = await called;
  socket.destroy();
  await givenUp(signal);
});

test("an answered call is not cancelled by the connection that closes after it", async () => {
  let answered: Call | undefined;
  const { url } = await listening({ gateway: saying((call) => (answered = call)) });
  await send(url, call);
  expect(answered?.signal.aborted).toBe(false);
});

test("a reader that leaves more than its budget unread is cut off, and its call cancelled", async () => {
  const { handler, called, answer } = pendingHandler();
  const counted: string[] = [];
  const { url } = await listening({
    gateway: fakePort({ handlers: { "tools/call": handler } }),
    edge: {
      limits: { streamBytes: 10_000 },
      onStreamCount: (kind, change) => counted.push(`${kind} ${change}`),
    },
  });
  const response = open(url, call);
  const { notify, signal } = await called;
  const aborted = givenUp(signal);
  const big = {
    method: "notifications/progress",
    params: { progressToken: "mine", pad: "x".repeat(1_000_000) },
  };
  notify(big);
  const stream = await response;
  // More than any socket buffer takes, so that the rest must wait in this process.
  for (let i = 0; i < 40; i++) notify(big);
  await aborted;
  await expect(stream.toArray()).rejects.toThrow(/aborted/);
  answer(textReply("nobody reads this"));
  expect(counted).toEqual(["response 1", "response -1"]);
});

test("notifications over HTTP are taken, and responses are not", async () => {
  const { url } = await listening();
  const { headers } = modernRequest("x");
  const note = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}';
  const taken = await send(url, { ...(headers && { headers }), body: note });
  expect([taken.status, taken.text]).toEqual([202, ""]);
  const response = await send(url, {
    ...(headers && { headers }),
    body: '{"jsonrpc":"2.0","id":1,"result":{}}',
  });
  expect([response.status, response.json().error]).toMatchObject([400, { code: -32600 }]);
});
