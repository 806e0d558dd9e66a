/** Tasks through the front of the gateway: who gets which handle, and where what is asked by it ends up. */
import { createSecretKey } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import type { Call, Notice, Reply } from "../../src/core/call.js";
import type { Client } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import { Tasks } from "../../src/routing/tasks.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../../src/wire/json.js";
import { server, tool } from "../catalog/support.js";
import { fakeTime, settle } from "../support/fake-time.js";
import {
  type FakeUpstream,
  fakeCall,
  fakeClient,
  fakeUpstream,
  resultReply,
} from "../support/fake-upstream.js";
import { errorOf, type Front, frontOf, received, resultOf } from "./support.js";

fakeTime();
const TIMES = { ttl: null, createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:00Z" };

const EXTENSION = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const EXPERIMENT = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
const RELATED = "io.modelcontextprotocol/related-task";
const lists = { tools: [tool("compute"), tool("greet")] };

/** A server that begins tasks as an extension does it. */
const modern = (name: string): FakeUpstream =>
  fakeUpstream(name, { capabilities: { tools: {}, ...EXTENSION }, lists }).answers((call) =>
    resultReply(
      call.method === "tools/call"
        ? { resultType: "task", taskId: "t-1", status: "working" }
        : { resultType: "complete", taskId: call.params.taskId, status: "working" },
    ),
  );

/** A server that begins tasks when it is asked to. */
const legacy = (name: string): FakeUpstream =>
  fakeUpstream(name, { capabilities: { tools: {}, ...EXPERIMENT }, lists }).answers((call) => {
    if (call.method === "tasks/result") {
      return resultReply({ content: [], _meta: { [RELATED]: { taskId: call.params.taskId } } });
    }
    if (call.method !== "tools/call") return resultReply({ taskId: call.params.taskId, status: "working" });
    return resultReply(
      isObject(call.params.task) ? { task: { taskId: "t-1", status: "working" } } : { content: [] },
    );
  });

const session = (over: Partial<Client> = {}): Client =>
  fakeClient({ session: true, affinity: "s1", ...over });

async function handleOf(reply: Promise<Reply>): Promise<string> {
  const result = resultOf(await reply);
  const { taskId } = isObject(result.task) ? result.task : result;
  return String(taskId);
}

const begin = ({ handle }: Front, name: string, over: Partial<Call> = {}): Promise<string> =>
  handleOf(handle(fakeCall("tools/call", { name, ...(over.client?.session && { task: {} }) }, over)));

describe("a task as an extension has it", () => {
  test("has a handle per server, and requests go to that server under its own id", async () => {
    const [one, two] = [modern("one"), modern("two")];
    const front = frontOf([one, two]);
    await settle();
    const [first, second] = [await begin(front, "one__compute"), await begin(front, "two__compute")];
    expect(new Set([first, second, "t-1"]).size).toBe(3);
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const reply = await front.handle(fakeCall(method, { taskId: second, inputResponses: { a: 1 } }));
      expect(resultOf(reply)).toEqual({ resultType: "complete", taskId: second, status: "working" });
      expect(received(two)).toEqual({ method, params: { taskId: "t-1", inputResponses: { a: 1 } } });
    }
    expect(one.calls).toHaveLength(1);
  });

  test.each([
    ["was never given out", async () => "t-1"],
    [
      "was tampered with",
      async (handle: string) => `${handle.slice(0, -1)}${handle.endsWith("A") ? "B" : "A"}`,
    ],
    ["is empty", async () => ""],
  ])("is unknown by a handle that %s", async (_, spoil) => {
    const one = modern("one");
    const front = frontOf([one, modern("two")]);
    await settle();
    const handle = await spoil(await begin(front, "one__compute"));
    const reply = await front.handle(fakeCall("tasks/get", { taskId: handle }));
    expect(errorOf(reply)).toMatchObject({ code: -32602, message: "there is no such task" });
    expect(one.calls).toHaveLength(1);
  });

  test.each([
    ["another principal", { principal: { id: "eve", groups: [], claims: {} } }],
    ["another part of the gateway", { endpoint: "one" }],
    ["a client of another kind", { session: true }],
  ])("is unknown to %s, in the same words", async (_, over) => {
    const one = modern("one");
    const front = frontOf([one, modern("two")]);
    await settle();
    const taskId = await begin(front, "one__compute");
    const stolen = await front.handle(fakeCall("tasks/get", { taskId }, { client: fakeClient(over) }));
    expect(errorOf(stolen)).toMatchObject({ code: -32602, message: "there is no such task" });
    expect(one.calls).toHaveLength(1);
  });

  test("is the same principal's in another session, and after its tool has gone from the list", async () => {
    const one = modern("one");
    const front = frontOf([one, modern("two")]);
    await settle();
    const taskId = await begin(front, "one__compute");
    one.setList("tools", []);
    one.listChanged("tools");
    await vi.advanceTimersByTimeAsync(100);
    const client = fakeClient({ affinity: "elsewhere" });
    expect(resultOf(await front.handle(fakeCall("tasks/get", { taskId }, { client }))).taskId).toBe(taskId);
  });

  test("leads a poll to its tool, so that log, metrics and rules see its name", async () => {
    const one = modern("one");
    const front = frontOf([one, modern("two")], {
      servers: [server("one", { prefix: "first" }), server("two")],
    });
    await settle();
    const taskId = await begin(front, "first__compute");
    await front.handle(fakeCall("tasks/get", { taskId }));
    expect(one.calls.at(-1)?.route).toMatchObject({
      upstream: "one",
      target: "compute",
      exposed: "first__compute",
    });
  });

  test("keeps its result's resources readable, and everything else of it as it is", async () => {
    const one = modern("one");
    const front = frontOf([one, modern("two")]);
    await settle();
    const taskId = await begin(front, "one__compute");
    const content = [{ type: "resource_link", uri: "file:///a", name: "a" }];
    one.answers(() =>
      resultReply({ taskId: "t-1", status: "completed", result: { content }, "x-new": { taskId: "t-1" } }),
    );
    expect(resultOf(await front.handle(fakeCall("tasks/get", { taskId })))).toEqual({
      taskId,
      status: "completed",
      result: { content: [{ ...content[0], uri: "one+file:///a" }] },
      "x-new": { taskId: "t-1" },
    });
  });

  test("is not recognised in a result that only resembles one", async () => {
    const result = { content: [], taskId: "mine", task: { taskId: "mine" }, resultType: "complete" };
    const one = modern("one").answers(() => resultReply(result));
    const front = frontOf([one, modern("two")]);
    await settle();
    expect(resultOf(await front.handle(fakeCall("tools/call", { name: "one__compute" })))).toEqual(result);
  });
});

