import { describe, expect, test } from "vitest";
import { uriNamespace } from "../../src/catalog/naming.js";
import type { Reply } from "../../src/core/call.js";
import { type Renaming, renameNotice, renameReply } from "../../src/routing/rename-results.js";
import type { JsonObject } from "../../src/wire/json.js";
import { Payload } from "../../src/wire/payload.js";
import { resultReply } from "../support/fake-upstream.js";
import fc from "../support/fast-check.js";
import { resultOf } from "./support.js";

const space = uriNamespace("s");
const expose = (uri: string) => space?.expose(uri) ?? uri;
const reveal = (uri: string) => space?.reveal(uri) ?? uri;
const there: Renaming = { uri: expose, page: expose, isHidden: undefined };
const back: Renaming = { uri: reveal, page: reveal, isHidden: undefined };
const stay: Renaming = { uri: (uri) => uri, page: (uri) => uri, isHidden: undefined };

const METHODS = [
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/get",
  "skills/list",
  "other/x",
] as const;

describe("positions", () => {
  const a = "test://a";
  const A = "s+test://a";
  const link = (uri: string) => ({ type: "resource_link", uri, name: uri });
  const embedded = (uri: string) => ({ type: "resource", resource: { uri, text: uri, _meta: { uri } } });

  test.each<[string, string, (uri: string) => JsonObject]>([
    [
      "contents of a resource",
      "resources/read",
      (uri) => ({
        contents: [
          { uri, text: a },
          { uri, blob: "" },
        ],
      }),
    ],
    [
      "a link in a tool's result",
      "tools/call",
      (uri) => ({ content: [link(uri)].map((x) => ({ ...x, name: a })) }),
    ],
    [
      "an embedded resource in a tool's result",
      "tools/call",
      (uri) => ({ content: [{ ...embedded(a), resource: { ...embedded(a).resource, uri } }] }),
    ],
    [
      "the block of a prompt's message",
      "prompts/get",
      (uri) => ({ description: a, messages: [{ role: "user", content: { type: "resource_link", uri } }] }),
    ],
    [
      "the blocks of a message",
      "prompts/get",
      (uri) => ({
        messages: [
          {
            content: [
              { type: "text", text: a },
              { type: "resource_link", uri },
            ],
          },
        ],
      }),
    ],
    [
      "a result inside a message",
      "prompts/get",
      (uri) => ({
        messages: [
          {
            content: [
              {
                type: "tool_result",
                content: [{ type: "resource_link", uri }],
                structuredContent: { uri: a },
              },
            ],
          },
        ],
      }),
    ],
    [
      "the result of a task",
      "tasks/get",
      (uri) => ({ taskId: a, result: { content: [{ type: "resource_link", uri }] } }),
    ],
    [
      "a question of a task",
      "tasks/get",
      (uri) => ({
        inputRequests: {
          k: {
            method: "sampling/createMessage",
            params: { messages: [{ role: "user", content: { type: "resource_link", uri } }] },
          },
        },
      }),
    ],
    [
      "skills",
      "skills/list",
      (uri) => ({ skills: [{ uri, frontmatter: { uri: a }, resources: [{ uri, size: 1 }] }] }),
    ],
    ["a skill", "skills/get", (uri) => ({ skill: { uri, resources: [{ uri }] } })],
    ["a folder", "resources/directory/read", (uri) => ({ resources: [{ uri, name: a }] })],
  ])("%s", (_, method, result) => {
    expect(resultOf(renameReply(method, resultReply(result(a), "text"), there))).toEqual(result(A));
  });

  test("pages that show a result", () => {
    const meta = (uri: string) => ({
      _meta: { ui: { resourceUri: uri }, "ui/resourceUri": uri, "openai/outputTemplate": uri, uri: "ui://p" },
      structuredContent: { resourceUri: "ui://p" },
    });
    expect(resultOf(renameReply("tools/call", resultReply(meta("ui://p"), "text"), there))).toEqual(
      meta("ui://s/p"),
    );
  });

  test("a page that is hidden is not referred to", () => {
    const result = { content: [], _meta: { ui: { resourceUri: "ui://p", csp: {} } } };
    const hiding: Renaming = { ...there, page: () => undefined };
    expect(resultOf(renameReply("tools/call", resultReply(result), hiding))).toEqual({
      content: [],
      _meta: { ui: { csp: {} } },
    });
  });

  test("the resource an error is about", () => {
    const error = (uri: string): Reply => ({
      kind: "error",
      error: { code: -32602, message: `no ${a}`, data: { uri, more: a } },
    });
    expect(renameReply("resources/read", error(a), there)).toEqual(error(A));
  });

  test("what a server asks a model, and nothing else that it asks", () => {
    const asks = (uri: string): Reply => ({
      kind: "input_required",
      state: { server: a },
      requests: {
        model: {
          method: "sampling/createMessage",
          params: {
            messages: [
              { role: "user", content: [{ type: "tool_result", content: [{ type: "resource_link", uri }] }] },
            ],
            systemPrompt: a,
          },
        },
        person: { method: "elicitation/create", params: { mode: "url", url: a, uri: a } },
        roots: { method: "roots/list" },
      },
    });
    expect(renameReply("tools/call", asks(a), there)).toEqual(asks(A));
  });

  test("a notice of an update", () => {
    const updated = (uri: string) => ({
      method: "notifications/resources/updated",
      params: { uri, _meta: { uri: a } },
    });
    expect(renameNotice(updated(a), there)).toEqual(updated(A));
  });
});

