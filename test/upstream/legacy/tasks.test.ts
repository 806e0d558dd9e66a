/** Tasks of a legacy server: awaited for clients that asked for none, and led to those that did. */
import { describe, expect, test, vi } from "vitest";
import type { Call, Notice, Reply, RoundState, Route } from "../../../src/core/call.js";
import type { Client, ClientDirectory } from "../../../src/core/client.js";
import { isObject, type JsonObject } from "../../../src/wire/json.js";
import {
  type Asked,
  type FakeServer,
  HTTP,
  legacyServer,
  RpcFailure,
  SILENCE,
} from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import {
  type Calling,
  calling,
  client,
  failure,
  meet,
  resultOf,
  settled,
} from "../../support/met-upstream.js";
import { soon } from "./questions-support.js";

fakeTime();

const RELATED = "io.modelcontextprotocol/related-task";
const related = (taskId: string): JsonObject => ({ _meta: { [RELATED]: { taskId } } });
const TASKS = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
const CAPABLE = { sampling: {}, elicitation: { form: {} }, roots: {} };

const routeOf = (taskSupport: string): Route => ({
  upstream: "files",
  target: "research",
  exposed: "files__research",
  kind: "tools",
  item: { name: "research", execution: { taskSupport } },
});
const research = (changes: Partial<Call> = {}): Calling =>
  calling({
    params: { name: "research", arguments: { topic: "tides" } },
    route: routeOf("required"),
    ...changes,
  });

/** A server whose tool runs as a task only, as long as a test says, and what it is asked meanwhile. */
interface Lab {
  readonly server: FakeServer;
  /** What the next looks at a task find. */
  status: string;
  /** Gives the result of the task, as `tasks/result` sees it. */
  result: (asked: Asked) => JsonObject | Promise<JsonObject>;
}

function lab(capabilities: JsonObject = TASKS): Lab {
  let begun = 0;
  const server = legacyServer({ capabilities });
  const made: Lab = {
    server,
    status: "working",
    result: () => ({ content: [{ type: "text", text: "done" }], ...related("t1") }),
  };
  server
    .on("tools/call", ({ task }) => {
      if (!isObject(task)) throw new RpcFailure(-32601, "this tool runs as a task only");
      begun += 1;
      return { task: { taskId: `t${begun}`, status: "working", pollInterval: 2_000 } };
    })
    .on("tasks/get", ({ taskId }) => ({ taskId, status: made.status, pollInterval: 5_000 }))
    .on("tasks/cancel", ({ taskId }) => ({ taskId, status: "cancelled" }))
    .on("tasks/result", (_params, asked) => made.result(asked));
  return made;
}

const methods = ({ received }: FakeServer): readonly unknown[] =>
  received
    .map(({ message }) => message.method)
    .filter((method) => method?.startsWith("t") || method?.includes("canc"));
const asked = (reply: Reply): { readonly requests: JsonObject; readonly state: RoundState } => {
  if (reply.kind !== "input_required" || reply.state === undefined) throw new Error("nothing was asked");
  return { requests: reply.requests, state: reply.state };
};

