/** Rules and limits without a name keep what they remember over a reload, wherever they stand in the list then. */
import { expect, test } from "vitest";
import { type Call, compose, type Handler } from "../../../src/core/call.js";
import { SILENT } from "../../../src/core/logger.js";
import { createPolicy, type Policy } from "../../../src/features/policy/policy.js";
import { errorBoundary } from "../../../src/resilience/error-boundary.js";
import { result, toolCall, wordOf } from "../../support/calls.js";
import { configOf } from "../../support/gateway.js";
import { again, asksPeople, elicitation, inTurn, questions } from "./replies.js";
import { uncounted } from "./support.js";

const accept = { "cardea/approval": { action: "accept" } };
const call = toolCall("db", "query", {}, { client: asksPeople });

/** The policies of several configs, one after the other. */
function policies() {
  const parts = { metrics: uncounted(), logger: SILENT };
  let before: Policy | undefined;
  return (sections: { readonly rules?: readonly object[]; readonly limits?: readonly object[] }): Policy => {
    const { rules = [], limits = [] } = sections;
    const mcpServers = { db: { command: "x" }, other: { command: "y" } };
    before = createPolicy(configOf({ mcpServers, policy: { rules }, limits }).features, parts, before);
    return before;
  };
}

const ok: Handler = async () => result({});
const run = (policy: Policy, made: Call, server: Handler = ok) =>
  compose([errorBoundary(SILENT), policy.access, policy.limits], server)(made);

test("a limit keeps its count when another one is put before it", async () => {
  const next = policies();
  const quota = { tools: ["db__*"], quota: "1/day" };
  const first = next({ limits: [quota] });
  const outcomes = [wordOf(await run(first, call)), wordOf(await run(first, call))];
  const second = next({ limits: [{ tools: ["other__*"], quota: "5/day" }, quota] });
  outcomes.push(wordOf(await run(second, call)));
  expect(outcomes).toEqual(["result", "rate_limited", "rate_limited"]);
});

test("two equal limits stay two, so that a call pays each of them once", async () => {
  const next = policies();
  const quota = { tools: ["db__*"], quota: "2/day" };
  next({ limits: [quota, quota] });
  const policy = next({ limits: [quota, quota] });
  const outcomes: string[] = [];
  for (let at = 0; at < 3; at += 1) outcomes.push(wordOf(await run(policy, call)));
  expect(outcomes).toEqual(["result", "result", "rate_limited"]);
});

test("a remembered approval holds for its rule, and not for another one at its place", async () => {
  const next = policies();
  const ask = { tools: ["db__*"], effect: "approve", message: "harmless", remember: "1h" };
  const first = next({ rules: [ask] });
  expect(wordOf(await run(first, again(call, await run(first, call), accept)))).toBe("result");
  const stricter = { tools: ["db__query"], effect: "approve", message: "not harmless", remember: "1h" };
  expect(wordOf(await run(next({ rules: [stricter, ask] }), call))).toBe("input_required");
  const unrelated = { tools: ["other__*"], effect: "deny" };
  expect(wordOf(await run(next({ rules: [unrelated, ask] }), call))).toBe("result");
});

test("a call that was approved continues when another rule is put before its rule", async () => {
  const next = policies();
  const ask = { tools: ["db__*"], effect: "approve" };
  const server = inTurn(questions({ sure: elicitation("sure?") }, "s"));
  const first = next({ rules: [ask] });
  const asked = await run(first, again(call, await run(first, call, server), accept), server);
  const second = next({ rules: [{ tools: ["other__*"], effect: "deny" }, ask] });
  const answer = again(call, asked, { sure: { action: "accept" } });
  expect(wordOf(await run(second, answer, server))).toBe("result");
});
