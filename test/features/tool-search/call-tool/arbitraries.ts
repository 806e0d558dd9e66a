/** Arbitrary policies, calls of tools, and what servers and persons answer to them. */
import fc from "../../../support/fast-check.js";
import { hasFeature } from "../../../support/features.js";
import type { Call, Json, Turn } from "./pair.js";

/** What the server lists. */
export const TOOLS: readonly Json[] = [
  {
    name: "log",
    inputSchema: { type: "object", properties: { n: { type: "number" } } },
    annotations: { readOnlyHint: true },
  },
  { name: "push", inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } },
];

/** One server under two names: as it is, and with checks and readings of its arguments. */
export const entries = (url: string): object => ({
  git: { type: "http", url },
  shop: {
    ...{ type: "http", url },
    ...(hasFeature("schema-checks") && { checks: { arguments: true, results: true } }),
    arguments: { parseJsonText: true },
  },
});

const SECRET = "s3cr3t-7";
const text = fc.constantFrom("a", SECRET, `of ${SECRET}`, "3", "__proto__", "🙂", "");
const value = fc.oneof(text, fc.integer({ min: 0, max: 4 }), fc.constant(null), fc.boolean());
const args = fc.dictionary(fc.constantFrom("n", "a", "token", "name"), fc.oneof(value, fc.array(value)), {
  maxKeys: 3,
});

const subject = fc.record(
  {
    tools: fc.constantFrom(["git__*"], ["*__push"], ["call_tool"], ["{git,shop}__log"]),
    servers: fc.constantFrom(["git"], ["shop"], ["s*"]),
    principals: fc.constantFrom(["ann"], ["b*"]),
  },
  { requiredKeys: [] },
);
const narrowed = fc.record(
  {
    annotations: fc.constantFrom({ readOnlyHint: true }, { destructiveHint: true }),
    when: fc.constantFrom("args.n == 3", "'token' in args", "tool == 'call_tool'", "principal.id == 'ann'"),
  },
  { requiredKeys: [] },
);
const redact = fc.record({
  arguments: fc.constantFrom({ paths: ["token", "*.a"] }, { patterns: ["s3cr3t-[0-9]"] }),
  results: fc.constantFrom({ patterns: ["s3cr3t-[0-9]"] }, { paths: ["content.*.text"] }),
});
const rule = fc
  .tuple(subject, narrowed, redact, fc.constantFrom("allow", "deny", "approve", "redact", "hide"))
  .map(([met, more, removed, effect]) => ({
    ...met,
    ...(effect === "hide" ? {} : more), // what is hidden cannot depend on arguments
    ...(effect === "redact" && { redact: removed }),
    ...(effect === "deny" && { message: "not here" }),
    effect,
  }));
const ruleOfQuestions = fc
  .tuple(subject, fc.constantFrom("sampling", "elicitation", "roots"), fc.constantFrom("allow", "deny"))
  .map(([met, on, effect]) => ({ ...met, on, effect }));
const limit = fc
  .tuple(
    subject,
    fc.constantFrom({ rate: "2/h", burst: 2 }, { quota: "3/h" }, { quota: "1/day" }, { concurrency: 1 }),
    fc.constantFrom("principal", "session", "server", "tool", "all"),
  )
  .map(([met, most, per]) => ({ ...met, ...most, per }));

/** The sections `policy` and `limits`. */
export const config = fc.record({
  policy: fc.record({
    default: fc.constantFrom("allow", "allow", "deny"),
    rules: fc.array(fc.oneof({ weight: 3, arbitrary: rule }, { weight: 1, arbitrary: ruleOfQuestions }), {
      maxLength: 4,
    }),
  }),
  limits: fc.array(limit, { maxLength: 2 }),
});

