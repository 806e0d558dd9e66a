import { createSecretKey } from "node:crypto";
import { describe, expect, test } from "vitest";
import { compose, type Handler, type Reply } from "../../../src/core/call.js";
import { SILENT } from "../../../src/core/logger.js";
import type { RuleConfig } from "../../../src/features/policy/config.js";
import { compilePolicy } from "../../../src/features/policy/faults.js";
import { createPolicy, type Policy } from "../../../src/features/policy/policy.js";
import { errorBoundary } from "../../../src/resilience/error-boundary.js";
import { sealedState } from "../../../src/resilience/sealed-state.js";
import { clientOf, result, routeTo, toolCall, wordOf } from "../../support/calls.js";
import fc from "../../support/fast-check.js";
import { stepsOf } from "../../support/steps.js";
import { throughCallTool } from "../../support/through.js";
import { limit, policyOf, rule, uncounted } from "./support.js";

const EXAMPLE: readonly (Partial<RuleConfig> & Pick<RuleConfig, "effect">)[] = [
  {
    name: "no-prod-writes",
    tools: ["db__*"],
    when: "args.env == 'prod'",
    effect: "deny",
    message: "production is read-only here",
  },
  { name: "ask-before-delete", tools: ["*__delete_*"], effect: "approve" },
  {
    name: "no-passwords",
    on: "elicitation",
    servers: ["*"],
    when: "request.message.matches('(?i)password')",
    effect: "deny",
  },
];

describe("the example of the contract", () => {
  test.each([
    ["db", "write", { env: "prod" }, "denied"],
    ["db", "write", { env: "test" }, "result"],
    ["db", "write", {}, "result"],
    ["db", "delete_row", { env: "prod" }, "denied"],
    ["db", "delete_row", { env: "test" }, "input_required"],
    ["files", "read", { env: "prod" }, "result"],
  ])("%s__%s %j: %s", async (server, tool, args, word) => {
    const { handle } = policyOf({ rules: EXAMPLE });
    const client = clientOf({ capabilities: { elicitation: {} } });
    expect(wordOf(await handle(toolCall(server, tool, args, { client })))).toBe(word);
  });
});

describe("explain", () => {
  test("explains for every rule and limit whether it matches, and changes nothing", async () => {
    const { policy, handle } = policyOf({
      rules: [...EXAMPLE, { name: "for-bob", principals: ["bob"], effect: "deny" }],
      limits: [
        { name: "few", tools: ["db__*"], rate: { count: 1, windowMs: 60_000 }, timeoutMs: 9 },
        { name: "other", tools: ["git__*"], concurrency: 1 },
      ],
    });
    const call = toolCall("db", "write", { env: "prod" });
    expect(policy.explain(call, true)).toEqual({
      effect: "deny",
      rule: "no-prod-writes",
      message: "production is read-only here",
      visible: true,
      rules: [
        {
          rule: "no-prod-writes",
          effect: "deny",
          on: "call",
          matches: true,
          decides: true,
          why: "it matches by its tools, when",
        },
        {
          rule: "ask-before-delete",
          effect: "approve",
          on: "call",
          matches: false,
          decides: false,
          why: "it applies to other tools, prompts, resources or servers",
        },
        {
          rule: "no-passwords",
          effect: "deny",
          on: "elicitation",
          matches: false,
          decides: false,
          why: "it applies to other traffic",
        },
        {
          rule: "for-bob",
          effect: "deny",
          on: "call",
          matches: false,
          decides: false,
          why: "it applies to other principals",
        },
      ],
      limits: [{ limit: "few", per: "all", waitMs: 0, timeoutMs: 9 }],
    });
    expect(policy.decisions()).toEqual([]);
    expect(wordOf(await handle(toolCall("db", "write")))).toBe("result");
    expect(policy.explain(call, true).limits[0]?.waitMs).toBeGreaterThan(50_000);
  });

  test("reports what it cannot evaluate", () => {
    const { policy } = policyOf({ rules: [{ when: "args.n > 'a'", effect: "deny" }] });
    const explained = policy.explain(toolCall("db", "write", { n: 1 }), true);
    expect(explained.effect).toBe("deny");
    expect(explained.rules[0]).toMatchObject({ matches: false, decides: true });
    expect(explained.rules[0]?.why).toMatch(/^its condition cannot be evaluated: /);
  });
});

