import { describe, expect, test, vi } from "vitest";
import { type Call, compose, type Freshness, type Reply, type Route } from "../../src/core/call.js";
import { ResponseCache, responseCache } from "../../src/resilience/response-cache.js";
import { Payload } from "../../src/wire/payload.js";
import { clientOf } from "../support/calls.js";
import { fakeCall, textResult } from "../support/fake-call.js";
import { fakeTime } from "../support/fake-time.js";

fakeTime();

const bob = clientOf({ principal: { id: "bob", groups: [], claims: {} }, affinity: "bob" });
const minute = (scope: Freshness["scope"]): Freshness => ({ ttlMs: 60_000, scope });

/** A server that says how often it was asked, and for how long that holds. */
function server(freshness: Freshness | undefined = minute("public"), cache = new ResponseCache()) {
  let asked = 0;
  const onHit = vi.fn();
  const handle = compose([responseCache(cache, { onHit })], async (): Promise<Reply> => {
    asked += 1;
    const result = Payload.ofObject({ contents: [{ text: `answer ${asked}` }] });
    return { kind: "result", result, ...(freshness !== undefined && { freshness }) };
  });
  return { handle, cache, onHit, asked: () => asked };
}

const read = (uri = "a:b", over: Partial<Call> = {}): Call =>
  fakeCall({
    method: "resources/read",
    params: { uri },
    client: clientOf(),
    route: { upstream: "files", target: uri, exposed: uri, kind: "resources" },
    ...over,
  });
const tool = (annotations: object, over: Partial<Call> = {}): Call =>
  fakeCall({
    client: clientOf(),
    route: {
      upstream: "files",
      target: "t",
      exposed: "files__t",
      kind: "tools",
      item: { name: "t", annotations },
    } as Route,
    ...over,
  });
const textOf = (reply: Reply) => (reply.kind === "result" ? JSON.stringify(reply.result.object) : reply.kind);

describe("the cacheScope and ttlMs of a server hold", () => {
  test("for its ttlMs, and the response states the remaining time", async () => {
    const { handle, asked, onHit } = server();
    const first = await handle(read());
    vi.advanceTimersByTime(59_000);
    const second = await handle(read());
    expect(textOf(second)).toBe(textOf(first));
    expect(second).toMatchObject({ freshness: { ttlMs: 1000, scope: "public" } });
    expect([asked(), onHit.mock.calls.length]).toEqual([1, 1]);
    vi.advanceTimersByTime(1000);
    expect(textOf(await handle(read()))).toContain("answer 2");
  });

  test("of a call of large arguments too, and of no other", async () => {
    vi.useRealTimers();
    const { handle, asked } = server();
    const search = (last: string) =>
      tool(
        { readOnlyHint: true },
        { params: { name: "t", arguments: { all: Array.from({ length: 20_000 }, () => "x"), last } } },
      );
    const first = textOf(await handle(search("a")));
    expect(textOf(await handle(search("b")))).not.toBe(first);
    expect(textOf(await handle(search("a")))).toBe(first);
    expect(asked()).toBe(2);
  });

  test.each<[string, Freshness | undefined]>([
    ["nothing of it", undefined],
    ["that it does not", { ttlMs: 0, scope: "public" }],
  ])("not at all where it sends %s", async (_, freshness) => {
    const cache = new ResponseCache();
    const { handle, asked } = freshness === undefined ? noFreshness(cache) : server(freshness, cache);
    await handle(read());
    await handle(read());
    expect(asked()).toBe(2);
    expect(cache.isEmpty).toBe(true);
  });

  test("for a day at most", async () => {
    const { handle, asked } = server({ ttlMs: Number.POSITIVE_INFINITY, scope: "public" });
    await handle(read());
    vi.advanceTimersByTime(24 * 3_600_000);
    await handle(read());
    expect(asked()).toBe(2);
  });

  test("a clock that is set changes nothing", async () => {
    const { handle, asked } = server();
    await handle(read());
    vi.setSystemTime(Date.now() + 3_600_000);
    await handle(read());
    expect(asked()).toBe(1);
  });

  test("of read-only tools too, by their arguments in whatever order", async () => {
    const { handle, asked } = server();
    const call = (args: object) =>
      handle(tool({ readOnlyHint: true }, { params: { name: "t", arguments: args } }));
    await call({ a: 1, b: 2 });
    await call({ b: 2, a: 1 });
    await call({ b: 2, a: 2 });
    expect(asked()).toBe(2);
  });
});

function noFreshness(cache: ResponseCache) {
  let asked = 0;
  const handle = compose([responseCache(cache)], async () => {
    asked += 1;
    return textResult("x");
  });
  return { handle, asked: () => asked };
}

