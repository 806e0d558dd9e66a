import { describe, expect, test, vi } from "vitest";
import type { Notice } from "../../src/core/call.js";
import { MethodRoutes } from "../../src/routing/method-routes.js";
import type { JsonObject } from "../../src/wire/json.js";
import { server, tool } from "../catalog/support.js";
import { fakeTime, settle } from "../support/fake-time.js";
import { fakeCall, fakeClient, fakeUpstream, resultReply } from "../support/fake-upstream.js";
import { errorOf, frontOf, received, resultOf } from "./support.js";

fakeTime();

const lists = {
  tools: [tool("read")],
  prompts: [{ name: "review" }],
  resources: [{ uri: "file:///a" }],
  resourceTemplates: [{ uriTemplate: "file:///{+path}" }],
};

describe("a call with a target", () => {
  test.each([
    ["tools/call", { name: "files__read", arguments: { name: "files__read" } }, { name: "read" }],
    ["prompts/get", { name: "files__review" }, { name: "review" }],
    ["resources/read", { uri: "files+file:///a" }, { uri: "file:///a" }],
    ["resources/read", { uri: "files+file:///not/listed" }, { uri: "file:///not/listed" }],
    ["resources/read", { uri: "ui://files/page" }, { uri: "ui://page" }],
    ["resources/subscribe", { uri: "files+file:///a" }, { uri: "file:///a" }],
    ["tools/call", { name: "read" }, { name: "read" }],
  ])("%s %j reaches its server as %j", async (method, params, own) => {
    const files = fakeUpstream("files", { lists });
    const { handle } = frontOf([fakeUpstream("git"), files]);
    await settle();
    const given = { ...params, _meta: { "example.com/x": 1 }, unheardOf: [1] };
    const call = fakeCall(method, given);
    await handle(call);
    expect(received(files)).toEqual({ method, params: { ...given, ...own } });
    // The client's own parameters are not touched.
    expect(call.params).toBe(given);
  });

  test("carries the route for all middleware", async () => {
    const files = fakeUpstream("files", { lists });
    const { handle } = frontOf([files]);
    await settle();
    await handle(fakeCall("tools/call", { name: "files__read" }));
    expect(files.calls[0]?.route).toEqual({
      upstream: "files",
      target: "read",
      exposed: "files__read",
      kind: "tools",
      item: tool("read"),
    });
  });

  test.each([
    ["tools/call", { name: "files__nothing" }, { message: "unknown tool: files__nothing" }],
    ["prompts/get", { name: "files__nothing" }, { message: "unknown prompt: files__nothing" }],
    [
      "resources/read",
      { uri: "nobody+file:///a" },
      { message: "unknown resource: nobody+file:///a", data: { uri: "nobody+file:///a" } },
    ],
    ["tools/call", { name: "__proto__" }, { message: "unknown tool: __proto__" }],
    ["tools/call", {}, { message: 'tools/call has no unique target: its params need a "name"' }],
    [
      "resources/read",
      { uri: 7 },
      { message: 'resources/read has no unique target: its params need a "uri"' },
    ],
    [
      "completion/complete",
      { ref: { type: "ref/prompt" } },
      {
        message:
          'completion/complete has no unique target: its params need a "ref" to it, by "name" or by "uri"',
      },
    ],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "files__p", uri: "files+file:///a" } },
      {
        message:
          'completion/complete has no unique target: its params need a "ref" to it, by "name" or by "uri"',
      },
    ],
  ])("%s %j without an owner is -32602", async (method, params, expected) => {
    const files = fakeUpstream("files", { lists });
    const { handle } = frontOf([files]);
    await settle();
    const error = errorOf(await handle(fakeCall(method, params)));
    expect(error).toMatchObject({ ...expected, code: -32602 });
    expect(files.calls).toEqual([]);
  });

  test("that several servers could own is -32602 with its URI", async () => {
    const web = { resources: [{ uri: "https://example.com/a" }] };
    const { handle } = frontOf([fakeUpstream("one", { lists: web }), fakeUpstream("two", { lists: web })]);
    await settle();
    const error = errorOf(await handle(fakeCall("resources/read", { uri: "https://example.com/a" })));
    expect(error).toMatchObject({
      code: -32602,
      message:
        "several servers have the resource https://example.com/a: one, two; ask one of them alone, at its own path",
      data: { uri: "https://example.com/a", cardea: { code: "unknown_target" } },
    });
  });

  test("waits for the server that is only just starting", async () => {
    const files = fakeUpstream("files", { state: "starting", lists });
    const { handle } = frontOf([files]);
    const reply = handle(fakeCall("tools/call", { name: "files__read" }));
    await vi.advanceTimersByTimeAsync(500);
    files.becomeReady();
    await settle();
    expect((await reply).kind).toBe("result");
    expect(received(files)?.params).toEqual({ name: "read" });
  });

  test("of a server that does not come is not called unknown", async () => {
    const { handle } = frontOf([fakeUpstream("files", { state: "starting" })]);
    const reply = handle(fakeCall("tools/call", { name: "files__read" }));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(errorOf(await reply)).toMatchObject({
      message: "server files is not available. Try again in a few seconds.",
      data: { cardea: { code: "upstream_unavailable", server: "files", retryable: true } },
    });
  });

  test("of a server that is down has the reason", async () => {
    const files = fakeUpstream("files", { state: "starting" });
    files.goDown("files cannot be started: command not found: x");
    const { handle } = frontOf([files]);
    await settle();
    expect(errorOf(await handle(fakeCall("tools/call", { name: "files__read" })))).toMatchObject({
      message: expect.stringMatching(
        /^server files is not available: files cannot be started: command not found: x\. Try again in a minute:/,
      ),
      data: { cardea: { code: "upstream_unavailable", server: "files", retryable: true } },
    });
  });

  test("that only its own capability class can see is found without an earlier tools/list", async () => {
    const upstream = fakeUpstream("everything", {
      audience: ({ capabilities, affinity }) =>
        capabilities.sampling === undefined
          ? { key: "shared", capabilityClass: "shared" }
          : { key: affinity, capabilityClass: "sampling" },
      lists: { tools: [tool("echo")] },
    }).setList("tools", [tool("echo"), tool("ask")], "sampling");
    const { handle } = frontOf([upstream]);
    await settle();
    const client = fakeClient({ capabilities: { sampling: {} }, affinity: "s" });
    const call = { name: "everything__ask" };
    expect((await handle(fakeCall("tools/call", call, { client }))).kind).toBe("result");
    expect(errorOf(await handle(fakeCall("tools/call", call))).code).toBe(-32602);
  });
});

