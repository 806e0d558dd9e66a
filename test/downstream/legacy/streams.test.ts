/** Event streams of legacy hosts: how they open, how they are lost, and what is sent again. */
import { describe, expect, test } from "vitest";
import { type FakeHandler, pendingHandler, textReply } from "../../support/fake-port.js";
import { until } from "../../support/until.js";
import { type Answer, Events, edgeHost, edgeServer, type Message } from "./support.js";

const callTool = (id: string | number) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "t", _meta: { progressToken: "p" } },
});

/** A tool that reports progress on demand, and ends on demand. */
function steps() {
  const pending = pendingHandler();
  const step = async (value: number) => {
    const call = await pending.called;
    call.notify({ method: "notifications/progress", params: { progressToken: "p", progress: value } });
  };
  return {
    handler: pending.handler satisfies FakeHandler,
    step,
    end: (text = "end") => pending.answer(textReply(text)),
  };
}

const progressOf = (messages: readonly Message[]) => messages.map(({ params, id }) => params?.progress ?? id);

describe("the stream of a POST", () => {
  test("opens with an event without data, an id to resume from and a time to wait, since 2025-11-25", async () => {
    const tool = steps();
    const { host } = await edgeHost({ handlers: { "tools/call": tool.handler } });
    const response = host.open(callTool(1));
    await tool.step(1);
    const events = new Events(await response);
    const first = await events.event();
    expect(first).toMatchObject({ data: "" });
    expect(first?.id).toBeDefined();
    expect(events.retry).toBe(1000);
    tool.end();
    expect(progressOf(await events.rest())).toEqual([1, 1]);
  });

  test("has no event without data for older hosts, which would try to read it as JSON", async () => {
    const tool = steps();
    const { host } = await edgeHost({ handlers: { "tools/call": tool.handler } }, { version: "2025-06-18" });
    const response = host.open(callTool(1));
    await tool.step(1);
    const events = new Events(await response);
    expect((await events.event())?.data).toContain("progress");
    expect(events.retry).toBeUndefined();
    expect(events.lastId).toBeDefined();
    tool.end();
    await events.rest();
  });

  test("is no cancel when it drops: the call continues, and GET with Last-Event-ID resumes the rest", async () => {
    const tool = steps();
    const { server, host } = await edgeHost({ handlers: { "tools/call": tool.handler } });
    const response = host.open(callTool(1));
    await tool.step(1);
    const lost = new Events(await response);
    expect(await lost.message()).toMatchObject({ params: { progress: 1 } });
    await lost.cancel();
    await tool.step(2);
    tool.end();
    expect(server.port.calls[0]?.signal.aborted).toBe(false);
    const resumed = await host.listen({ "last-event-id": lost.lastId ?? "" });
    expect(progressOf(await resumed.rest())).toEqual([2, 1]);
    // There is no use in coming back again.
    expect((await host.get({ "last-event-id": resumed.lastId ?? "" })).status).toBe(204);
  });

  test("that was too large to be kept ends at its resumption with an error for its request", async () => {
    const tools = [steps(), steps()];
    const handler: FakeHandler = (call) =>
      (tools[Number(call.params.name)] as ReturnType<typeof steps>).handler(call);
    let closed = 0;
    const { server, host } = await edgeHost(
      { handlers: { "tools/call": handler } },
      {},
      {
        hooks: {
          streamClosed: () => {
            closed += 1;
          },
        },
      },
    );
    const lost = await Promise.all(
      tools.map(async (tool, index) => {
        const response = host.open({
          ...callTool(`call-${index}`),
          params: { ...callTool(0).params, name: `${index}` },
        });
        await tool.step(1);
        const events = new Events(await response);
        await events.message();
        await events.cancel();
        return events.lastId ?? "";
      }),
    );
    await until("both to be gone", () => closed === 2);
    for (const tool of tools) tool.end("x".repeat(900_000));
    await until("both to be answered", () => server.edge.sessions()[0]?.inFlight === 0);
    const resumed = await Promise.all(
      lost.map(async (id) => (await host.listen({ "last-event-id": id })).rest()),
    );
    expect(resumed).toMatchObject([
      [{ id: "call-0", error: { code: -31502, data: { cardea: { code: "outcome_unknown" } } } }],
      [{ id: "call-1", result: {} }],
    ]);
  });

  test("keeps its response while other calls fill the buffer", async () => {
    const [quiet, loud] = [steps(), steps()];
    const handler: FakeHandler = (call) => (call.params.name === "loud" ? loud : quiet).handler(call);
    const { server, host } = await edgeHost({ handlers: { "tools/call": handler } });
    const response = host.open(callTool("quiet"));
    await quiet.step(1);
    const lost = new Events(await response);
    await lost.message();
    await lost.cancel();
    quiet.end("y".repeat(1000));
    await until("the answer", () => server.edge.sessions()[0]?.inFlight === 0);
    const other = host.open({ ...callTool("loud"), params: { ...callTool(0).params, name: "loud" } });
    for (let step = 1; step <= 2000; step += 1) await loud.step(step);
    loud.end();
    await new Events(await other).rest();
    const resumed = await host.listen({ "last-event-id": lost.lastId ?? "" });
    expect(await resumed.rest()).toMatchObject([{ id: "quiet", result: {} }]);
  });

  test("that has been evicted ends with an error for its request too", async () => {
    const server = await edgeServer({
      handlers: { "tools/call": (call) => (call.params.name === "first" ? firstOf(call) : other(call)) },
    });
    const first = steps();
    const firstOf = first.handler;
    const other: FakeHandler = (call) => {
      call.notify({ method: "notifications/progress", params: { progressToken: "p", progress: 1 } });
      return textReply("end");
    };
    const host = await server.host();
    const response = host.open({ ...callTool("first"), params: { ...callTool(0).params, name: "first" } });
    await first.step(1);
    const lost = new Events(await response);
    await lost.message();
    await lost.cancel();
    first.end();
    await until("the answer", () => server.edge.sessions()[0]?.inFlight === 0);
    for (let id = 0; id < 20; id += 1) await new Events(await host.open(callTool(id))).rest();
    const resumed = await host.listen({ "last-event-id": lost.lastId ?? "" });
    expect(await resumed.rest()).toMatchObject([
      { id: "first", error: { data: { cardea: { code: "outcome_unknown" } } } },
    ]);
  });

  test("that was cancelled ends without a response, and there is no use in coming back for one", async () => {
    const tool = steps();
    const { host } = await edgeHost({ handlers: { "tools/call": tool.handler } });
    const response = host.open(callTool(1));
    await tool.step(1);
    const events = new Events(await response);
    await host.notify("notifications/cancelled", { requestId: 1 });
    expect(progressOf(await events.rest())).toEqual([1]);
    expect((await host.get({ "last-event-id": events.lastId ?? "" })).status).toBe(204);
  });

  test("can be resumed while the call still runs, and continues there", async () => {
    const tool = steps();
    const { host } = await edgeHost({ handlers: { "tools/call": tool.handler } });
    const response = host.open(callTool(1));
    await tool.step(1);
    const lost = new Events(await response);
    await lost.message();
    const resumed = await host.listen({ "last-event-id": lost.lastId ?? "" });
    await tool.step(2);
    expect(await resumed.message()).toMatchObject({ params: { progress: 2 } });
    // The old connection was cancelled for the new one: no message comes on both.
    expect(await lost.rest()).toEqual([]);
    tool.end();
    expect(progressOf(await resumed.rest())).toEqual([1]);
  });

  test("is resumed from any of its events, also from the one without data", async () => {
    const tool = steps();
    const { host } = await edgeHost({ handlers: { "tools/call": tool.handler } });
    const response = host.open(callTool(1));
    await tool.step(1);
    const whole = new Events(await response);
    const ids: string[] = [];
    await tool.step(2);
    tool.end();
    for (let event = await whole.event(); event !== undefined; event = await whole.event())
      ids.push(event.id ?? "");
    expect((await host.get({ "last-event-id": ids.pop() ?? "" })).status).toBe(204);
    const rests = await Promise.all(
      ids.map(async (id) => progressOf(await (await host.listen({ "last-event-id": id })).rest())),
    );
    expect(rests).toEqual([[1, 2, 1], [2, 1], [1]]);
  });

  test("is never replayed to another session: its event id is unknown there", async () => {
    const tool = steps();
    const server = await edgeServer({ handlers: { "tools/call": tool.handler } });
    const [host, thief] = [await server.host(), await server.host()];
    const response = host.open(callTool(1));
    await tool.step(1);
    const events = new Events(await response);
    await events.message();
    for (const id of [events.lastId ?? "", "call-999-1", "nonsense", "1", "call--1--1"]) {
      expect((await thief.get({ "last-event-id": id })).status).toBe(400);
    }
    tool.end();
    await events.rest();
  });

  test("keeps quiet readers with comments, which are no events", async () => {
    const tool = steps();
    const { host } = await edgeHost(
      { handlers: { "tools/call": tool.handler } },
      { version: "2025-06-18" },
      { keepAliveMs: 5 },
    );
    const response = await host.open(callTool(1));
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toMatch(/^(:[^\n]*\n\n)+$/);
    tool.end();
    await reader?.cancel();
  });
});

