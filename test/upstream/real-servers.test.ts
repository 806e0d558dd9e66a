/** The same over real processes and sockets: SDK servers of both eras, and one that ends when it is probed. */
import { describe, expect, type TestContext, test } from "vitest";
import type { TransportConfig } from "../../src/config/config.js";
import type { Reply } from "../../src/core/call.js";
import { createUpstream, type StartableUpstream } from "../../src/upstream/upstream.js";
import { isObject, type JsonObject } from "../../src/wire/json.js";
import { inRepository } from "../support/cardea.js";
import { serverConfig } from "../support/fake-channel.js";
import { faultProxy } from "../support/fault-proxy.js";
import { fixtureCommand, startFixture } from "../support/fixture.js";
import { type Calling, calling, client, failure, resultOf } from "../support/met-upstream.js";
import { sample } from "../support/sample.js";
import { until } from "../support/until.js";

const never = (): AbortSignal => new AbortController().signal;
const CAPABLE = { elicitation: { form: {} }, sampling: {}, roots: {} };

function start(
  { onTestFinished }: TestContext,
  transport: TransportConfig,
  protocol = "auto",
): StartableUpstream {
  const upstream = createUpstream(serverConfig({ name: "fixture", transport, protocol }), {
    gateway: { info: { name: "cardea", version: "1" } },
    questions: { directory: { find: () => undefined } },
  });
  upstream.start();
  onTestFinished(() => upstream.close());
  return upstream;
}

async function fixture(context: TestContext, era: "legacy" | "modern", transport: "stdio" | "http") {
  const started = await startFixture(era, transport);
  const { entry } = started;
  context.onTestFinished(() => started.stop());
  const place = transport === "http" ? http(String(entry.url)) : stdio(fixtureCommand(era));
  return { upstream: start(context, place) };
}

const http = (url: string): TransportConfig => ({ kind: "http", url, headers: {}, sse: false });
const stdio = ({
  command,
  args,
}: {
  readonly command: string;
  readonly args: readonly string[];
}): TransportConfig => ({
  kind: "stdio",
  command,
  args,
  env: {},
  cwd: inRepository("."),
});

/** Answers whatever is asked until there is a result. */
async function converse(
  upstream: StartableUpstream,
  first: Calling,
): Promise<{ readonly reply: Reply; readonly rounds: number }> {
  let reply = await upstream.call(first.call);
  let rounds = 0;
  while (reply.kind === "input_required") {
    rounds += 1;
    const responses = Object.fromEntries(
      Object.entries(reply.requests).map(([key, request]) => [
        key,
        answerTo(isObject(request) ? request.method : ""),
      ]),
    );
    const inputResponses = { responses, ...(reply.state !== undefined && { state: reply.state }) };
    const { params, client: of } = first.call;
    reply = await upstream.call(calling({ params, client: of, inputResponses }).call);
  }
  return { reply, rounds };
}

function answerTo(method: unknown): JsonObject {
  if (method === "roots/list") return { roots: [{ uri: "file:///home" }] };
  if (method === "elicitation/create") return { action: "accept", content: { response: "Ada", name: "Ada" } };
  return { role: "assistant", content: { type: "text", text: "Paris" }, model: "m" };
}

const textOf = (reply: Reply): unknown => {
  const { content } = resultOf(reply);
  return Array.isArray(content) && isObject(content[0]) ? content[0].text : undefined;
};

const KINDS = [
  ["legacy", "stdio"],
  ["legacy", "http"],
  ["modern", "stdio"],
  ["modern", "http"],
] as const;

// The servers start at the same time, and one is awaited while it backs off.
describe.concurrent.each(sample("real servers", KINDS, 2))("a %s server over %s", (era, transport) => {
  test("is connected, listed, called, asks, reports progress, and is cancelled", async (context) => {
    const { upstream } = await fixture(context, era, transport);
    const tools = await upstream.list("tools", undefined, never());
    expect(tools.items.map(({ name }) => name)).toContain("test_simple_text");
    expect(upstream.facts?.serverInfo).toMatchObject({ name: "cardea-fixture" });

    const host = client({ capabilities: CAPABLE });
    const name = era === "legacy" ? "test_elicitation" : "test_input_required_result_elicitation";
    const asking = calling({ client: host, params: { name, arguments: { message: "who?" } } });
    const { reply, rounds } = await converse(upstream, asking);
    expect(rounds).toBe(1);
    expect(textOf(reply)).toMatch(/Ada/);

    const work = (steps: number) => ({
      name: "work",
      arguments: { label: "w", steps, stepMs: 20 },
      _meta: { progressToken: "mine" },
    });
    const short = calling({ client: host, params: work(2), logLevel: "info" });
    await upstream.call(short.call);
    const progress = short.notices.filter(({ method }) => method === "notifications/progress");
    expect(progress.map(({ params }) => [params?.progressToken, params?.progress])).toEqual([
      ["mine", 1],
      ["mine", 2],
    ]);
    expect(short.notices.some(({ method }) => method === "notifications/message")).toBe(true);

    const long = calling({ client: host, params: work(1_000) });
    const given = failure(upstream.call(long.call));
    await until("progress of the long call", () => long.notices.length > 0);
    long.giveUp();
    expect((await given).code).toBe("cancelled");
  });
});