describe("every time the server is asked", () => {
  test.each<[string, () => Call]>([
    ["a tool that says nothing of itself", () => tool({})],
    ["a tool that is only idempotent", () => tool({ idempotentHint: true })],
    ["a prompt", () => read("p", { method: "prompts/get" })],
    ["a call with answers", () => read("a:b", { inputResponses: { responses: {} } })],
    ["whoever wants progress", () => read("a:b", { params: { uri: "a:b", _meta: { progressToken: 1 } } })],
    [
      "whoever says more than is known",
      () => read("a:b", { params: { uri: "a:b", _meta: { "x/tenant": "t" } } }),
    ],
    ["whoever wants its log", () => read("a:b", { logLevel: "debug" })],
    ["a header that nothing explains", () => read("a:b", { extraHeaders: { "mcp-param-x": "1" } })],
    ["a task", () => tool({ readOnlyHint: true }, { params: { name: "t", task: {} } })],
  ])("%s", async (_, call) => {
    const { handle, asked } = server();
    await handle(call());
    await handle(call());
    expect(asked()).toBe(2);
  });

  test.each<[string, Reply]>([
    ["an error", { kind: "error", error: { code: -32603, message: "no" } }],
    ["a question", { kind: "input_required", requests: {} }],
    [
      "a failure of the tool",
      { ...(textResult("no", { isError: true }) as Reply & { kind: "result" }), freshness: minute("public") },
    ],
    [
      "a refusal of ours",
      { ...(textResult("no") as Reply & { kind: "result" }), refusal: "denied", freshness: minute("public") },
    ],
  ])("it answers with %s", async (_, reply) => {
    const next = vi.fn(async () => reply);
    const handle = compose([responseCache(new ResponseCache())], next);
    await handle(tool({ readOnlyHint: true }));
    await handle(tool({ readOnlyHint: true }));
    expect(next).toHaveBeenCalledTimes(2);
  });

  test("a trace is no reason", async () => {
    const { handle, asked } = server();
    await handle(read("a:b", { params: { uri: "a:b", _meta: { traceparent: "00-1" } } }));
    await handle(read());
    expect(asked()).toBe(1);
  });
});

describe("attack 24: no principal gets the cached response of another", () => {
  test("what is private is one principal's, also when all ask at once", async () => {
    const whose = new ResponseCache();
    const handle = compose([responseCache(whose)], async ({ client }): Promise<Reply> => {
      await new Promise((resolve) => void setTimeout(resolve, 5));
      const result = Payload.ofObject({ contents: [{ text: `for ${client.principal.id}` }] });
      return { kind: "result", result, freshness: minute("private") };
    });
    for (let round = 0; round < 3; round += 1) {
      const asked = Array.from({ length: 64 }, (_, at) => {
        const client = clientOf({
          principal: { id: `p${at % 8}`, groups: [], claims: {} },
          affinity: `s${at}`,
        });
        return handle(read("a:b", { client })).then((reply) => [client.principal.id, textOf(reply)] as const);
      });
      await vi.advanceTimersByTimeAsync(5);
      for (const [id, text] of await Promise.all(asked)) expect(text).toContain(`for ${id}"`);
    }
  });

  test("a public response is shared by all", async () => {
    const { handle, asked } = server(minute("public"));
    await handle(read());
    await handle(read("a:b", { client: bob }));
    expect(asked()).toBe(1);
  });

  test("clients with other capabilities have entries of their own", async () => {
    const { handle, asked } = server(minute("public"));
    await handle(read());
    await handle(read("a:b", { client: clientOf({ capabilities: { sampling: {} } }) }));
    expect(asked()).toBe(2);
  });

  test.each([
    [{ uri: "a:b" }, { uri: "a:b", extra: 1 }],
    [{ uri: "a:b" }, { uri: "a:B" }],
    [{ uri: 'a","b' }, { uri: "a", b: "" }],
  ])("%j and %j are two questions", async (one, other) => {
    const { handle, asked } = server();
    await handle(read("x", { params: one }));
    await handle(read("x", { params: other }));
    expect(asked()).toBe(2);
  });

  test("a principal cannot have the name of the anonymous one", async () => {
    const { handle, asked } = server(minute("private"));
    await handle(read("a:b", { client: clientOf({ principal: { id: "null", groups: [], claims: {} } }) }));
    await handle(read("a:b", { client: bob }));
    expect(asked()).toBe(2);
  });
});

describe("notifications of the server", () => {
  test("make it forget", async () => {
    const { handle, cache, asked } = server();
    await handle(read());
    cache.clear();
    await handle(read());
    expect(asked()).toBe(2);
  });

  test("that come while it is asked keep it from remembering the answer", async () => {
    const cache = new ResponseCache();
    let asked = 0;
    const handle = compose([responseCache(cache)], async (): Promise<Reply> => {
      asked += 1;
      if (asked === 1) cache.clear();
      return { ...(textResult("x") as Reply & { kind: "result" }), freshness: minute("public") };
    });
    await handle(read());
    await handle(read());
    await handle(read());
    expect(asked).toBe(2);
  });
});

test("its memory is bounded", async () => {
  const cache = new ResponseCache();
  let asked = 0;
  const handle = compose([responseCache(cache)], async ({ params }): Promise<Reply> => {
    asked += 1;
    const size = String(params.uri).startsWith("huge") ? 2_000_000 : 500_000;
    const result = Payload.ofText(`{"contents":"${"x".repeat(size)}"}`);
    return { kind: "result", result, freshness: minute("public") };
  });
  await handle(read("huge:1"));
  await handle(read("huge:1"));
  expect(asked).toBe(2);
  for (let at = 0; at < 100; at += 1) await handle(read(`a:${at}`));
  asked = 0;
  for (let at = 99; at >= 0; at -= 1) await handle(read(`a:${at}`));
  expect(asked).toBeGreaterThan(60);
  expect(asked).toBeLessThan(80);
});