describe("GET streams", () => {
  const changed = { kind: "list", list: "tools" } as const;

  test("receive what belongs to no call", async () => {
    const { server, host } = await edgeHost();
    const events = await host.listen();
    server.port.publish(changed);
    expect(await events.message()).toEqual({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    await events.cancel();
  });

  test("several of one session share the messages: each comes on one of them only", async () => {
    const { server, host } = await edgeHost();
    const [one, two] = [await host.listen(), await host.listen()];
    server.port.publish(changed);
    server.port.publish(changed);
    await host.delete();
    const counts = [await one.rest(), await two.rest()].map(({ length }) => length);
    expect(new Set(counts)).toEqual(new Set([0, 2]));
  });

  test("list changes before the first stream opened are sent then, and each once", async () => {
    const { server, host } = await edgeHost();
    server.port.publish(changed);
    server.port.publish(changed);
    const events = await host.listen();
    await host.delete();
    expect(await events.rest()).toHaveLength(1);
  });

  test("one that was lost is resumed with what it missed, and what came since", async () => {
    let drop = () => {};
    const dropped = new Promise<void>((resolve) => {
      drop = resolve;
    });
    const { server, host } = await edgeHost({}, {}, { hooks: { streamClosed: () => drop() } });
    const lost = await host.listen();
    server.port.publish(changed);
    await lost.message();
    const seen = lost.lastId ?? "";
    server.port.publish(changed);
    await lost.message();
    await lost.cancel();
    await dropped;
    server.port.publish(changed);
    const resumed = await host.listen({ "last-event-id": seen });
    await host.delete();
    expect(await resumed.rest()).toHaveLength(2);
  });

  test("one whose events were evicted starts a new stream, so that its host keeps receiving", async () => {
    const { server, host } = await edgeHost();
    const events = await host.listen({ "last-event-id": "general-999-7" });
    server.port.publish(changed);
    expect(await events.message()).toMatchObject({ method: "notifications/tools/list_changed" });
    await events.cancel();
  });

  test("a further one than are allowed ends the oldest", async () => {
    const { host } = await edgeHost();
    const first = await host.listen();
    const others: Events[] = [];
    for (let i = 0; i < 8; i += 1) others.push(await host.listen());
    expect(await first.rest()).toEqual([]);
    await host.delete();
    await Promise.all(others.map((events) => events.rest()));
  });

  test("all end with the session, and with the edge", async () => {
    const server = await edgeServer();
    const [one, two] = [await server.host(), await server.host()];
    const [first, second] = [await one.listen(), await two.listen()];
    const gone: Answer = await one.delete();
    expect(gone.status).toBe(204);
    expect(await first.rest()).toEqual([]);
    await server.edge.close();
    expect(await second.rest()).toEqual([]);
    expect(server.port.forgotten).toEqual([one.sessionId, two.sessionId]);
  });
});