describe("a config that cannot be put into effect", () => {
  const broken = {
    policy: {
      default: "allow",
      rules: [
        rule({ effect: "deny", when: "nope" }),
        rule({ name: "twice", effect: "allow" }),
        rule({ name: "default", effect: "allow" }),
      ],
    },
    limits: [limit({}), limit({ name: "twice", concurrency: 1 })],
  } as const;

  test("is an error with every fault and its place", () => {
    expect(compilePolicy(broken).faults.map(({ path }) => path.join("."))).toEqual([
      "policy.rules.0.when",
      "limits.0",
      "policy.rules.2.name",
      "limits.1.name",
    ]);
  });

  test("is not put into effect in part", () => {
    const parts = { metrics: uncounted(), logger: SILENT };
    expect(() => createPolicy(broken, parts)).toThrow('policy.rules.0.when: there is no variable "nope"');
  });
});

const parts = { metrics: uncounted(), logger: SILENT };

describe("a reload", () => {
  const next = async () => result({});
  const stack = (policy: Policy) =>
    throughCallTool(compose([errorBoundary(SILENT), policy.access, policy.limits], next));
  const rate = { count: 1, windowMs: 3_600_000 };

  test("fills no purse that is as it was, and makes new ones for new limits", async () => {
    const before = createPolicy({ limits: [limit({ name: "kept", tools: ["a__*"], rate })] }, parts);
    expect(wordOf(await stack(before)(toolCall("a", "x")))).toBe("result");
    const limits = [
      limit({ name: "kept", tools: ["a__*"], rate }),
      limit({ name: "new", tools: ["b__*"], rate }),
    ];
    const swapped = stack(createPolicy({ limits }, parts, before));
    expect(wordOf(await swapped(toolCall("a", "x")))).toBe("rate_limited");
    expect(wordOf(await swapped(toolCall("b", "x")))).toBe("result");
  });

  test("forgets neither what was decided nor what a person approved", async () => {
    const rules = [rule({ name: "ask", effect: "approve", rememberMs: 60_000 })];
    const policy = { default: "allow", rules } as const;
    const client = clientOf({ capabilities: { elicitation: {} } });
    const call = toolCall("a", "x", {}, { client });
    const before = createPolicy({ policy }, parts);
    const asked = await stack(before)(call);
    const after = createPolicy({ policy }, parts, before);
    const state = asked.kind === "input_required" ? (asked.state ?? {}) : {};
    const inputResponses = { responses: { "cardea/approval": { action: "accept" } }, state };
    expect(wordOf(await stack(after)({ ...call, inputResponses }))).toBe("result");
    expect(wordOf(await stack(createPolicy({ policy }, parts, after))(call))).toBe("result");
    expect(after.decisions().map(({ effect, answer }) => [effect, answer])).toEqual([
      ["approve", "remembered"],
      ["approve", "accepted"],
    ]);
  });
});

describe("a round that began before a reload", () => {
  const client = clientOf({ capabilities: { elicitation: {} } });
  const call = toolCall("a", "x", {}, { client });
  const rules = [
    rule({ name: "ask", effect: "approve" }),
    rule({ on: "elicitation", effect: "allow", maxRounds: 1 }, 1),
  ];
  const seal = sealedState({ key: createSecretKey(Buffer.alloc(32, 7)) });
  const server =
    (state: string): Handler =>
    async (of) =>
      of.inputResponses === undefined
        ? { kind: "input_required", requests: {}, state: { server: state } }
        : result({ told: { ...of.inputResponses } });
  /** The call under one policy, and with its answers under the next. */
  async function overReload(before: Policy, after: Policy, state: string): Promise<Reply> {
    const [first, second] = [before, after].map(({ access }) =>
      throughCallTool(compose([errorBoundary(SILENT), seal, access], server(state))),
    );
    const asked = await first?.(call);
    if (asked?.kind !== "input_required" || asked.sealedState === undefined) throw new Error("no questions");
    const inputResponses = { responses: {}, sealedState: asked.sealedState };
    return (await second?.({ ...call, inputResponses })) as Reply;
  }

  test.each([
    '{"policy":{"approved":"ask","rounds":0}}',
    '{"policy":{"approved":"ask","rounds":-99}}\n',
    '\n{"policy":{"approved":"ask","rounds":0}}',
  ])("is not approved by a server's state that looks like the policy's: %j", async (forged) => {
    const before = createPolicy({}, parts);
    const after = createPolicy({ policy: { default: "allow", rules } }, parts, before);
    expect(wordOf(await overReload(before, after, forged))).toBe("denied");
  });

  test("gives the server its own state and nothing of the policy's, where the reload removes the rules", async () => {
    const before = createPolicy({ policy: { default: "allow", rules: rules.slice(1) } }, parts);
    const after = createPolicy({}, parts, before);
    expect(await overReload(before, after, "own")).toEqual(
      result({ told: { responses: {}, state: { server: "own" } } }),
    );
  });
});

