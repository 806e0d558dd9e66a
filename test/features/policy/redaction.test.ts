/** What a rule that redacts takes out, wherever it stands, and what it must leave alone. */
import { describe, expect, test, vi } from "vitest";
import type { Call, Notice, Reply } from "../../../src/core/call.js";
import type { RuleConfig } from "../../../src/features/policy/config.js";
import { ExactNumber } from "../../../src/wire/json.js";
import { decodeHeaderValue, encodeHeaderValue } from "../../../src/wire/mirrored-headers.js";
import { result, routeTo, toolCall, wordOf } from "../../support/calls.js";
import { THROUGH_CALL_TOOL } from "../../support/through.js";
import { elicitation } from "./replies.js";
import { policyOf } from "./support.js";

const NOTHING = { paths: [], patterns: [] };
const KEY = "AKIAIOSFODNN7EXAMPLE";
const PATTERN = "AKIA[0-9A-Z]{16}";
const CARD = 4111111111111111;

const rule = (given: Partial<NonNullable<RuleConfig["redact"]>>): Pick<RuleConfig, "effect" | "redact"> => ({
  effect: "redact",
  redact: { arguments: NOTHING, results: NOTHING, replacement: "[redacted]", ...given },
});
const inResults = (patterns: readonly string[], paths: readonly string[] = []) =>
  policyOf.bind(undefined, { rules: [rule({ results: { patterns, paths } })] });
const inArguments = (patterns: readonly string[], paths: readonly string[] = []) =>
  policyOf({ rules: [rule({ arguments: { patterns, paths } })] });

async function resultOf(
  object: object,
  patterns: readonly string[],
  paths: readonly string[] = [],
): Promise<unknown> {
  const { handle } = inResults(patterns, paths)(async () => result(object as never));
  const reply = await handle(toolCall("db", "query"));
  return reply.kind === "result" ? reply.result.object : reply;
}

async function sent(call: Call, patterns: readonly string[], paths: readonly string[] = []): Promise<Call> {
  const { handle, calls } = inArguments(patterns, paths);
  await handle(call);
  return calls[0] as Call;
}

describe("bytes of content", () => {
  test.each<[string, object]>([
    ["a tool's image", { content: [{ type: "image", data: KEY, mimeType: "image/png" }] }],
    ["a tool's sound", { content: [{ type: "audio", data: KEY, mimeType: "audio/wav" }] }],
    ["a tool's resource", { content: [{ type: "resource", resource: { uri: "a:b", blob: KEY } }] }],
    ["a resource", { contents: [{ uri: "a:b", blob: KEY }] }],
    ["a prompt's image", { messages: [{ role: "user", content: { type: "image", data: KEY } }] }],
    ["what a task came to", { taskId: "t", result: { content: [{ type: "image", data: KEY }] } }],
  ])("%s is not redacted", async (_, object) => {
    expect(await resultOf(object, [PATTERN])).toEqual(object);
  });

  test.each<[string, object]>([
    ["blob in structured content", { content: [], structuredContent: { blob: KEY } }],
    ["data of an image in structured content", { structuredContent: { type: "image", data: KEY } }],
    ["content in structured content", { structuredContent: { content: [{ type: "image", data: KEY }] } }],
    ["blob of a block", { content: [{ type: "text", text: "", blob: KEY }] }],
    ["blob at the top", { blob: KEY, content: [] }],
    ["data of a text", { content: [{ type: "text", text: "", data: KEY }] }],
    ["data in metadata", { content: [], _meta: { type: "image", data: KEY } }],
    [
      "data beside a type in a block's metadata",
      { content: [{ type: "text", text: "", _meta: { type: "image", data: KEY } }] },
    ],
    ["a list in the place of a block", { content: [[{ type: "image", data: KEY }]] }],
    ["what is no Base64", { content: [{ type: "image", data: `key: ${KEY}` }] }],
    ["an object in the place of bytes", { content: [{ type: "image", data: { a: KEY } }] }],
  ])("%s is searched", async (_, object) => {
    expect(JSON.stringify(await resultOf(object, [PATTERN]))).not.toContain(KEY);
  });

  test("in arguments and errors there are none", async () => {
    const args = { blob: KEY, image: { type: "image", data: KEY }, content: [{ type: "image", data: KEY }] };
    expect(JSON.stringify((await sent(toolCall("db", "query", args), [PATTERN])).params)).not.toContain(KEY);
    const error = {
      code: -1,
      message: KEY,
      data: { type: "image", data: KEY, blob: KEY, deep: [{ blob: KEY }] },
    };
    const { handle } = inResults([PATTERN])(async (): Promise<Reply> => ({ kind: "error", error }));
    const reply = await handle(toolCall("db", "query"));
    expect(reply).toMatchObject({ kind: "error", error: { code: -1, message: "[redacted]" } });
    expect(JSON.stringify(reply)).not.toContain(KEY);
  });
});