test.concurrent("fifty indistinguishable hosts call at once over stdio: each gets its own response", async (context) => {
  const { upstream } = await fixture(context, "legacy", "stdio");
  const host = client({ capabilities: CAPABLE });
  const replies = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const first = calling({
        client: host,
        params: { name: "test_elicitation", arguments: { message: "who?" } },
      });
      const reply = await upstream.call(first.call);
      if (reply.kind !== "input_required" || reply.state === undefined) throw new Error("not asked");
      const content = { response: `host ${index}` };
      const inputResponses = {
        responses: { elicitation_1: { action: "accept", content } },
        state: reply.state,
      };
      return upstream.call(calling({ params: first.call.params, client: host, inputResponses }).call);
    }),
  );
  expect(replies.map(textOf)).toEqual(
    replies.map((_, index) => `action=accept, content={"response":"host ${index}"}`),
  );
});

test.concurrent("a server that is killed is reconnected, and its calls have ended", async (context) => {
  const { upstream } = await fixture(context, "legacy", "stdio");
  await upstream.list("tools", undefined, never());
  const died = await failure(upstream.call(calling({ params: { name: "crash", arguments: {} } }).call));
  expect(died).toMatchObject({ code: "upstream_closed" });
  expect(died.message).toContain("SIGKILL");
  const reply = await until("another process", async () => {
    const again = calling({ params: { name: "process_id", arguments: {} } });
    return upstream.call(again.call).catch(() => undefined);
  });
  expect(Number(textOf(reply))).toBeGreaterThan(0);
});

test.concurrent("the lost session of a restarted HTTP server is reopened without an error", async (context) => {
  const first = await startFixture("legacy", "http");
  // One address, whatever port the server finds when it comes again.
  const proxy = await faultProxy(String(first.entry.url));
  context.onTestFinished(() => proxy.close());
  const upstream = start(context, http(proxy.url), "legacy");
  await upstream.list("tools", undefined, never());
  await first.stop();
  const again = await startFixture("legacy", "http");
  context.onTestFinished(() => again.stop());
  proxy.leadTo(String(again.entry.url));
  const reply = await upstream.call(calling({ params: { name: "test_simple_text", arguments: {} } }).call);
  expect(reply.kind).toBe("result");
});

test.concurrent("server-everything lists by client capabilities, and asks the client", async (context) => {
  const main = inRepository("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
  const upstream = start(context, stdio({ command: process.execPath, args: [main] }));
  const host = client({ capabilities: CAPABLE });
  const names = async (of?: typeof host): Promise<readonly unknown[]> =>
    (await upstream.list("tools", of, never())).items.map(({ name }) => name);
  const everybody = await names();
  const mine = await until("the tools for able clients", async () => {
    const listed = await names(host);
    return listed.includes("trigger-elicitation-request") ? listed : undefined;
  });
  expect(mine.filter((name) => !everybody.includes(name))).toEqual(
    expect.arrayContaining(["trigger-elicitation-request", "trigger-sampling-request"]),
  );
  const sampling = calling({
    client: host,
    params: { name: "trigger-sampling-request", arguments: { prompt: "capital of France?" } },
  });
  const { reply, rounds } = await converse(upstream, sampling);
  expect(rounds).toBeGreaterThan(0);
  expect(JSON.stringify(resultOf(reply))).toContain("Paris");
});

test.concurrent("a server that exits when its first message is not initialize is connected as legacy", async (context) => {
  const script = `
    const lines = require("node:readline").createInterface({ input: process.stdin });
    let first = true;
    lines.on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (first && method !== "initialize") process.exit(1);
      first = false;
      const result = method === "initialize"
        ? { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "strict" } }
        : { tools: [{ name: "only", inputSchema: { type: "object" } }] };
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`;
  const upstream = start(context, stdio({ command: process.execPath, args: ["-e", script] }));
  expect((await upstream.list("tools", undefined, never())).items).toMatchObject([{ name: "only" }]);
});
