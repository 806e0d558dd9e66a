/** `call_tool(x)` is `x`: for arbitrary calls, policies and replies, all that a call is seen by is the same. */
import "../../admin/needed.js";
import { expect, onTestFinished, vi } from "vitest";
import fc from "../../../support/fast-check.js";
import { testOf } from "../../../support/features.js";
import { calls, config, EXAMPLES, entries, TOOLS } from "./arbitraries.js";
import { type Json, openPair, type Seen } from "./pair.js";

/** What is different where a tool is called through `call_tool`: a member of the log line, and a metric that counts these calls. */
function throughCallTool({ log, ...seen }: Seen): Seen {
  const isCall = ({ sentence, method }: Json): boolean => sentence === "call" && method === "tools/call";
  const lines = log.map((line) => (isCall(line) ? { ...line, via: "search" } : line));
  return { ...seen, log: lines, searchCalls: log.filter(isCall).length };
}

testOf("policy")(
  "a call through call_tool is decided, counted, recorded, asked about and answered as the call of the tool",
  async () => {
    // The clocks are suspended: durations and budgets that refill are equal on both sides.
    const now = vi.spyOn(performance, "now").mockReturnValue(1_000_000);
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => {
      now.mockRestore();
      vi.useRealTimers();
    });
    const [straight, through] = await openPair(TOOLS, entries, onTestFinished);
    const outcomes = new Set<unknown>();
    await fc.assert(
      fc.asyncProperty(config, calls, async (sections, made) => {
        const seen = await straight.play(sections, made);
        expect(seen.searchCalls).toBe(0);
        expect(await through.play(sections, made)).toEqual(throughCallTool(seen));
        for (const { outcome } of seen.log) outcomes.add(outcome);
      }),
      { numRuns: 30, examples: EXAMPLES },
    );
    expect([...outcomes]).toEqual(expect.arrayContaining(OUTCOMES));
  },
);

/** Of the examples. */
const OUTCOMES = ["ok", "tool_error", "denied", "rate_limited", "input_required", "unknown_target"];