describe("everything else", () => {
  const uri = fc.constantFrom("test://a", "file:///x", "ui://p", "https://example.com/", "not a uri", "");
  const anything = fc.jsonValue({ maxDepth: 2 }).filter((value) => JSON.stringify(value).length < 200);
  const members = fc.dictionary(
    fc.constantFrom(
      "text",
      "name",
      "data",
      "structuredContent",
      "annotations",
      "x",
      "uri2",
      "Uri",
      "__proto__",
    ),
    anything,
    { maxKeys: 3 },
  );
  const withMembers = (core: fc.Arbitrary<object>) =>
    fc.tuple(members, core).map(([others, own]) => ({ ...others, ...own }));
  const block: fc.Arbitrary<object> = fc.letrec<{ block: object }>((tie) => ({
    block: fc.oneof(
      { maxDepth: 3 },
      withMembers(fc.record({ type: fc.constantFrom("text", "image", "unheard_of"), uri })),
      withMembers(fc.record({ type: fc.constant("resource_link"), uri: fc.oneof(uri, anything) })),
      withMembers(
        fc.record({
          type: fc.constant("resource"),
          resource: fc.oneof(withMembers(fc.record({ uri })), anything),
        }),
      ),
      withMembers(
        fc.record({
          type: fc.constant("tool_result"),
          content: fc.oneof(fc.array(tie("block"), { maxLength: 2 }), anything),
        }),
      ),
    ),
  })).block;
  const result = withMembers(
    fc.record(
      {
        content: fc.oneof(fc.array(fc.oneof(block, anything), { maxLength: 3 }), anything),
        contents: fc.oneof(fc.array(withMembers(fc.record({ uri })), { maxLength: 2 }), anything),
        messages: fc.oneof(
          fc.array(fc.record({ role: anything, content: fc.oneof(block, fc.array(block)) }), {
            maxLength: 2,
          }),
          anything,
        ),
        structuredContent: fc.oneof(fc.record({ uri, content: fc.array(block, { maxLength: 2 }) }), anything),
        _meta: fc.oneof(
          fc.record({ ui: fc.oneof(fc.record({ resourceUri: uri }), anything), "ui/resourceUri": uri }),
          anything,
        ),
      },
      { requiredKeys: [] },
    ),
  )
    // As it would come from the wire, where there is no minus zero.
    .map((value): JsonObject => JSON.parse(JSON.stringify(value)));

  test("is unchanged: renaming and renaming back is the identity", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...METHODS),
        result,
        fc.constantFrom("text", "object"),
        (method, given, as) => {
          const reply = resultReply(given, as);
          const renamed = renameReply(method, reply, there);
          expect(resultOf(renameReply(method, renamed, back))).toEqual(given);
          const { structuredContent } = given;
          expect(resultOf(renamed).structuredContent).toEqual(structuredContent);
          expect(Object.keys(resultOf(renamed))).toEqual(Object.keys(given));
        },
      ),
      { seed: 20261120, numRuns: 3_000 },
    );
  });

  test("and where no URI changes, the reply is the very same", () => {
    fc.assert(
      fc.property(fc.constantFrom(...METHODS), result, (method, given) => {
        const reply = resultReply(given, "text");
        expect(renameReply(method, reply, stay)).toBe(reply);
      }),
      { seed: 20261120, numRuns: 1_000 },
    );
  });

  test("is not even parsed where no URI can be in it", () => {
    const reply: Reply = {
      kind: "result",
      result: Payload.ofText('{"content":[{"type":"text","text":"\\"uri\\""}]} no JSON'),
    };
    expect(renameReply("tools/call", reply, there)).toBe(reply);
  });

  test.each(["ui/resourceUri", "openai/outputTemplate"])(
    "finds %s also where its server writes a slash as an escape",
    (key) => {
      const text = JSON.stringify({ content: [], _meta: { [key]: "ui://a" } }).replaceAll("/", "\\/");
      const renamed = renameReply("tools/call", { kind: "result", result: Payload.ofText(text) }, there);
      expect(resultOf(renamed)).toEqual({ content: [], _meta: { [key]: expose("ui://a") } });
    },
  );

  test("keeps the _meta of the reply", () => {
    const reply: Reply = {
      kind: "result",
      result: Payload.ofObject({ contents: [{ uri: "test://a" }] }),
      freshness: { ttlMs: 7, scope: "public" },
    };
    expect(renameReply("resources/read", reply, there)).toMatchObject({
      freshness: { ttlMs: 7, scope: "public" },
    });
  });
});
