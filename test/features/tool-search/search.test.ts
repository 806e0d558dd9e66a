/** `find_tools` and `call_tool` in front of the whole gateway, for hosts of both eras over both transports. */
import "../admin/needed.js";
import { describe, expect, test } from "vitest";
import { testOf } from "../../support/features.js";
import { HOSTS, openGateway, type Running, type Server } from "../../support/open-gateway.js";
import type { Json } from "../../support/peers/host.js";
import type { RawHost } from "../../support/peers/raw.js";
import { eachValue } from "../../support/sample.js";

const object = (properties: object, required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
});
const tool = (name: string, description: string, properties: object = {}) => ({
  name,
  description,
  inputSchema: object(properties),
});

const GIT: Server = {
  tools: [
    {
      ...tool("log", "Shows the commit log. It is long."),
      title: "Log",
      annotations: { readOnlyHint: true },
    },
    tool("commit", "Records changes in the repository", { message: { type: "string" } }),
    tool("branch", "Lists branches of the repository"),
    tool("push", "Sends commits to a remote repository"),
    tool("clone", "Copies a remote repository"),
  ],
  prompts: ["review"],
};
const BANK: Server = { tools: [tool("transfer", "Transfers money to a repository of funds")] };

const SEARCH = { tools: { exposure: "search" } };

const servers = (config: object = {}): Promise<Running> =>
  openGateway({ git: GIT, bank: BANK }, { ...SEARCH, ...config });

let lastId = 0;
async function call(host: RawHost, name: string, args?: unknown, more: Json = {}): Promise<Json> {
  lastId += 1;
  const params = { name, ...(args !== undefined && { arguments: args }), ...more };
  return host.send(`search-${lastId}`, "tools/call", params);
}
const resultOf = (response: Json): Json => {
  if (response.error !== undefined) throw new Error(JSON.stringify(response.error));
  return response.result as Json;
};
interface Found {
  readonly tools: readonly Json[];
  readonly total: number;
  readonly next?: string;
}
async function find(host: RawHost, query: string, more: Json = {}): Promise<Found> {
  const result = resultOf(await call(host, "find_tools", { query, ...more }));
  if (result.isError === true) throw new Error(JSON.stringify(result));
  return result.structuredContent as Found;
}
const namesOf = (entries: readonly Json[]) => entries.map(({ name }) => name);
const textOf = (response: Json) => (resultOf(response).content as { text: string }[])[0]?.text ?? "";

const DRAWN = eachValue("hosts that search", HOSTS, ({ era, door }) => [era, door]);