describe("completion/complete", () => {
  const ask = (ref: object) => fakeCall("completion/complete", { ref, argument: { name: "a", value: "b" } });

  test.each([
    [
      { type: "ref/prompt", name: "files__review", title: "kept" },
      { type: "ref/prompt", name: "review", title: "kept" },
    ],
    [
      { type: "ref/resource", uri: "files+file:///{+path}" },
      { type: "ref/resource", uri: "file:///{+path}" },
    ],
    [
      { type: "ref/resource", uri: "files+file:///a" },
      { type: "ref/resource", uri: "file:///a" },
    ],
  ])("of %j asks for %j", async (ref, own) => {
    const files = fakeUpstream("files", {
      lists,
      capabilities: { prompts: {}, resources: {}, completions: {} },
    });
    const { handle } = frontOf([files]);
    await settle();
    await handle(ask(ref));
    expect(received(files)?.params).toEqual({ ref: own, argument: { name: "a", value: "b" } });
  });

  describe("of more than a hundred values", () => {
    const valuesOf = (count: number) => Array.from({ length: count }, (_, index) => `value ${index}`);
    const answered = async (completion: object) => {
      const files = fakeUpstream("files", { lists, capabilities: { prompts: {}, completions: {} } });
      files.answers(() => resultReply({ completion: { ...completion }, _meta: { kept: true } }, "text"));
      const { handle } = frontOf([files]);
      await settle();
      return resultOf(await handle(ask({ type: "ref/prompt", name: "files__review" })));
    };

    test.each([
      ["said to be all", { hasMore: false }, { total: 150, hasMore: true }],
      ["not said to be all", {}, { total: 150, hasMore: true }],
      ["said not to be all", { hasMore: true }, { hasMore: true }],
      [
        "counted",
        { total: 400, hasMore: true, "com.example/x": 1 },
        { total: 400, hasMore: true, "com.example/x": 1 },
      ],
      ["counted wrongly", { total: 3 }, { total: 150, hasMore: true }],
    ])("%s returns the first hundred and states the total", async (_what, given, told) => {
      expect(await answered({ values: valuesOf(150), ...given })).toEqual({
        completion: { values: valuesOf(100), ...told },
        _meta: { kept: true },
      });
    });

    test("a hundred are given as they are", async () => {
      const completion = { values: valuesOf(100), hasMore: false };
      expect(await answered(completion)).toMatchObject({ completion });
    });
  });

  test("finds nothing at a server that has no completions, and does not ask it", async () => {
    const files = fakeUpstream("files", { lists });
    const { handle } = frontOf([files]);
    await settle();
    const reply = await handle(ask({ type: "ref/prompt", name: "files__review" }));
    expect(resultOf(reply)).toEqual({ completion: { values: [] } });
    expect(files.calls).toEqual([]);
  });

  test("of an unknown prompt is -32602", async () => {
    const { handle } = frontOf([fakeUpstream("files", { lists })]);
    await settle();
    expect(errorOf(await handle(ask({ type: "ref/prompt", name: "files__no" }))).code).toBe(-32602);
  });
});