describe("a task that a client asks for", () => {
  test("is renamed wherever it occurs", async () => {
    const one = legacy("one");
    const front = frontOf([one, legacy("two")]);
    await settle();
    const client = session();
    const taskId = await begin(front, "one__compute", { client });
    expect(received(one)?.params).toEqual({ name: "compute", task: {} });
    expect(resultOf(await front.handle(fakeCall("tasks/get", { taskId }, { client }))).taskId).toBe(taskId);
    expect(resultOf(await front.handle(fakeCall("tasks/cancel", { taskId }, { client }))).taskId).toBe(
      taskId,
    );
    expect(resultOf(await front.handle(fakeCall("tasks/result", { taskId }, { client })))).toEqual({
      content: [],
      _meta: { [RELATED]: { taskId } },
    });
    expect(received(one)).toEqual({ method: "tasks/result", params: { taskId: "t-1" } });
  });

  test("is renamed in questions and notifications while its result is pending", async () => {
    const meta = (taskId: string) => ({ _meta: { [RELATED]: { taskId }, "x-more": 1 } });
    const one = legacy("one");
    const front = frontOf([one, legacy("two")]);
    await settle();
    const client = session();
    const taskId = await begin(front, "one__compute", { client });
    const question = (id: string) => ({
      method: "elicitation/create",
      params: { message: "?", ...meta(id) },
    });
    one.answers((call) => {
      call.notify({ method: "notifications/message", params: { data: "x", ...meta("t-1") } });
      return {
        kind: "input_required",
        requests: { a: question("t-1"), b: { method: "roots/list" } },
        state: { server: "s" },
      };
    });
    const heard: Notice[] = [];
    const reply = await front.handle(
      fakeCall("tasks/result", { taskId }, { client, notify: (notice) => heard.push(notice) }),
    );
    expect(reply).toEqual({
      kind: "input_required",
      requests: { a: question(taskId), b: { method: "roots/list" } },
      state: { server: "s" },
    });
    expect(heard).toEqual([{ method: "notifications/message", params: { data: "x", ...meta(taskId) } }]);
  });

  test("is not requested from a server without tasks, whatever others advertise", async () => {
    const plain = fakeUpstream("plain", { capabilities: { tools: {} }, lists });
    const front = frontOf([legacy("one"), plain, modern("new")]);
    await settle();
    await front.handle(fakeCall("tools/call", { name: "plain__greet", task: {} }, { client: session() }));
    expect(received(plain)?.params).toEqual({ name: "greet" });
    const reply = await front.handle(fakeCall("tools/call", { name: "one__greet" }, { client: session() }));
    expect(resultOf(reply)).toEqual({ content: [] });
  });
});