describe.each(DRAWN)("a $era host over $door", (kind) => {
  test("lists two tools and those that are pinned, and all prompts", async () => {
    const running = await servers({ tools: { exposure: "search", pinned: ["git__lo*"] } });
    const host = await running.host(kind);
    const tools = await host.list("tools");
    expect(namesOf(tools)).toEqual(["find_tools", "call_tool", "git__log"]);
    for (const entry of tools.slice(0, 2)) expect(entry._meta).toEqual({ "anthropic/alwaysLoad": true });
    expect(tools[0]?.annotations).toMatchObject({ readOnlyHint: true });
    expect(tools[1]).not.toHaveProperty("outputSchema");
    expect(namesOf(await host.list("prompts"))).toEqual(["git__review"]);
  });

  test("finds a tool by words, with the entry that a list would show, and calls it", async () => {
    const running = await servers();
    const host = await running.host(kind);
    const { tools, total } = await find(host, "record changes");
    expect(tools[0]).toEqual({
      name: "git__commit",
      server: "git",
      description: "Records changes in the repository",
      inputSchema: object({ message: { type: "string" } }),
    });
    expect(total).toBe(tools.length);
    expect(running.received).toEqual([]);
    const args = { message: "one" };
    expect(resultOf(await call(host, "call_tool", { name: "git__commit", arguments: args }))).toMatchObject({
      content: [],
    });
    expect(running.received).toMatchObject([{ server: "git", params: { name: "commit", arguments: args } }]);
  });

  test("gets schemas of the first three, a line about the others, and the way to more", async () => {
    const host = await (await servers()).host(kind);
    const { tools, total, next } = await find(host, "repository", { limit: 4 });
    expect(tools.map((entry) => Object.hasOwn(entry, "inputSchema"))).toEqual([true, true, true, false]);
    expect(total).toBe(5);
    expect(next).toContain("4 of 5");
    expect(await find(host, "repository", { limit: 4 })).toEqual({ tools, total, next });
    const names = await find(host, "repository", { detail: "name" });
    expect(names.tools.every((entry) => Object.keys(entry).sort().join() === "description,name,server")).toBe(
      true,
    );
    const brief = await find(host, "log", { detail: "brief" });
    expect(brief.tools[0]).toEqual({
      name: "git__log",
      server: "git",
      title: "Log",
      description: "Shows the commit log.",
    });
    const whole = await find(host, "repository", { detail: "schema" });
    expect(whole.tools.every((entry) => Object.hasOwn(entry, "inputSchema"))).toBe(true);
  });

  test("gets the definition of a tool by its exact name, alone, also as text", async () => {
    const host = await (await servers()).host(kind);
    const response = await call(host, "find_tools", { query: " git__log " });
    const found = resultOf(response).structuredContent as Found;
    expect(found).toMatchObject({
      tools: [{ name: "git__log", title: "Log", description: "Shows the commit log. It is long." }],
      total: 1,
    });
    expect(JSON.parse(textOf(response))).toEqual(found);
  });

  test("sees the tools of one server, in order, for no words", async () => {
    const host = await (await servers()).host(kind);
    expect(namesOf((await find(host, "", { server: "git", limit: 2 })).tools)).toEqual([
      "git__log",
      "git__commit",
    ]);
    expect(namesOf((await find(host, "repository", { server: "bank" })).tools)).toEqual(["bank__transfer"]);
    expect(textOf(await call(host, "find_tools", { query: "x", server: "gti" }))).toContain(
      "the servers are git, bank",
    );
    expect((await find(host, "zzz")).next).toContain("the servers are git, bank");
  });

  test("sends the server the very same request as by the tool's own name", async () => {
    const running = await servers();
    const host = await running.host(kind);
    const args = { message: "é", deep: [{ n: null }] };
    const _meta = { "example.org/x": { a: 1 }, progressToken: "p" };
    await call(host, "git__commit", args, { _meta, extra: true });
    await call(host, "call_tool", { name: "git__commit", arguments: args }, { _meta, extra: true });
    await call(host, "git__log", undefined);
    await call(host, "call_tool", { name: "git__log" });
    // Each request of the gateway has a token of its own.
    const sent = running.received.map(({ params }) => ({
      ...params,
      _meta: { ...(params._meta as Json), progressToken: 0 },
    }));
    expect(sent).toHaveLength(4);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[3]).toEqual(sent[2]);
    expect(sent[0]).toMatchObject({
      name: "commit",
      arguments: args,
      extra: true,
      _meta: { "example.org/x": { a: 1 } },
    });
    const [direct, wrapped] = running.received.map(({ headers }) => headers);
    expect(wrapped?.["mcp-name"]).toBe(direct?.["mcp-name"]);
  });

  test.each<[string, unknown, string]>([
    ["no arguments", undefined, '"name"'],
    ["no name", { arguments: {} }, '"name"'],
    ["an empty name", { name: "" }, '"name"'],
    ["a name that is no text", { name: 1 }, '"name"'],
    ["arguments that are JSON in a text", { name: "git__log", arguments: "{}" }, '"arguments"'],
    ["arguments that are a list", { name: "git__log", arguments: [] }, '"arguments"'],
    ["arguments beside the name", { name: "git__commit", message: "m" }, '"message"'],
    ["another spelling", { name: "git__log", Arguments: {} }, '"Arguments"'],
    ["itself", { name: "call_tool", arguments: { name: "git__log" } }, "itself"],
    ["find_tools", { name: "find_tools", arguments: { query: "x" } }, "find_tools itself"],
  ])("gets an error that explains what is wrong with call_tool and %s", async (_, args, what) => {
    const running = await servers();
    const response = await call(await running.host(kind), "call_tool", args);
    expect(textOf(response)).toContain(what);
    expect(resultOf(response)).toMatchObject({
      isError: true,
      _meta: { "cardea/refusal": { code: "bad_request", retryable: false } },
    });
    expect(running.received).toEqual([]);
  });

  test.each<[string, Json, string]>([
    ["no query", {}, '"query"'],
    ["a query that is no text", { query: 1 }, '"query"'],
    ["a limit beyond the highest", { query: "x", limit: 51 }, '"limit"'],
    ["a limit that is no whole number", { query: "x", limit: 1.5 }, '"limit"'],
    ["another detail", { query: "x", detail: "all" }, '"detail"'],
    ["another argument", { query: "x", servers: [] }, '"servers"'],
  ])("gets an error that explains what is wrong with find_tools and %s", async (_, args, what) => {
    const response = await call(await (await servers()).host(kind), "find_tools", args);
    expect(textOf(response)).toContain(what);
    expect(resultOf(response)).toMatchObject({ isError: true });
  });

  testOf("policy")(
    "can neither find nor describe what rules hide from it, nor learn that it is there",
    async () => {
      const hide = { tools: ["bank__*"], principals: ["ann"], effect: "hide" };
      const running = await servers({ policy: { rules: [hide] } });
      const host = await running.host(kind);
      for (const query of ["transfer money", "bank__transfer", "bank", ""]) {
        expect(JSON.stringify(await find(host, query, { limit: 50 }))).not.toMatch(/bank__|"bank"/);
      }
      const hidden = await call(host, "call_tool", { name: "bank__transfer" });
      const absent = await call(host, "call_tool", { name: "bank__nothing" });
      expect(hidden.error).toMatchObject({ code: -32602 });
      expect(JSON.stringify(hidden.error)).toBe(
        JSON.stringify(absent.error).replaceAll("bank__nothing", "bank__transfer"),
      );
      const noServer = textOf(await call(host, "find_tools", { query: "x", server: "bank" }));
      const unknown = textOf(await call(host, "find_tools", { query: "x", server: "none" }));
      expect(noServer.replaceAll("bank", "none")).toBe(unknown);
      expect(host.introduction().instructions).not.toContain("bank");
      expect(running.received).toEqual([]);
    },
  );

  test("gets the most similar names that it may see", async () => {
    const host = await (await servers()).host(kind);
    const { error } = await call(host, "call_tool", { name: "git__commits" });
    expect((error as Json).message).toMatch(/^unknown tool: git__commits; the nearest are git__commit/);
  });

  testOf("policy")("searches and calls what a policy that denies by default allows", async () => {
    const policy = { default: "deny", rules: [{ tools: ["git__log"], effect: "allow" }] };
    const host = await (await servers({ policy })).host(kind);
    expect((await find(host, "log")).tools[0]).toMatchObject({ name: "git__log" });
    expect(resultOf(await call(host, "call_tool", { name: "git__log" }))).toMatchObject({ content: [] });
    expect(resultOf(await call(host, "call_tool", { name: "git__push" }))).toMatchObject({
      isError: true,
      _meta: { "cardea/refusal": { code: "denied", server: "git" } },
    });
  });

  testOf("policy")("has a limit for its searches, which its calls do not use up", async () => {
    const limits = [{ name: "few", tools: ["*"], rate: "2/h", per: "principal" }];
    const host = await (await servers({ limits })).host(kind);
    for (let at = 0; at < 2; at += 1) await find(host, "log");
    expect(resultOf(await call(host, "find_tools", { query: "log" }))).toMatchObject({
      isError: true,
      _meta: { "cardea/refusal": { code: "rate_limited", rule: "few", retryable: true } },
    });
    for (const name of ["git__log", "git__push"]) {
      expect(resultOf(await call(host, "call_tool", { name })).isError).toBeUndefined();
    }
    expect(resultOf(await call(host, "call_tool", { name: "git__log" }))).toMatchObject({
      _meta: { "cardea/refusal": { code: "rate_limited", server: "git" } },
    });
  });

  test("calls a tool that is not listed by its own name, too", async () => {
    const running = await servers();
    expect(resultOf(await call(await running.host(kind), "git__log"))).toMatchObject({ content: [] });
    expect(running.received).toMatchObject([{ params: { name: "log" } }]);
  });

  test("reads of each server in the instructions", async () => {
    const { instructions } = (await (await servers()).host(kind)).introduction();
    expect(instructions).toContain("- git: 5 tools");
    expect(instructions).toContain("- bank: 1 tool");
    expect(instructions).toContain("find_tools");
  });

  test("has search at a URL with that exposure only", async () => {
    const running = await servers({
      tools: {},
      profiles: {
        short: {
          tools: { exposure: "search", pinned: ["log"], deny: ["bank__*"] },
          servers: ["git", "bank"],
        },
      },
    });
    const whole = await running.host(kind);
    expect(namesOf(await whole.list("tools"))).toContain("bank__transfer");
    expect((await call(whole, "find_tools", { query: "x" })).error).toMatchObject({ code: -32602 });
    if (kind.door === "stdio") return;
    const short = await running.host(kind, "ann", "/short");
    expect(namesOf(await short.list("tools"))).toEqual(["find_tools", "call_tool", "git__log"]);
    expect(JSON.stringify(await find(short, "", { limit: 50 }))).not.toContain("bank");
    expect((await call(short, "call_tool", { name: "bank__transfer" })).error).toMatchObject({
      code: -32602,
    });
  });
});