describe("a method the gateway does not know", () => {
  const capabilities = { extensions: { "example/weather": {} } };

  test("goes to the owner of the URI, prompt or tool it names", async () => {
    const files = fakeUpstream("files", { lists });
    const { handle } = frontOf([fakeUpstream("git"), files]);
    await settle();
    await handle(fakeCall("example/look", { uri: "files+file:///a", depth: 1 }));
    expect(received(files)?.params).toEqual({ uri: "file:///a", depth: 1 });
    await handle(fakeCall("example/explain", { name: "files__review" }));
    expect(received(files)?.params).toEqual({ name: "review" });
    await handle(fakeCall("example/refer", { ref: { type: "ref/prompt", name: "files__review" } }));
    expect(received(files)?.params).toEqual({ ref: { type: "ref/prompt", name: "review" } });
  });

  test("goes to the only server that declares its extension", async () => {
    const one = fakeUpstream("one", { capabilities });
    const two = fakeUpstream("two", { capabilities: { "x-notes": {} } });
    const { handle } = frontOf([one, two]);
    await settle();
    await handle(fakeCall("weather/list", { cursor: "theirs" }));
    expect(received(one)).toEqual({ method: "weather/list", params: { cursor: "theirs" } });
    await handle(fakeCall("x-notes/get", { note: "n" }));
    expect(received(two)).toEqual({ method: "x-notes/get", params: { note: "n" } });
  });

  test.each([
    ["several servers declare", "weather/list"],
    ["nobody declares", "skills/list"],
    ["nobody declares", "skills/get"],
    ["nobody declares", "tasks/get"],
    ["nobody declares", "tasks/list"],
    ["nobody declares", "example/unheard-of"],
    // In a header it would arrive as another one.
    ["nobody could carry", "weather/forecast "],
    ["nobody could carry", "weather/for\u0435cast"],
    ["looks like a capability the gateway routes itself", "tools/unheard-of"],
    ["means something to JavaScript", "constructor"],
    ["means something to JavaScript", "__proto__"],
  ])("that %s is not found: %s", async (_, method) => {
    const upstreams = [fakeUpstream("one", { capabilities }), fakeUpstream("two", { capabilities })];
    const { handle } = frontOf(upstreams);
    await settle();
    expect(errorOf(await handle(fakeCall(method))).code).toBe(-32601);
    expect(upstreams.flatMap(({ calls }) => calls)).toEqual([]);
  });

  test("reaches no server outside the caller's scope", async () => {
    const one = fakeUpstream("one", { capabilities });
    const { handle } = frontOf([one, fakeUpstream("two")]);
    await settle();
    const client = fakeClient({ endpoint: "two" });
    expect(errorOf(await handle(fakeCall("weather/list", {}, { client }))).code).toBe(-32601);
  });
});