const content = text.map((it) => [{ type: "text", text: it }]);
const result = fc.oneof(
  content.map((blocks) => ({ content: blocks })),
  content.map((blocks) => ({ content: blocks, isError: true })),
  fc.tuple(content, args).map(([blocks, it]) => ({ content: blocks, structuredContent: it, _meta: { it } })),
);
const question = fc.oneof(
  text.map((message) => ({
    method: "elicitation/create",
    params: { message, requestedSchema: { type: "object", properties: {} } },
  })),
  fc.constant({ method: "sampling/createMessage", params: { messages: [], maxTokens: 9 } }),
  fc.constant({ method: "roots/list" }),
);
const asking = fc
  .tuple(
    fc.dictionary(fc.constantFrom("q1", "q2"), question, { minKeys: 1 }),
    fc.option(text, { nil: undefined }),
  )
  .map(([inputRequests, requestState]) => ({
    resultType: "input_required",
    inputRequests,
    ...(requestState !== undefined && { requestState }),
  }));
const complete = { resultType: "complete" };
const last = fc.oneof(
  { weight: 3, arbitrary: result.map((it) => ({ result: { ...complete, ...it } })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(-32603, -32602, -32000), text)
      .map(([code, message]) => ({ error: { code, message } })),
  },
);
const first = fc.array(
  text.map((data) => ({ method: "notifications/message", params: { level: "error", data } })),
  { maxLength: 1 },
);
const turns = fc
  .tuple(first, fc.array(asking, { maxLength: 2 }), last)
  .map(([said, asked, response]): readonly Turn[] => [
    ...asked.map((it) => ({ first: said, response: { result: it } })),
    { first: said, response },
  ]);
const answer = fc.constantFrom<Json | undefined>(
  ...[
    { action: "accept", content: { yes: true } },
    { action: "accept", content: {} },
  ],
  ...[{ action: "accept", content: { approve: true } }, { action: "decline" }, undefined],
);

/** Calls of one or more hosts, of tools that there are and of others. */
export const calls: fc.Arbitrary<readonly Call[]> = fc.array(
  fc.record({
    person: fc.constantFrom("ann", "bob"),
    era: fc.constantFrom("modern", "legacy"),
    params: fc.record(
      {
        name: fc.constantFrom("git__log", "git__push", "shop__log", "shop__push", "git__none", "none"),
        arguments: args,
        _meta: fc.constantFrom({ "example.com/n": 1 }, { progressToken: "p", "example.com/n": SECRET }),
        "example.com/more": value,
      },
      { requiredKeys: ["name"] },
    ),
    turns,
    answers: fc.array(answer, { maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 6 },
);

const callOf = (name: string, given: Partial<Call> = {}): Call => ({
  ...{ person: "ann", era: "modern", turns: [], answers: [] },
  ...given,
  params: { name, arguments: { n: 3, token: SECRET } },
});
const asked = (requestState: string): Turn => ({
  first: [],
  response: {
    result: {
      ...{ resultType: "input_required", requestState },
      inputRequests: { q1: { method: "roots/list" } },
    },
  },
});
const ACCEPTED = { action: "accept", content: { approve: true } };

/** In every run: a tool that is hidden, limits that are reached, an approval before the questions of the server, a redaction. */
export const EXAMPLES: [object, readonly Call[]][] = [
  [
    {
      policy: {
        default: "allow",
        rules: [
          { tools: ["*__push"], effect: "hide" },
          { servers: ["shop"], effect: "approve", remember: "1h" },
          { effect: "redact", redact: { arguments: { paths: ["token"] } } },
        ],
      },
      limits: [
        { servers: ["git"], rate: "2/h", burst: 2, per: "tool" },
        { servers: ["shop"], quota: "2/h", per: "principal" },
      ],
    },
    [
      ...["git__push", "git__log", "git__log", "git__log"].map((name) => callOf(name)),
      callOf("shop__log", { turns: [asked("one")], answers: [ACCEPTED, { roots: [] }] }),
      ...[1, 2].map(() => callOf("shop__log", { answers: [ACCEPTED] })),
      callOf("shop__log", { era: "legacy", person: "bob", answers: [ACCEPTED] }),
    ],
  ],
  [
    {
      policy: {
        default: "allow",
        rules: [
          { on: "roots", effect: "deny" },
          { tools: ["git__log"], effect: "deny" },
        ],
      },
      limits: [],
    },
    [
      callOf("git__push", {
        turns: [asked("one"), { first: [], response: { result: { content: [], isError: true } } }],
      }),
      ...["git__log", "none"].map((name) => callOf(name)),
    ],
  ],
];