describe.each([
  ["a pipe", {}],
  ["HTTP", { transport: HTTP }],
])("over %s a tool that requires tasks", (_way, config) => {
  test("is run as one, polled at the server's interval, and returns the result of the tool", async () => {
    const { server } = lab();
    const { upstream } = await meet(server, config);
    let alive = 0;
    const { call } = research({ onActivity: () => (alive += 1) });
    const reply = upstream.call(call);
    await settled();
    expect(server.params("tools/call")).toEqual({ ...call.params, task: { ttl: 3_600_000 } });
    expect(methods(server)).toEqual(["tools/call"]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(server.params("tasks/get")).toEqual({ taskId: "t1" });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(alive).toBe(1);
    server.on("tasks/get", { taskId: "t1", status: "completed" });
    await vi.advanceTimersByTimeAsync(1);
    expect(methods(server)).toEqual(["tools/call", "tasks/get", "tasks/get", "tasks/result"]);
    expect(resultOf(await reply)).toEqual({ content: [{ type: "text", text: "done" }] });
    expect(alive).toBe(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(methods(server)).toHaveLength(4);
  });

  test("may ask its client once, through the call, and continues with the answer", async () => {
    const made = lab();
    made.status = "input_required";
    made.result = async (ask) => ({
      told: (await ask.ask("elicitation/create", { message: "?", ...related("t1") })).result,
    });
    const { upstream } = await meet(made.server, config);
    const first = research({ client: client({ capabilities: CAPABLE }) });
    const reply = upstream.call(first.call);
    await vi.advanceTimersByTimeAsync(2_100);
    const { requests, state } = asked(await reply);
    expect(requests).toEqual({
      elicitation_1: { method: "elicitation/create", params: { message: "files: ?" } },
    });
    const { params, client: asking, route } = first.call;
    const inputResponses = { responses: { elicitation_1: { action: "accept" } }, state };
    const next = upstream.call(
      calling({ params, client: asking, ...(route && { route }), inputResponses }).call,
    );
    await vi.advanceTimersByTimeAsync(100);
    expect(resultOf(await next)).toEqual({ told: { action: "accept" } });
    expect(made.server.sent("tools/call")).toHaveLength(1);
  });

  test("is cancelled with its call, by tasks/cancel once it is a task", async () => {
    const { server } = lab();
    const { upstream } = await meet(server, config);
    const { call, giveUp } = research();
    const failed = failure(upstream.call(call));
    await vi.advanceTimersByTimeAsync(100);
    giveUp();
    expect((await failed).code).toBe("cancelled");
    expect(methods(server)).toEqual(["tools/call", "tasks/cancel"]);
    expect(server.params("tasks/cancel")).toEqual({ taskId: "t1" });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(methods(server)).toHaveLength(2);
  });

  test("is cancelled as a request before it is a task", async () => {
    const { server } = lab();
    server.on("tools/call", () => SILENCE);
    const { upstream } = await meet(server, config);
    const { call, giveUp } = research();
    const failed = failure(upstream.call(call));
    await settled();
    giveUp();
    expect((await failed).code).toBe("cancelled");
    expect(methods(server)).toEqual(["tools/call", "notifications/cancelled"]);
  });

  test("fails with its server's error, at the start or the end", async () => {
    const made = lab();
    const { upstream } = await meet(made.server, config);
    made.status = "failed";
    made.result = () => {
      throw new RpcFailure(-32_000, "no tides today");
    };
    const reply = upstream.call(research().call);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await reply).toMatchObject({ kind: "error", error: { code: -32_000, message: "no tides today" } });
    made.server.on("tools/call", () => {
      throw new RpcFailure(-32_602, "no such topic");
    });
    expect(await upstream.call(research().call)).toMatchObject({ error: { code: -32_602 } });
  });
});

describe("a call is not run as a task", () => {
  test.each([
    ["of a tool that takes others as well", { route: routeOf("optional") }, TASKS],
    ["of a tool that takes none", { route: routeOf("forbidden") }, TASKS],
    ["at a server that runs no tools as tasks", {}, { tools: {}, tasks: { list: {} } }],
    ["that is one already", { params: { name: "research", task: { ttl: 5 } } }, TASKS],
    ["of a host that could have asked for one itself", { client: client({ session: true }) }, TASKS],
  ])("%s", async (_, changes, capabilities) => {
    const { server } = lab(capabilities);
    server.on("tools/call", (params) => ({ sent: params }));
    const { upstream } = await meet(server);
    const { call } = research(changes);
    expect(resultOf(await upstream.call(call))).toEqual({ sent: call.params });
  });

  test("at a server of a revision that had none", async () => {
    const { server } = lab();
    server.on("tools/call", (params) => ({ sent: params }));
    const { upstream } = await meet(server, { protocol: "2025-06-18" });
    expect(upstream.facts?.capabilities).not.toHaveProperty("tasks");
    const { call } = research();
    expect(resultOf(await upstream.call(call))).toEqual({ sent: call.params });
  });
});

test("of two tasks on one pipe each asks through its own tasks/result", async () => {
  const made = lab();
  made.result = () => SILENCE;
  const { upstream } = await meet(made.server);
  const host = client({ session: true, capabilities: CAPABLE });
  const both = ["t1", "t2"].map((taskId) =>
    upstream.call(calling({ method: "tasks/result", params: { taskId }, client: host }).call),
  );
  await vi.advanceTimersByTimeAsync(100);
  const { channel } = made.server;
  void channel.ask("elicitation/create", { message: "second?", ...related("t2") });
  void channel.ask("elicitation/create", { message: "first?", ...related("t1") });
  await vi.advanceTimersByTimeAsync(100);
  const messages = (await Promise.all(both)).map((reply) => JSON.stringify(asked(reply).requests));
  expect(messages[0]).toContain("first?");
  expect(messages[1]).toContain("second?");
});

describe("a task requested by a session", () => {
  interface Told {
    readonly directory: ClientDirectory;
    readonly notices: Notice[];
  }
  const sessionOf = (affinity: string): Client => client({ affinity, session: true, capabilities: CAPABLE });
  const directoryOf = (affinity: string): Told => {
    const notices: Notice[] = [];
    const port = {
      client: sessionOf(affinity),
      request: async () => ({}),
      notify: (notice: Notice) => void notices.push(notice),
    };
    return { notices, directory: { find: (wanted) => (wanted === affinity ? port : undefined) } };
  };

  test("asks through the pending tasks/result, with its task id", async () => {
    const made = lab();
    made.result = async (ask) => ({
      told: (await ask.ask("elicitation/create", { message: "?", ...related("t9") })).result,
    });
    const { upstream } = await meet(made.server);
    const reply = upstream.call(
      calling({ method: "tasks/result", params: { taskId: "t9" }, client: sessionOf("s") }).call,
    );
    await vi.advanceTimersByTimeAsync(100);
    expect(asked(await reply).requests).toEqual({
      elicitation_1: { method: "elicitation/create", params: { message: "files: ?", ...related("t9") } },
    });
  });

  test("sends its status notifications, from whatever stream of the server", async () => {
    const told: Notice[] = [];
    const { server } = lab();
    server.on("tools/call", (_params, ask) => {
      ask.say("notifications/tasks/status", { taskId: "t1", status: "working" });
      return { content: [] };
    });
    const { upstream } = await meet(server, {}, { onTaskStatus: (notice) => told.push(notice) });
    const { call, notices } = research({ route: routeOf("optional") });
    await upstream.call(call);
    server.channel.say("notifications/tasks/status", { taskId: "t2", status: "failed" });
    expect(told).toEqual([
      { method: "notifications/tasks/status", params: { taskId: "t1", status: "working" } },
      { method: "notifications/tasks/status", params: { taskId: "t2", status: "failed" } },
    ]);
    expect(notices).toEqual([]);
  });

  test("keeps sending progress, under the client's own token, after the response to its call", async () => {
    const { server } = lab();
    const { directory, notices } = directoryOf("s");
    const { upstream } = await meet(server, {}, { directory });
    const params = { name: "research", task: {}, _meta: { progressToken: "mine" } };
    await soon(upstream.call(research({ params, client: sessionOf("s") }).call));
    const [sent] = server.sent("tools/call");
    const progressToken = sent?.message.id;
    server.channel.say("notifications/progress", { progressToken, progress: 3 });
    server.channel.say("notifications/progress", { progressToken: 10_000_000, progress: 4 });
    expect(notices).toEqual([
      { method: "notifications/progress", params: { progressToken: "mine", progress: 3 } },
    ]);
  });
});

test("hosts of one principal use the connection of a task for all of its messages", async () => {
  const { server } = lab();
  const { upstream } = await meet(server, { lease: "principal" });
  const host = (): Client => client({ session: true, capabilities: CAPABLE });
  server.on("prompts/get", () => SILENCE);
  void upstream
    .call(calling({ method: "prompts/get", params: { name: "p" }, client: host() }).call)
    .catch(() => {});
  await vi.advanceTimersByTimeAsync(100);
  const begun = research({ params: { name: "research", task: {} }, client: host() });
  expect(resultOf(await upstream.call(begun.call))).toMatchObject({ task: { taskId: "t1" } });
  for (const method of ["tasks/get", "tasks/result"]) {
    await upstream.call(calling({ method, params: { taskId: "t1" }, client: host() }).call);
  }
  const channels = ["tools/call", "tasks/get", "tasks/result"].map(
    (method) => server.sent(method)[0]?.channel,
  );
  expect(new Set(channels)).toEqual(new Set([server.sent("prompts/get")[0]?.channel]));
});