describe("keys and numbers", () => {
  test("are redacted like texts, in both directions", async () => {
    const object = { content: [], structuredContent: { [KEY]: 1, card: CARD, list: [CARD, 7], rest: true } };
    const clean = { "[redacted]": 1, card: "[redacted]", list: ["[redacted]", 7], rest: true };
    expect(await resultOf(object, [PATTERN, "\\b\\d{16}\\b"])).toEqual({
      content: [],
      structuredContent: clean,
    });
    const call = toolCall("db", "query", object.structuredContent);
    expect((await sent(call, [PATTERN, "\\b\\d{16}\\b"])).params.arguments).toEqual(clean);
  });

  test("a number is matched as written and as parsed", async () => {
    const numbers = ["4.111111111111111e15", "4111111111111111.0"].map((text) => new ExactNumber(text));
    const object = { structuredContent: { numbers, other: new ExactNumber("1.0") } };
    expect(await resultOf(object, ["^\\d{16}$"])).toEqual({
      structuredContent: { numbers: ["[redacted]", "[redacted]"], other: new ExactNumber("1.0") },
    });
  });

  test("two keys that come to the same stay two", async () => {
    const object = { structuredContent: { [KEY]: 1, [`${KEY.slice(0, -1)}F`]: 2, "[redacted]": 3 } };
    const { structuredContent } = (await resultOf(object, [PATTERN])) as { structuredContent: object };
    expect(Object.values(structuredContent).sort()).toEqual([1, 2, 3]);
    expect(JSON.stringify(structuredContent)).not.toContain("AKIA");
  });

  test("very many keys that come to the same take time in proportion to their number", async () => {
    const keys = Array.from({ length: 20_000 }, (_, at) => `AKIA${String(at).padStart(16, "0")}`);
    const object = { structuredContent: Object.fromEntries(keys.map((key, at) => [key, at])) };
    const hasOwn = vi.spyOn(Object, "hasOwn");
    const { structuredContent } = (await resultOf(object, ["AKIA[0-9]{16}"])) as {
      structuredContent: object;
    };
    const looks = hasOwn.mock.calls.length;
    hasOwn.mockRestore();
    expect(Object.values(structuredContent)).toEqual(keys.map((_, at) => at));
    expect(looks).toBeLessThan(10 * keys.length);
  });

  test("the protocol's own names are not redacted", async () => {
    const object = { content: [{ type: "image", data: "abcd", mimeType: "x/y" }], isError: false };
    expect(await resultOf(object, ["content", "data", "mimeType"])).toEqual(object);
  });
});