describe("the list of tasks", () => {
  const listing = (name: string, ...pages: readonly (readonly string[])[]): FakeUpstream => {
    const upstream = legacy(name);
    return upstream.answers((call) => {
      if (call.method === "tools/call")
        return resultReply({ task: { taskId: stringAt(objectAt(call.params, "arguments"), "id") } });
      const at = call.params.cursor === undefined ? 0 : Number(call.params.cursor);
      const next = at + 1 < pages.length ? { nextCursor: String(at + 1) } : {};
      return resultReply({
        tasks: (pages[at] ?? []).map((taskId) => ({ taskId, status: "working", ...TIMES })),
        ...next,
      });
    });
  };
  const ids = (result: JsonObject): readonly unknown[] =>
    (result.tasks as readonly JsonObject[]).map(({ taskId }) => taskId);
  const beginAs = ({ handle }: Front, name: string, id: string, client: Client) =>
    handleOf(handle(fakeCall("tools/call", { name, task: {}, arguments: { id } }, { client })));
  const list = async ({ handle }: Front, client: Client, params: JsonObject = {}): Promise<JsonObject> =>
    resultOf(await handle(fakeCall("tasks/list", params, { client })));

  test("is that of all servers, page after page, with what the client began and under the handles it has", async () => {
    const front = frontOf([listing("one", ["a", "x"], ["b"]), modern("new"), listing("two", ["a"])]);
    await settle();
    const client = session();
    const begun = [
      await beginAs(front, "one__compute", "a", client),
      await beginAs(front, "one__compute", "b", client),
      await beginAs(front, "two__compute", "a", client),
    ];
    expect(await list(front, client)).toEqual({
      tasks: begun.map((taskId) => ({ taskId, status: "working", ...TIMES })),
    });
  });

  test("leaves out what hosts cannot read, and nothing else", async () => {
    const odd = legacy("odd").answers((call) => {
      if (call.method === "tools/call") return resultReply({ task: { taskId: "a" } });
      const whole = { taskId: "a", status: "working", ...TIMES };
      return resultReply({
        tasks: [null, { ...whole, status: "lost" }, { ...whole, ttl: "1h" }, { ...whole, "x-more": 1 }],
      });
    });
    const front = frontOf([odd, listing("two", ["b"])]);
    await settle();
    const client = session();
    const own = await beginAs(front, "odd__compute", "a", client);
    const other = await beginAs(front, "two__compute", "b", client);
    const { tasks } = await list(front, client);
    expect(tasks).toEqual([
      { taskId: own, status: "working", ...TIMES, "x-more": 1 },
      { taskId: other, status: "working", ...TIMES },
    ]);
  });

  test("shows only the tasks of the principal, or of the session where it is anonymous", async () => {
    const front = frontOf([listing("one", ["a", "b", "c"])]);
    await settle();
    const ann = { principal: { id: "ann", groups: [], claims: {} } };
    const [annHere, annThere] = [session(ann), session({ ...ann, affinity: "s2" })];
    const [somebody, anybody] = [session({ affinity: "s3" }), session({ affinity: "s4" })];
    const a = await beginAs(front, "one__compute", "a", annHere);
    const b = await beginAs(front, "one__compute", "b", somebody);
    expect(ids(await list(front, annHere))).toEqual([a]);
    expect(ids(await list(front, annThere))).toEqual([a]);
    expect(ids(await list(front, somebody))).toEqual([b]);
    expect(ids(await list(front, anybody))).toEqual([]);
  });

  test("continues where a full page ended, under a cursor of the gateway", async () => {
    const many = Array.from({ length: 150 }, (_, at) => `t${at}`);
    const front = frontOf([listing("one", many.slice(0, 120), many.slice(120)), listing("two", ["z"])]);
    await settle();
    const client = session();
    for (const id of many) await beginAs(front, "one__compute", id, client);
    await beginAs(front, "two__compute", "z", client);
    const first = await list(front, client);
    expect(ids(first)).toHaveLength(120);
    expect(first.nextCursor).not.toBe("1");
    const second = await list(front, client, { cursor: first.nextCursor });
    expect(ids(second)).toHaveLength(31);
    expect(second).not.toHaveProperty("nextCursor");
  });

  test.each(["1", "", null, 7, Buffer.from('["skills","one",null]').toString("base64url")])(
    "takes no cursor that it has not given out: %j",
    async (cursor) => {
      const front = frontOf([listing("one", ["a"], ["b"]), listing("two")]);
      await settle();
      const reply = await front.handle(fakeCall("tasks/list", { cursor }, { client: session() }));
      if (cursor === "" || cursor === null) expect(ids(resultOf(reply))).toEqual([]);
      else expect(errorOf(reply).code).toBe(-32602);
    },
  );

  test("leaves out a server that fails or is too slow, and fails where there is no other", async () => {
    const [broken, slow] = [listing("broken"), listing("slow")];
    const front = frontOf([broken, slow, listing("one", ["a"])]);
    await settle();
    const client = session();
    const alone = session({ endpoint: "broken" });
    for (const name of ["broken", "slow"]) await beginAs(front, `${name}__compute`, "t", client);
    const a = await beginAs(front, "one__compute", "a", client);
    broken.answers(() => {
      throw new GatewayError("upstream_closed", "upstream", "it is gone");
    });
    slow.answers(
      (call) =>
        new Promise((_, reject) => {
          call.signal.addEventListener("abort", () => reject(new Error("nobody waits")));
        }),
    );
    const listed = list(front, client);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ids(await listed)).toEqual([a]);
    const failed = await front.handle(fakeCall("tasks/list", {}, { client: alone }));
    expect(errorOf(failed).message).toBe("it is gone");
  });

  test("asks no server where the client has begun nothing", async () => {
    const [one, two] = [listing("one", ["a"]), listing("two", ["b"])];
    const front = frontOf([one, two]);
    await settle();
    const client = session();
    await beginAs(front, "two__compute", "b", client);
    expect(ids(await list(front, client))).toHaveLength(1);
    expect(ids(await list(front, session({ affinity: "s2" })))).toEqual([]);
    expect(one.calls).toEqual([]);
  });

  test("is not there where no server lists tasks", async () => {
    const front = frontOf([modern("new"), fakeUpstream("plain")]);
    await settle();
    expect(errorOf(await front.handle(fakeCall("tasks/list"))).code).toBe(-32601);
  });
});

test("with very long ids only the latest are remembered", () => {
  const tasks = new Tasks(createSecretKey(Buffer.alloc(32)));
  const client = fakeClient();
  const idOf = (at: number): string => `${at} ${"x".repeat(100_000)}`;
  for (let at = 0; at < 200; at += 1) tasks.expose(client, { server: "one", id: idOf(at), tool: "compute" });
  expect(tasks.ownerOf("one", idOf(0))).toBeUndefined();
  expect(tasks.ownerOf("one", idOf(199))).toMatchObject({ client });
});