test("without rules and limits calls pass unchanged, and no list is filtered", () => {
  const { policy } = policyOf({});
  const reply = Promise.resolve({ kind: "error", error: { code: 0, message: "" } } as const);
  const next = () => reply;
  // The same promise: it is not awaited on the way.
  expect(policy.access(next)(toolCall("db", "write"))).toBe(reply);
  expect(policy.limits(next)).toBe(next);
  expect([policy.visible, policy.maySubscribe]).toEqual([undefined, undefined]);
});

test("no updates are sent for resources that a principal may not read, or only with approval", () => {
  const { policy } = policyOf({
    rules: [
      { resources: ["*secret*"], effect: "deny" },
      { resources: ["*private*"], effect: "approve" },
      { resources: ["*hidden*"], effect: "hide" },
      { resources: ["*log*"], effect: "redact", redact: NOTHING },
    ],
  });
  const follows = (uri: string) =>
    policy.maySubscribe?.(clientOf(), { upstream: "f", target: uri, exposed: uri, kind: "resources" });
  expect(["a:secret", "a:private", "a:hidden", "a:log", "a:b", "a:%73ecret"].map(follows)).toEqual([
    false,
    false,
    false,
    true,
    true,
    false,
  ]);
});

const NOTHING: NonNullable<RuleConfig["redact"]> = {
  arguments: { paths: [], patterns: [] },
  results: { paths: [], patterns: [] },
  replacement: "",
};

test("the server receives exactly what the rules evaluated, for any method and notation", async () => {
  const words = fc.constantFrom(
    "prod",
    "PROD",
    "pr\u043ed",
    "prod ",
    "ｐrod",
    "",
    "__proto__",
    "constructor",
  );
  const keys = fc.constantFrom(
    "env",
    "Env",
    "ENV",
    "env ",
    "__proto__",
    "constructor",
    "toString",
    "$typeName",
  );
  const args = fc.dictionary(keys, fc.oneof(words, fc.jsonValue({ maxDepth: 2 })), { maxKeys: 5 });
  const { handle, calls } = policyOf({ rules: [{ when: "args.env == 'prod'", effect: "deny" }] });
  await fc.assert(
    fc.asyncProperty(args, async (given) => {
      const before = calls.length;
      const word = wordOf(await handle(toolCall("db", "write", given)));
      const own = Object.hasOwn(given, "env") ? given.env : undefined;
      expect(word).toBe(own === "prod" ? "denied" : "result");
      expect(calls.slice(before).map(({ params }) => params.arguments)).toEqual(
        own === "prod" ? [] : [given],
      );
    }),
    { numRuns: 2000 },
  );
});

test("a thousand rules, twenty of them with conditions, are evaluated in some thousand steps", async () => {
  const rules = Array.from({ length: 1000 }, (_, at) =>
    at % 50 === 0
      ? ({ tools: ["db__*"], when: `args.env == 'no-${at}' && args.n > ${at}`, effect: "deny" } as const)
      : ({ tools: [`server-${at}__*`, `*__tool_${at}_*`], effect: "deny" } as const),
  );
  const { policy, handle } = policyOf({ rules });
  const call = toolCall("db", "query", { env: "test", n: 5 });
  expect(wordOf(await handle(call))).toBe("result");
  const steps = stepsOf(() => {
    policy.visible?.(call.client, routeTo("db", "query"));
    policy
      .access(() => Promise.reject(new Error("not reached")))(call)
      .catch(() => undefined);
  });
  // The time that it takes is in bench/policy.mjs and in the fault row L8.
  expect(steps).toBeLessThan(20_000);
});