describe("paths into structured content", () => {
  const users = [{ name: "ann", passwordHash: "x9x9" }, { name: "bob" }];
  const paths = ["structuredContent.users.*.passwordHash"];
  const clean = { users: [{ name: "ann", passwordHash: "[redacted]" }, { name: "bob" }] };
  const block = (text: string) => ({ type: "text", text });

  test.each<[string, string]>([
    ["as it is", JSON.stringify({ users })],
    ["indented", JSON.stringify({ users }, undefined, 2)],
    ["with white space around", `\n ${JSON.stringify({ users })}\n`],
    ["with a name in escapes", JSON.stringify({ users }).replace("passwordHash", "\\u0070asswordHash")],
  ])("lead into the text that says the same: %s", async (_, text) => {
    const object = { content: [block("see:"), block(text)], structuredContent: { users } };
    const found = (await resultOf(object, [], paths)) as { content: { text: string }[] };
    expect(found).toMatchObject({ structuredContent: clean, content: [block("see:"), { type: "text" }] });
    expect(JSON.parse(found.content[1]?.text ?? "")).toEqual(clean);
  });

  const element = JSON.stringify({ name: "ann", passwordHash: "x9x9" });
  test.each<[string, readonly string[]]>([
    ["a block for each element", [element, '{"name":"bob"}']],
    ["several documents", [`${element}\n{"name":"bob"}`]],
    ["JSON between fences", [`\`\`\`json\n${element}\n\`\`\``]],
    ["a list", [JSON.stringify([{ users }])]],
    ["what is wrapped once more", [JSON.stringify({ result: { users } })]],
    ["JSON in JSON", [JSON.stringify(JSON.stringify({ users }))]],
    ["YAML", ["- name: ann\n  passwordHash: x9x9\n"]],
    ["a sentence", ["ann has x9x9, and bob has none"]],
  ])("take what they take out from texts in any form: %s", async (_, texts) => {
    const object = { content: texts.map(block), structuredContent: { users } };
    const found = JSON.stringify(await resultOf(object, [], paths));
    expect(found).not.toContain("x9x9");
    expect(found).toContain("bob");
  });

  test("keep the form of the text, and the very text where there is nothing", async () => {
    const indented = JSON.stringify({ users }, undefined, 2);
    const other = '{ "users": [ ], "x": 1.0 }';
    const found = (await resultOf({ content: [block(indented), block(other)] }, [], paths)) as {
      content: { text: string }[];
    };
    expect(found.content.map(({ text }) => text)).toEqual([JSON.stringify(clean, undefined, 2), other]);
  });

  test("lead into texts of resources that are part of a result", async () => {
    const text = JSON.stringify({ users });
    const object = { content: [{ type: "resource", resource: { uri: "a:b", text } }] };
    expect(JSON.stringify(await resultOf(object, [], paths))).not.toContain("x9x9");
  });

  test("with any member meant lead there too", async () => {
    const object = {
      content: [block(JSON.stringify({ secret: "x9x9" }))],
      structuredContent: { secret: "x9x9" },
    };
    expect(JSON.stringify(await resultOf(object, [], ["*.secret"]))).not.toContain("x9x9");
  });

  test("hold back a text that is too long to be read", async () => {
    const text = `[${" ".repeat(5 * 1024 * 1024)}]`;
    expect(await resultOf({ content: [block(text)] }, [], paths)).toEqual({ content: [block("[redacted]")] });
  });
});

