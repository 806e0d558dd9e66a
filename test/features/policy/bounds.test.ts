/** What rules and limits keep has a bound in bytes (ARCHITECTURE.md, "State, lifetimes, limits"). */
import { describe, expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { Approvals } from "../../../src/features/policy/approvals.js";
import { DecisionLog } from "../../../src/features/policy/decision-log.js";
import { Limit } from "../../../src/features/policy/limits/limit.js";
import { callIdentity } from "../../../src/runtime/canonical-digest.js";
import { routeTo, toolCall } from "../../support/calls.js";
import { type Filled, growthOf, large } from "../../support/heap.js";
import { sample } from "../../support/sample.js";
import { limit, rule, uncounted } from "./support.js";

const route = routeTo("files", "read");
const STORES: Readonly<Record<string, Filled>> = {
  "limits/limits.ts": {
    mib: 2,
    times: 15,
    fill: () => {
      const each = new Limit(limit({ per: "tool", rate: { count: 10, windowMs: 60_000 } }));
      return (at) => void each.budgets(toolCall("files", "read"), { ...route, target: large(at) });
    },
  },
  "approvals.ts": {
    mib: 2,
    times: 12,
    fill: () => {
      const approvals = new Approvals();
      const asks = rule({ effect: "approve", rememberMs: 3_600_000 });
      return (at) => {
        const call = toolCall(
          "files",
          "read",
          { text: large(at) },
          {
            inputResponses: { responses: { "cardea/approval": { action: "accept" } } },
          },
        );
        const { upstream, target } = route;
        const shown = Promise.resolve(callIdentity(call, upstream, target, call.params.arguments));
        return shown.then((digest) =>
          approvals.accept(asks, call, route, { rule: asks.name, nonce: String(at), call: digest }),
        );
      };
    },
  },
  "decision-log.ts": {
    mib: 2,
    times: 15,
    fill: () => {
      const log = new DecisionLog(uncounted(), SILENT);
      return (at) => {
        const call = { ...toolCall("files", "read"), method: large(at) };
        log.add(call, { ...route, exposed: large(at) }, "call", { effect: "deny", failed: large(at) });
      };
    },
  },
};

describe("memory stays bounded while hosts send without end:", () => {
  test.each(sample("stores of rules and limits", Object.entries(STORES), 1))("%s", async (_, store) => {
    expect(await growthOf(store)).toBeLessThan(store.mib);
  });
});
