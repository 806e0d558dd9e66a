/** A host comes back for an event stream to a replica that has taken its session over, and has no event of it. */
import { describe, expect, test } from "vitest";
import type { SessionRecords, SessionState } from "../../../src/core/replicas.js";
import { awaitedText, newLogName, readEventId } from "../../../src/downstream/legacy/event-id.js";
import { type FakeHandler, pendingHandler, textReply } from "../../support/fake-port.js";
import fc from "../../support/fast-check.js";
import { Events, edgeServer, Host, type HostOptions } from "./support.js";

/** Records of sessions in memory, which any replica may take over at any time. */
function sharedRecords(): SessionRecords {
  const states = new Map<string, SessionState>();
  return {
    write: (id, state) => void states.set(id, state),
    mayAdopt: () => true,
    remove: (id) => void states.delete(id),
    release: () => {},
    move: async () => false,
    async adopt(id) {
      const state = states.get(id);
      return state && { ...state, from: "first" };
    },
  };
}

/** A host of one replica, and the same host once it has been sent to another one. */
async function moved(handler: FakeHandler, options: HostOptions = {}) {
  const records = sharedRecords();
  const port = { handlers: { "tools/call": handler } };
  const first = await edgeServer(port, { records, issuer: "first" });
  const second = await edgeServer(port, { records, issuer: "other" });
  const host = await first.host(options);
  return { host, adopted: new Host(second.url, host.headers, host.initialize) };
}

const callTool = (id: string | number, name = "t") => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, _meta: { progressToken: "p" } },
});

/** A tool that reports progress immediately, and ends on demand. */
function reporting() {
  const pending = pendingHandler();
  const handler: FakeHandler = (call) => {
    call.notify({ method: "notifications/progress", params: { progressToken: "p", progress: 1 } });
    return pending.handler(call);
  };
  return { handler, end: () => pending.answer(textReply("end")) };
}

const outcomeUnknown = (id: string | number) => ({
  id,
  error: { code: -31502, data: { cardea: { code: "outcome_unknown" } } },
});

describe("at a replica that has taken over the session", () => {
  test.each([1, "a-b c", -7, "ü".repeat(50)])(
    "the stream of the request %j ends with an error for it",
    async (id) => {
      const tool = reporting();
      const { host, adopted } = await moved(tool.handler);
      const lost = new Events(await host.open(callTool(id)));
      await lost.message();
      const ended = await adopted.listen({ "last-event-id": lost.lastId ?? "" });
      expect(await ended.rest()).toMatchObject([outcomeUnknown(id)]);
      expect((await adopted.get({ "last-event-id": ended.lastId ?? "" })).status).toBe(204);
      tool.end();
      await lost.rest();
    },
  );

  test("a stream whose response was read has ended", async () => {
    const tool = reporting();
    const { host, adopted } = await moved(tool.handler);
    const read = new Events(await host.open(callTool(1)));
    await read.message();
    tool.end();
    expect(await read.rest()).toMatchObject([{ id: 1, result: {} }]);
    expect((await adopted.get({ "last-event-id": read.lastId ?? "" })).status).toBe(204);
  });

  test("of a batch only the requests without a response get errors, though events were sent more than once", async () => {
    const tools = { one: reporting(), two: reporting(), three: reporting() };
    const { host, adopted } = await moved(
      (call) => tools[call.params.name as keyof typeof tools].handler(call),
      { version: "2025-03-26" },
    );
    const read = new Events(await host.open(Object.keys(tools).map((name) => callTool(name, name))));
    for (let at = 0; at < 3; at += 1) await read.message();
    const beforeAnswer = read.lastId ?? "";
    tools.two.end();
    expect(await read.message()).toMatchObject({ id: "two" });
    const again = await host.listen({ "last-event-id": beforeAnswer });
    expect(await again.message()).toMatchObject({ id: "two" });
    const ended = await adopted.listen({ "last-event-id": again.lastId ?? "" });
    expect(await ended.rest()).toMatchObject([outcomeUnknown("one"), outcomeUnknown("three")]);
    const all = await adopted.listen({ "last-event-id": beforeAnswer });
    expect(await all.rest()).toHaveLength(3);
    tools.one.end();
    tools.three.end();
    await again.rest();
  });

  test("a stream of the replica with the same number is not mistaken for the lost one", async () => {
    const tools = { mine: reporting(), lost: reporting() };
    const { host, adopted } = await moved((call) =>
      tools[call.params.name as keyof typeof tools].handler(call),
    );
    const lost = new Events(await host.open(callTool("lost", "lost")));
    await lost.message();
    const mine = new Events(await adopted.open(callTool("mine", "mine")));
    await mine.message();
    const ended = await adopted.listen({ "last-event-id": lost.lastId ?? "" });
    expect(await ended.rest()).toMatchObject([outcomeUnknown("lost")]);
    for (const tool of Object.values(tools)) tool.end();
    expect(await mine.rest()).toMatchObject([{ id: "mine", result: {} }]);
    await lost.rest();
  });

  test("a GET stream starts again", async () => {
    const { host, adopted } = await moved(textReplyAtOnce);
    const events = await host.listen();
    await events.event();
    const next = await adopted.listen({ "last-event-id": events.lastId ?? "" });
    expect((await next.event())?.data).toBe("");
    await events.cancel();
    await next.cancel();
  });

  test("a stream whose requests are too long to be encoded is unknown", async () => {
    const tool = reporting();
    const { host, adopted } = await moved(tool.handler);
    const lost = new Events(await host.open(callTool("x".repeat(2000))));
    await lost.message();
    expect((await adopted.get({ "last-event-id": lost.lastId ?? "" })).status).toBe(400);
    tool.end();
    await lost.rest();
  });
});