describe("everything that goes to a server", () => {
  const route = toolCall("db", "query").route;
  const of = (method: string, params: object, over: Partial<Call> = {}): Call => ({
    ...toolCall("db", "query"),
    method,
    params: params as Call["params"],
    route,
    ...over,
  });

  test("arguments of prompts", async () => {
    const call = of("prompts/get", { name: "p", arguments: { text: KEY } });
    expect((await sent(call, [PATTERN])).params).toEqual({ name: "p", arguments: { text: "[redacted]" } });
  });

  test("members that the method does not have", async () => {
    const call = of("tools/call", { name: "db__query", arguments: { a: 1 }, note: { [KEY]: KEY }, x: 1 });
    expect((await sent(call, [PATTERN])).params).toEqual({
      name: "db__query",
      arguments: { a: 1 },
      note: { "[redacted]": "[redacted]" },
      x: 1,
    });
  });

  test("what is completed, and the arguments beside it", async () => {
    const params = {
      ref: { type: "ref/prompt", name: "p" },
      argument: { name: "token", value: KEY },
      context: { arguments: { other: KEY, debug: "x" } },
    };
    const clean = {
      ...params,
      argument: { name: "token", value: "[redacted]" },
      context: { arguments: { other: "[redacted]", debug: "x" } },
    };
    expect((await sent(of("completion/complete", params), [PATTERN])).params).toEqual(clean);
    const byPath = (await sent(of("completion/complete", params), [], ["token", "debug"])).params;
    expect(byPath).toMatchObject({
      argument: { name: "token", value: "[redacted]" },
      context: { arguments: { other: KEY, debug: "[redacted]" } },
    });
  });

  // A call of call_tool has no such headers: no schema that its host saw asks for one.
  test.skipIf(THROUGH_CALL_TOOL)("headers that no schema explains, encoded or not", async () => {
    const extraHeaders = {
      "mcp-param-region": "west",
      "mcp-param-note": `see ${KEY}`,
      "mcp-param-other": encodeHeaderValue(`é ${KEY}`),
      "mcp-param-debug": "x",
    };
    const { extraHeaders: clean = {} } = await sent(
      toolCall("db", "query", {}, { extraHeaders }),
      [PATTERN],
      ["options.Debug"],
    );
    expect(Object.entries(clean).map(([name, value]) => [name, decodeHeaderValue(value)])).toEqual([
      ["mcp-param-region", "west"],
      ["mcp-param-note", "see [redacted]"],
      ["mcp-param-other", "é [redacted]"],
      ["mcp-param-debug", "[redacted]"],
    ]);
  });

  test("answers to questions, and what is said of those that were refused", async () => {
    const inputResponses = {
      responses: {
        [KEY]: { action: "accept", content: { type: "image", data: KEY, model: KEY } },
        b: { model: "m", role: "assistant", content: { type: "image", data: KEY, mimeType: "image/png" } },
      },
      refusals: { c: { code: -1, message: KEY, data: { blob: KEY } } },
    };
    const call = toolCall("db", "query", {}, { inputResponses });
    expect((await sent(call, [PATTERN])).inputResponses).toEqual({
      responses: {
        [KEY]: { action: "accept", content: { type: "image", data: "[redacted]", model: "[redacted]" } },
        b: inputResponses.responses.b,
      },
      refusals: { c: { code: -1, message: "[redacted]", data: { blob: "[redacted]" } } },
    });
  });

  test("answers to what a task asks", async () => {
    const call = of("tasks/update", {
      taskId: KEY,
      inputResponses: { a: { action: "accept", content: { k: KEY } } },
    });
    expect((await sent(call, [PATTERN])).params).toEqual({
      taskId: KEY,
      inputResponses: { a: { action: "accept", content: { k: "[redacted]" } } },
    });
  });
});

describe("notices", () => {
  async function heard(notices: readonly Notice[], patterns: readonly string[]): Promise<readonly Notice[]> {
    const seen: Notice[] = [];
    const { handle } = inResults(patterns)(async (call) => {
      for (const notice of notices) call.notify(notice);
      return result({ content: [] });
    });
    await handle(toolCall("db", "query", {}, { notify: (notice) => void seen.push(notice) }));
    return seen;
  }
  const progress = (params: object): Notice => ({
    method: "notifications/progress",
    params: params as never,
  });

  test("lose what a pattern matches, and stay what they are about", async () => {
    const log = { method: "notifications/message", params: { level: "info", data: { blob: KEY, n: CARD } } };
    expect(
      await heard([progress({ progressToken: KEY, progress: 1, message: KEY }), log], [PATTERN, "\\d{16}"]),
    ).toEqual([
      progress({ progressToken: KEY, progress: 1, message: "[redacted]" }),
      { ...log, params: { level: "info", data: { blob: "[redacted]", n: "[redacted]" } } },
    ]);
  });

  test("are dropped when the match is in a number that hosts require", async () => {
    expect(await heard([progress({ progressToken: 1, progress: CARD })], ["\\d{16}"])).toEqual([]);
  });

  test("lose their text when it is too long to be searched", async () => {
    const message = ["a ".repeat(200_000), "b ".repeat(100_000)].join("");
    const data = Array.from({ length: 9 }, () => "c ".repeat(50_000));
    const log = { method: "notifications/message", params: { level: "info", data } };
    expect(await heard([progress({ progressToken: 1, progress: 2, message }), log], [PATTERN])).toEqual([
      progress({ progressToken: 1, progress: 2, message: "[redacted]" }),
      { method: "notifications/message", params: { level: "info", data: "[redacted]" } },
    ]);
  });
});

