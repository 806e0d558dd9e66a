/** How often each rule and limit has applied: the page `policy`, the metric, and what a reload keeps. */
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { Stop } from "../../../src/core/stop.js";
import { policyPages } from "../../../src/features/policy/admin-pages.js";
import { mergeInEffect, type PolicyInEffect } from "../../../src/features/policy/in-effect.js";
import { createPolicy } from "../../../src/features/policy/policy.js";
import { HOSTS, openHost } from "../../scenarios/host.js";
import { openStage } from "../../scenarios/stage.js";
import { clientOf, routeTo } from "../../support/calls.js";
import { fakeCall } from "../../support/fake-call.js";
import { testOf } from "../../support/features.js";
import { UPSTREAMS } from "../../support/scripted/upstreams.js";
import { limit, policyOf, rule, uncounted } from "./support.js";

const redact = {
  arguments: { paths: ["env"], patterns: [] },
  results: { paths: [], patterns: [] },
  replacement: "…",
};
const callOf = (name: string, args: Readonly<Record<string, unknown>> = {}) =>
  fakeCall({
    params: { name: `db__${name}`, arguments: args },
    client: clientOf({ capabilities: { elicitation: {} } }),
    route: routeTo("db", name),
  });
const hitsOf = ({ rules, limits }: PolicyInEffect) =>
  Object.fromEntries([...rules, ...limits].map(({ name, hits }) => [name, hits]));

test("the rule that decides has a hit, and each limit that applies", async () => {
  const { policy, handle } = policyOf({
    rules: [
      { name: "off", tools: ["db__drop"], effect: "deny" },
      { name: "ask", tools: ["db__write"], effect: "approve" },
      { name: "masked", tools: ["db__read"], effect: "redact", redact },
      { name: "gone", tools: ["db__gone"], effect: "hide" },
      { name: "typo", tools: ["db__raed"], effect: "deny" },
      { name: "rest", effect: "allow" },
    ],
    limits: [
      { name: "often", rate: { count: 100, windowMs: 1000 } },
      { name: "never", tools: ["x"], timeoutMs: 9 },
    ],
  });
  const calls = ["drop", "drop", "write", "read", "gone", "list", "list", "list"];
  for (const name of calls) await handle(callOf(name));
  const shown = policy.inEffect();
  expect(hitsOf(shown)).toEqual({
    ...{ off: 2, ask: 1, masked: 1, gone: 1, typo: 0, rest: 3 },
    // What is refused, or waits for an approval, reaches no limit.
    ...{ often: 4, never: 0 },
  });
  const [off, , , , typo] = shown.rules;
  expect(off?.lastHitAt).toMatch(/^\d{4}-.*Z$/);
  expect(typo).toEqual({
    name: "typo",
    effect: "deny",
    on: "call",
    matches: { tools: ["db__raed"] },
    hits: 0,
  });
});

test("rules that redact by different readings of a URI have a hit each", async () => {
  const { policy, handle } = policyOf({
    rules: [
      { name: "as-written", when: "target.contains('%')", effect: "redact", redact },
      { name: "as-read", resources: ["db+file:///docs/*"], effect: "redact", redact },
    ],
  });
  const uri = "db+file:///d%6Fcs/a";
  const route = { upstream: "db", target: uri, exposed: uri, kind: "resources" } as const;
  const reply = await handle(fakeCall({ method: "resources/read", params: { uri }, route }));
  expect(reply.kind).toBe("result");
  expect(hitsOf(policy.inEffect())).toEqual({ "as-written": 1, "as-read": 1 });
});

test("explaining a call is no hit", () => {
  const { policy } = policyOf({ rules: [{ effect: "deny" }] });
  policy.explain(callOf("drop"), true);
  expect(hitsOf(policy.inEffect())).toEqual({ "rule-1": 0 });
});

test("a reload keeps the hits of what is the same, and of nothing else", async () => {
  const parts = { metrics: uncounted(), logger: SILENT };
  const unnamed = { ...rule({ tools: ["db__a"], effect: "deny" }), isUnnamed: true as const };
  const config = {
    policy: { default: "allow" as const, rules: [unnamed, rule({ tools: ["db__b"], effect: "deny" }, 1)] },
    limits: [limit({ concurrency: 4 })],
  };
  const first = createPolicy(config, parts);
  const end = async () => ({ kind: "error", error: { code: 0, message: "" } }) as never;
  for (const name of ["a", "b"])
    await first
      .access(end)(callOf(name))
      .catch(() => {});
  await first.limits(end)(callOf("c"));
  const later = {
    policy: {
      default: "allow" as const,
      rules: [
        rule({ name: "new", effect: "redact", redact, tools: ["x"] }),
        { ...unnamed, name: "rule-2" },
        rule({ tools: ["db__b"], effect: "hide" }, 2),
      ],
    },
    limits: [limit({ name: "other", concurrency: 1 }), limit({ concurrency: 4 })],
  };
  const second = createPolicy(later, parts, first);
  expect(hitsOf(second.inEffect())).toEqual({ new: 0, "rule-2": 1, "rule-3": 0, other: 0, "limit-1": 1 });
});

test("the hits of workers are added, and the latest counts", () => {
  const page = (hits: number, lastHitAt?: string): PolicyInEffect => ({
    default: "deny",
    rules: [
      {
        name: "a",
        effect: "deny",
        on: "call",
        matches: {},
        hits,
        ...(lastHitAt !== undefined && { lastHitAt }),
      },
    ],
    limits: [],
  });
  const [early, late] = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"];
  const merged = mergeInEffect([
    { worker: 1, body: page(2, late) },
    { worker: 2, body: page(3, early) },
    { worker: 3, body: page(0) },
  ]);
  expect(merged).toEqual(page(5, late));
});

testOf("admin")("operators read the page and the metric", async () => {
  const kinds = UPSTREAMS.filter(({ key }) => key === "legacy-http");
  const rules = [
    { name: "no-echo", tools: ["*__echo"], effect: "deny" },
    { name: "typo", tools: ["*__ehco"], effect: "deny" },
  ];
  const stage = await openStage(kinds, { config: { policy: { rules } } });
  onTestFinished(() => stage.close());
  const { raw } = await openHost(stage, HOSTS.modernHttp);
  await raw.send(1, "tools/call", { name: "legacy-http__echo", arguments: {} });
  expect(await stage.status("policy")).toMatchObject({
    default: "allow",
    rules: [
      { name: "no-echo", matches: { tools: ["*__echo"] }, hits: 1 },
      { name: "typo", hits: 0 },
    ],
    limits: [],
  });
  expect(await stage.metric("cardea_policy_rule_matches_total")).toBe(1);
});

test("the page has no secret of a condition", () => {
  const { policy } = policyOf({ rules: [{ when: "args.key == 's3cr3t'", effect: "deny" }] });
  const pages = policyPages(
    () => policy,
    () => undefined,
    (text) => text.replaceAll("s3cr3t", "***"),
  );
  const shown = pages
    .find(({ path }) => path === "policy")
    ?.handler(new URLSearchParams(), new Stop().signal);
  expect(shown).toMatchObject({ rules: [{ matches: { when: "args.key == '***'" } }] });
});