const textReplyAtOnce: FakeHandler = async () => textReply("now");

describe("the id of an event", () => {
  const name = fc.constant(newLogName());
  const ids = fc.array(fc.oneof(fc.string(), fc.maxSafeInteger()), { maxLength: 20 });

  test("encodes its stream, its position in it, and the unanswered requests", () => {
    fc.assert(
      fc.property(fc.constantFrom("call", "general"), fc.nat(), fc.nat(), name, ids, (...parts) => {
        const [kind, stream, seq, log, awaited] = parts;
        const end = awaitedText(awaited);
        const read = readEventId(`${kind}-${stream}-${seq}-${log}${end}`);
        expect(read).toEqual({ kind, stream, seq, log, awaited: end === "-" ? undefined : awaited });
      }),
    );
  });

  test("of an earlier version names no log and no requests", () => {
    expect(readEventId("call-3-4")).toEqual({ kind: "call", stream: 3, seq: 4, awaited: undefined });
  });

  test("is read whatever it is, and never as a list of what cannot be ids", () => {
    const end = fc.oneof(
      fc.string(),
      fc.json().map((text) => Buffer.from(text).toString("base64url")),
    );
    fc.assert(
      fc.property(name, end, (log, text) => {
        const awaited = readEventId(`call-1-2-${log}-${text}`)?.awaited ?? [];
        for (const id of awaited) expect(["string", "number", "object"]).toContain(typeof id);
      }),
    );
  });
});

test("a host that disconnects before its session is taken over takes no place among the streams", async () => {
  const records = sharedRecords();
  let [onAsked, adopt] = [() => {}, () => {}];
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  const adoptable = new Promise<void>((resolve) => {
    adopt = resolve;
  });
  let open = 0;
  const acquire = () => {
    open += 1;
    return () => {
      open -= 1;
    };
  };
  const first = await edgeServer({}, { records, issuer: "first" });
  const slow: SessionRecords = {
    ...records,
    async adopt(...about) {
      onAsked();
      await adoptable;
      return records.adopt(...about);
    },
  };
  const second = await edgeServer({}, { records: slow, issuer: "other", streamQuota: { acquire } });
  const host = await first.host();
  const leave = new AbortController();
  const stream = new Host(second.url, host.headers, host.initialize).get({}, leave.signal).catch(() => {});
  await asked;
  leave.abort();
  await stream;
  const other = await second.host();
  await other.request("ping");
  adopt();
  await other.request("ping");
  await expect.poll(() => open).toBe(0);
});