const MODERN = { era: "modern", door: "http" } as const;

describe("the state of a question", () => {
  const asks = { one: { method: "roots/list" } };
  const quiz: Server = {
    tools: ["start"],
    answer: ({ method, params }) => {
      if (method !== "tools/call") return undefined;
      return params.inputResponses === undefined
        ? { resultType: "input_required", inputRequests: asks, requestState: "s" }
        : { content: [{ type: "text", text: "told" }] };
    },
  };
  const answers = { inputResponses: { one: { roots: [] } } };

  test.each([
    ["call_tool", { name: "quiz__start", arguments: {} }, "quiz__start", {}],
    ["quiz__start", {}, "call_tool", { name: "quiz__start", arguments: {} }],
  ])("that came to a call of %s is answered there, and nowhere else", async (one, args, other, otherArgs) => {
    const running = await openGateway({ quiz }, SEARCH);
    const host = await running.host(MODERN);
    host.meta = { ...host.meta, "io.modelcontextprotocol/clientCapabilities": { roots: {} } };
    const { requestState } = resultOf(await call(host, one, args));
    expect(requestState).toBeTypeOf("string");
    const stray = await call(host, other, otherArgs, { ...answers, requestState });
    expect(stray.error).toMatchObject({ code: -32602, data: { cardea: { code: "state_rejected" } } });
    expect(textOf(await call(host, one, args, { ...answers, requestState }))).toBe("told");
  });
});