describe("long texts", () => {
  const words = "lorem ipsum dolor sit amet ".repeat(4_000);

  test("lose every match, and nothing else, wherever it lies", async () => {
    const text = Array.from({ length: 40 }, (_, at) => `${words.slice(0, 1_000 + at * 37)}${KEY}`).join("");
    const object = { content: [{ type: "text", text }] };
    const clean = text.replaceAll(KEY, "[redacted]");
    expect(await resultOf(object, [PATTERN])).toEqual({ content: [{ type: "text", text: clean }] });
  });

  test("without white space too", async () => {
    const text = `${"x".repeat(16_370)}${KEY}${"y".repeat(30_000)}${KEY}`;
    expect(await resultOf({ content: [{ type: "text", text }] }, [PATTERN])).toEqual({
      content: [{ type: "text", text: text.replaceAll(KEY, "[redacted]") }],
    });
  });

  test("are replaced as a whole if a match is longer than one scanned piece", async () => {
    const text = `${words}BEGIN ${words} END`;
    expect(await resultOf({ content: [{ type: "text", text }] }, ["(?s)BEGIN.*END"])).toEqual({
      content: [{ type: "text", text: "[redacted]" }],
    });
  });
});

test("a rule for questions sees the arguments of the call whole", async () => {
  const asking = async (call: Call): Promise<Reply> =>
    call.inputResponses === undefined
      ? { kind: "input_required", requests: { sure: elicitation("sure?") }, state: { server: "s" } }
      : result({ content: [] });
  const rules = [
    { on: "elicitation", when: "args.env == 'prod'", effect: "deny" } as const,
    rule({ arguments: { paths: ["env"], patterns: [] } }),
  ];
  const { handle, calls } = policyOf({ rules }, asking);
  expect(wordOf(await handle(toolCall("db", "query", { env: "prod" })))).toBe("result");
  expect(calls.map(({ params }) => params.arguments)).toEqual([{ env: "[redacted]" }, { env: "[redacted]" }]);
  expect(wordOf(await handle(toolCall("db", "query", { env: "test" })))).toBe("input_required");
});

test("the result of a task is redacted like that of its call where the tool has a name with a hash ending", async () => {
  const route = {
    ...routeTo("other", "files__read"),
    exposed: "files__read_abcdefgh",
    unambiguousName: "files-_read_abcdefgh",
  };
  const redacting = { ...rule({ results: { paths: [], patterns: [PATTERN] } }), servers: ["other"] };
  const { handle } = policyOf({ rules: [{ tools: ["files__*"], effect: "allow" }, redacting] }, async () =>
    result({ content: [{ type: "text", text: KEY }] }),
  );
  const calls = [
    toolCall("other", "x", {}, { params: { name: route.exposed, arguments: {} }, route }),
    toolCall("other", "x", {}, { method: "tasks/result", params: { taskId: "t" }, route }),
  ];
  for (const call of calls) {
    const reply = await handle(call);
    expect(reply.kind === "result" && reply.result.object).toEqual({
      content: [{ type: "text", text: "[redacted]" }],
    });
  }
});