describe("lists", () => {
  test("are answered from the catalog, ready made, with how long they may be kept", async () => {
    const files = fakeUpstream("files", { lists, freshness: { ttlMs: 60_000, scope: "public" } });
    const { handle } = frontOf([files]);
    await settle();
    files.listed.length = 0;
    const reply = await handle(fakeCall("tools/list"));
    expect(resultOf(reply)).toEqual({ tools: [tool("files__read")] });
    expect(reply).toMatchObject({ freshness: { ttlMs: 60_000, scope: "public" } });
    const again = await handle(fakeCall("tools/list", { cursor: "" }));
    expect(again.kind === "result" && reply.kind === "result" && again.result === reply.result).toBe(true);
    expect(resultOf(await handle(fakeCall("resources/templates/list")))).toEqual({
      resourceTemplates: [{ uriTemplate: "files+file:///{+path}" }],
    });
    expect(files.listed).toEqual([]);
    expect(files.calls).toEqual([]);
  });

  test("come in pages, and a cursor of another list, or a forged one, is -32602", async () => {
    const many = Array.from({ length: 1_001 }, (_, index) => tool(`t${index}`));
    const { handle } = frontOf([fakeUpstream("files", { lists: { tools: many } })]);
    await settle();
    const { nextCursor } = resultOf(await handle(fakeCall("tools/list")));
    const rest = resultOf(await handle(fakeCall("tools/list", { cursor: nextCursor })));
    expect(rest).toEqual({ tools: [tool("files__t1000")] });
    for (const cursor of ["made up", 7, {}]) {
      expect(errorOf(await handle(fakeCall("tools/list", { cursor }))).code).toBe(-32602);
    }
    expect(errorOf(await handle(fakeCall("prompts/list", { cursor: nextCursor }))).code).toBe(-32602);
  });

  test("wait for servers that are starting, but not for long", async () => {
    const files = fakeUpstream("files", { lists });
    const { handle } = frontOf([files, fakeUpstream("stuck", { state: "starting" })]);
    const reply = handle(fakeCall("tools/list"));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(resultOf(await reply)).toEqual({ tools: [tool("files__read")] });
  });
});

describe("URIs in what a server answers", () => {
  const link = { type: "resource_link", uri: "file:///a", name: "a" };

  test("are renamed for a client that knows them under other names", async () => {
    const files = fakeUpstream("files", { lists }).answers(() => resultReply({ content: [link] }, "text"));
    const { handle } = frontOf([files, fakeUpstream("git")]);
    await settle();
    const reply = await handle(fakeCall("tools/call", { name: "files__read" }));
    expect(resultOf(reply)).toEqual({ content: [{ ...link, uri: "files+file:///a" }] });
  });

  test("stay, byte for byte, for a client that sees the server as it is", async () => {
    const text = '{ "content": [{"type":"resource_link","uri":"file:///a","name":"a"}] }';
    const answer = resultReply(JSON.parse(text), "text");
    const files = fakeUpstream("files", { lists }).answers(() => answer);
    const bare = fakeUpstream("bare", { lists: { tools: [tool("read2")] } }).answers(() => answer);
    const { handle } = frontOf([files, bare], {
      servers: [server("files"), server("bare", { prefix: "" })],
    });
    await settle();
    const client = fakeClient({ endpoint: "files" });
    expect(await handle(fakeCall("tools/call", { name: "read" }, { client }))).toBe(answer);
    expect(await handle(fakeCall("tools/call", { name: "read2" }))).toBe(answer);
  });

  test("in notices of the call are renamed too, and other notices are the very same", async () => {
    const progress: Notice = { method: "notifications/progress", params: { progressToken: 1, progress: 1 } };
    const updated: Notice = { method: "notifications/resources/updated", params: { uri: "file:///a", x: 1 } };
    const files = fakeUpstream("files", { lists }).answers((call) => {
      call.notify(progress);
      call.notify(updated);
      return resultReply({});
    });
    const { handle } = frontOf([files]);
    await settle();
    const heard: Notice[] = [];
    const notify = (notice: Notice) => heard.push(notice);
    await handle(fakeCall("tools/call", { name: "files__read" }, { notify }));
    expect(heard).toEqual([progress, { ...updated, params: { uri: "files+file:///a", x: 1 } }]);
    expect(heard[0]).toBe(progress);
  });

  test("that are addresses on the web lead back to the server that gave them", async () => {
    const uri = "https://example.com/report";
    const files = fakeUpstream("files", { lists }).answers(() =>
      resultReply({ content: [{ ...link, uri }] }),
    );
    const git = fakeUpstream("git");
    const { handle } = frontOf([git, files]);
    await settle();
    const read = () => handle(fakeCall("resources/read", { uri }));
    expect(errorOf(await read()).code).toBe(-32602);
    const reply = await handle(fakeCall("tools/call", { name: "files__read" }));
    expect(resultOf(reply)).toEqual({ content: [{ ...link, uri }] });
    await read();
    expect(received(files)).toEqual({ method: "resources/read", params: { uri } });
    expect(git.calls).toEqual([]);
  });
});