test("a header that looks like that of an argument does not reach the server of a call of call_tool", async () => {
  const running = await servers();
  const host = await running.host(MODERN);
  const name = "git__commit";
  const body = host.message(1, "tools/call", { name: "call_tool", arguments: { name, arguments: {} } });
  const headers = { ...host.headersOf("tools/call", "call_tool"), "mcp-param-message": "smuggled" };
  const response = await running.fetch("/mcp", {
    method: "POST",
    headers: headers as Record<string, string>,
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  expect(running.received[0]?.headers).not.toHaveProperty("mcp-param-message");
  const wrong = { ...headers, "mcp-name": name } as Record<string, string>;
  const refused = await running.fetch("/mcp", { method: "POST", headers: wrong, body: JSON.stringify(body) });
  expect(refused.status).toBe(400);
});

test("what the config sets for a tool applies to a call through call_tool", async () => {
  const git = {
    ...GIT,
    entry: { overrides: { commit: { name: "save", arguments: { fixed: { message: "fixed" } } } } },
  };
  const running = await openGateway({ git }, SEARCH);
  const host = await running.host(MODERN);
  expect((await find(host, "git__save")).tools).toMatchObject([
    { name: "git__save", inputSchema: { properties: {} } },
  ]);
  await call(host, "call_tool", { name: "git__save", arguments: { message: "sent" } });
  expect(running.received).toMatchObject([{ params: { name: "commit", arguments: { message: "fixed" } } }]);
});

test("calls through call_tool and searches are in the metrics", async () => {
  const running = await servers();
  const host = await running.host(MODERN);
  await find(host, "log");
  await find(host, "zzz");
  await call(host, "call_tool", { name: "git__log" });
  await call(host, "git__log");
  const text = await (await fetch(`${running.adminUrl}/metrics`)).text();
  expect(text).toContain('cardea_search_calls_total{server="git",tool="log",outcome="ok"} 1\n');
  expect(text).toContain('cardea_requests_total{method="tools/call",server="git",outcome="ok"} 2\n');
  expect(text).toContain('cardea_requests_total{method="tools/call",server="none",outcome="ok"} 2\n');
  expect(text).toContain('cardea_tool_searches_total{result="found"} 1\n');
  expect(text).toContain('cardea_tool_searches_total{result="none"} 1\n');
});

describe("a server without a prefix that lists one of the names", () => {
  const server: Server = { tools: ["call_tool", "other"], entry: { prefix: "" } };

  test("has its tool under a name with a hash ending where hosts may search", async () => {
    const running = await openGateway({ server }, SEARCH);
    const host = await running.host(MODERN);
    const found = namesOf((await find(host, "", {})).tools);
    expect(found).toEqual([expect.stringMatching(/^call_tool_[a-z2-7]{8}$/), "other"]);
    await call(host, "call_tool", { name: found[0] });
    expect(running.received).toMatchObject([{ params: { name: "call_tool" } }]);
  });

  test("keeps it where they may not", async () => {
    const host = await (await openGateway({ server })).host(MODERN);
    expect(namesOf(await host.list("tools"))).toEqual(["call_tool", "other"]);
  });
});
