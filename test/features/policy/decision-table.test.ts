/** Every effect with every kind of subject, met and not met, over each default: what becomes of the call. */
import { describe, expect, test } from "vitest";
import type { Call, Reply } from "../../../src/core/call.js";
import type { RuleConfig } from "../../../src/features/policy/config.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { clientOf, result, wordOf } from "../../support/calls.js";
import { fakeCall } from "../../support/fake-call.js";
import { policyOf } from "./support.js";

type Effect = RuleConfig["effect"];

const client = clientOf({
  principal: { id: "ann", groups: ["dev"], claims: { scope: "read write" } },
  capabilities: { elicitation: {}, sampling: {}, roots: {} },
});

const target = (kind: "tools" | "prompts" | "resources", method: string, params: JsonObject): Call =>
  fakeCall({
    method,
    params,
    client,
    route: {
      upstream: "db",
      target: "drop",
      exposed: kind === "resources" ? "db+file:///drop" : "db__drop",
      kind,
      item: { name: "drop", annotations: { destructiveHint: true } },
    },
  });
const TOOL = target("tools", "tools/call", { name: "db__drop", arguments: { env: "prod" } });
const PROMPT = target("prompts", "prompts/get", { name: "db__drop", arguments: { env: "prod" } });
const RESOURCE = target("resources", "resources/read", { uri: "db+file:///drop" });

/** For each kind of subject what is met by the call, and what is not. */
const SUBJECTS: readonly (readonly [string, Call, Partial<RuleConfig>, Partial<RuleConfig>])[] = [
  ["tools", TOOL, { tools: ["db__*"] }, { tools: ["git__*"] }],
  ["prompts", PROMPT, { prompts: ["*__drop"] }, { prompts: ["*__ask"] }],
  ["resources", RESOURCE, { resources: ["db+file:*"] }, { resources: ["git+file:*"] }],
  ["servers", TOOL, { servers: ["d?"] }, { servers: ["git"] }],
  ["principals", TOOL, { principals: ["a*"] }, { principals: ["bob"] }],
  ["groups", TOOL, { groups: ["ops", "dev"] }, { groups: ["ops"] }],
  ["scopes", TOOL, { scopes: ["read", "write"] }, { scopes: ["read", "admin"] }],
  ["annotations", TOOL, { annotations: { destructiveHint: true } }, { annotations: { readOnlyHint: true } }],
  ["when, of arguments", TOOL, { when: "args.env == 'prod'" }, { when: "args.env == 'test'" }],
  [
    "when, of the principal",
    PROMPT,
    { when: "'dev' in principal.groups" },
    { when: "principal.id == 'bob'" },
  ],
  ["another kind of target", TOOL, { tools: ["*"] }, { prompts: ["*"] }],
  [
    "several, all of which must be met",
    TOOL,
    { tools: ["*"], groups: ["dev"] },
    { tools: ["*"], groups: ["ops"] },
  ],
];

const OUTCOMES: Readonly<Record<Effect, string>> = {
  allow: "result",
  deny: "denied",
  approve: "input_required",
  redact: "result",
  hide: "unknown_target",
};
const TAKE_OUT: NonNullable<RuleConfig["redact"]> = {
  arguments: { paths: ["env"], patterns: [] },
  results: { paths: ["secret"], patterns: [] },
  replacement: "…",
};
const answer = async (): Promise<Reply> => result({ content: [], secret: "s" });

const ruleOf = (effect: Effect, subject: Partial<RuleConfig> = {}) => ({
  ...subject,
  effect,
  ...(effect === "redact" && { redact: TAKE_OUT }),
});

/** Hiding is decided before a call, so it cannot depend on arguments. */
const fits = (effect: Effect, subject: string): boolean =>
  !(effect === "hide" && subject.includes("arguments"));

describe.each(Object.keys(OUTCOMES) as Effect[])("%s", (effect) => {
  test.each(SUBJECTS.filter(([subject]) => fits(effect, subject)))("by %s", async (_, call, met, unmet) => {
    for (const fallback of ["allow", "deny", "hide"] as const) {
      const matching = policyOf({ default: fallback, rules: [ruleOf(effect, met)] }, answer);
      expect(wordOf(await matching.handle(call))).toBe(OUTCOMES[effect]);
      const missing = policyOf({ default: fallback, rules: [ruleOf(effect, unmet)] }, answer);
      expect(wordOf(await missing.handle(call))).toBe(OUTCOMES[fallback]);
    }
  });

  test("with a rule before it that decides, it is not evaluated", async () => {
    for (const [first, word] of Object.entries(OUTCOMES)) {
      const rules = [ruleOf(first as Effect), ruleOf(effect)];
      expect(wordOf(await policyOf({ rules }, answer).handle(TOOL))).toBe(word);
    }
  });
});

test("what is redacted is out of what the server gets and out of what the host gets", async () => {
  const { handle, calls } = policyOf({ rules: [{ effect: "redact", redact: TAKE_OUT }] }, answer);
  const reply = await handle(TOOL);
  expect(calls[0]?.params.arguments).toEqual({ env: "…" });
  expect(reply.kind === "result" && reply.result.object).toEqual({ content: [], secret: "…" });
});

describe.each([
  ["sampling", "sampling/createMessage", { messages: [], maxTokens: 10 }],
  ["elicitation", "elicitation/create", { message: "m", requestedSchema: { type: "object" } }],
  ["roots", "roots/list", {}],
] as const)("on %s", (on, method, params) => {
  const asks = async ({ inputResponses }: Call): Promise<Reply> =>
    inputResponses === undefined
      ? { kind: "input_required", requests: { q: { method, params } } }
      : result({ content: [], told: inputResponses });

  const subjects = SUBJECTS.filter(([subject]) => !subject.includes("arguments"));
  test.each(subjects)("a question may be asked or not by %s", async (_, call, met, unmet) => {
    const ask = async (
      rules: readonly Partial<RuleConfig>[],
      fallback: "allow" | "deny" | "hide" = "allow",
    ) =>
      wordOf(
        await policyOf(
          { default: fallback, rules: rules.map((it) => ({ effect: "deny", ...it })) },
          asks,
        ).handle(call),
      );
    expect(await ask([{ on, ...met }])).toBe("result");
    expect(await ask([{ on, ...unmet }])).toBe("input_required");
    // A default of no is meant for questions too; what lets the call through says nothing of them.
    for (const fallback of ["deny", "hide"] as const) {
      const allowed: Partial<RuleConfig> = { effect: "allow" };
      expect(await ask([allowed], fallback)).toBe("result");
      expect(await ask([allowed, { on, ...met, effect: "allow" }], fallback)).toBe("input_required");
      expect(await ask([allowed, { on, ...unmet, effect: "allow" }], fallback)).toBe("result");
    }
  });

  test("a rule about something else does not match", async () => {
    for (const other of (["sampling", "elicitation", "roots"] as const).filter((kind) => kind !== on)) {
      const { handle } = policyOf({ rules: [{ on: other, effect: "deny" }] }, asks);
      expect(wordOf(await handle(TOOL))).toBe("input_required");
    }
  });
});