test("a server that was removed from the config is unavailable, not unknown", async () => {
  const files = fakeUpstream("files", { lists });
  const { catalog, tasks } = frontOf([files]);
  const { router } = await import("../../src/routing/router.js");
  await settle();
  const route = catalog.view(fakeClient()).find("tools", "files__read");
  const call = fakeCall("tools/call", { name: "files__read" }, route === undefined ? {} : { route });
  const methods = new MethodRoutes(catalog, tasks);
  await expect(router({ catalog, handlers: new Map(), tasks, methods })(call)).rejects.toMatchObject({
    code: "upstream_unavailable",
  });
});

describe("an app on a page that a host shows", () => {
  const ui = (name: string) => ({ resources: [{ uri: `ui://${name}/page`, name }] });
  const serving = (name: string, tools: readonly JsonObject[]) =>
    fakeUpstream(name, { lists: { tools, ...ui(name) } });
  const refresh = { name: "refresh", inputSchema: { type: "object" } };

  test("calls its own server's tool by the name it has there, when the host has fetched a page of one server", async () => {
    const [sales, stock] = [serving("sales", [refresh]), serving("stock", [refresh])];
    const { handle } = frontOf([sales, stock]);
    await settle();
    const call = () => handle(fakeCall("tools/call", { name: "refresh" }));
    expect(errorOf(await call()).code).toBe(-32602);
    await handle(fakeCall("resources/read", { uri: "ui://stock/stock/page" }));
    expect(received(stock)?.params).toEqual({ uri: "ui://stock/page" });
    expect(resultOf(await call())).toMatchObject({ method: "tools/call" });
    expect(received(stock)?.params).toEqual({ name: "refresh" });
    expect(sales.calls).toEqual([]);
    // The owner can no longer be determined.
    await handle(fakeCall("resources/read", { uri: "ui://sales/sales/page" }));
    expect(errorOf(await call()).code).toBe(-32602);
  });

  test("does not reach a tool that is for models alone, nor the pages of another client", async () => {
    const modelsOnly = { ...refresh, _meta: { ui: { visibility: ["model"] } } };
    const { handle } = frontOf([serving("sales", [refresh]), serving("stock", [modelsOnly])]);
    await settle();
    await handle(fakeCall("resources/read", { uri: "ui://stock/stock/page" }));
    const call = (client = fakeClient()) => handle(fakeCall("tools/call", { name: "refresh" }, { client }));
    expect(errorOf(await call()).code).toBe(-32602);
    await handle(fakeCall("resources/read", { uri: "ui://sales/sales/page" }));
    expect(resultOf(await call())).toMatchObject({ method: "tools/call" });
    expect(errorOf(await call(fakeClient({ affinity: "another" }))).code).toBe(-32602);
  });
});
