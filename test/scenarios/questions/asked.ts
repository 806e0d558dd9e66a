/** Situations in which a host is asked and answers: whatever a question can carry, and however many there are. */
import { expect } from "vitest";
import type { Json } from "../../support/peers/host.js";
import { FORM, SAMPLING, SAMPLING_WITH_TOOLS } from "../../support/scripted/tools.mjs";
import { type Cell, callIn, expectOneRun, toldTo } from "./cell.js";
import type { Situation } from "./situations.js";

const COMPLETION = {
  role: "assistant",
  model: "test",
  content: { type: "text", text: "A hinge.", annotations: { priority: 1 } },
  stopReason: "endTurn",
  vendor: { deep: [1] },
};
const TOOL_USE = {
  role: "assistant",
  model: "test",
  content: [{ type: "tool_use", id: "u2", name: "look", input: { at: "door" } }],
  stopReason: "toolUse",
};
const ROOTS = { roots: [{ uri: "file:///home/ada", name: "Home", vendor: 1 }] };
const FILLED_IN = {
  action: "accept",
  content: { name: "Ada", age: 36, height: 1.7, friend: false, size: "l", days: ["mo", "tu"], meals: ["b"] },
};
/** Several servers are behind the gateway, so the question must name its server. */
const asks = ({ upstream }: Cell, message: unknown): string =>
  `Scripted (${upstream.key}): ${String(message)}`;

/** One question with these parameters, which is answered with `answer`; the tool gets exactly that. */
async function asksOnce(cell: Cell, tool: string, method: string, params: Json, answer: Json): Promise<void> {
  const calling = callIn(cell, tool, () => answer);
  expect(await toldTo(calling)).toEqual({ one: { result: answer } });
  expect(calling.asked).toMatchObject([{ method }]);
  expect(calling.asked[0]?.params).toEqual(params);
  expectOneRun(cell);
}

export const ASKED: readonly Situation[] = [
  {
    key: "sampling",
    sentence: "is asked for a completion, with everything that the server says about it",
    // The context of "this server" would for the host be that of all servers.
    run: (cell) =>
      asksOnce(
        cell,
        "sampling",
        "sampling/createMessage",
        { ...SAMPLING.params, includeContext: "none" },
        COMPLETION,
      ),
  },
  {
    key: "sampling with tools",
    sentence:
      "is asked for a completion with tools, pictures and sounds, and may answer that it wants to use one",
    run: (cell) =>
      asksOnce(cell, "sampling_with_tools", "sampling/createMessage", SAMPLING_WITH_TOOLS.params, TOOL_USE),
  },
  {
    key: "form",
    sentence: "is asked to fill in a form with fields of every type, and by whom",
    run: (cell) =>
      asksOnce(
        cell,
        "form",
        "elicitation/create",
        { ...FORM.params, message: asks(cell, FORM.params.message) },
        FILLED_IN,
      ),
  },
  {
    key: "URL",
    sentence: "is asked to send a person to a page",
    async run(cell) {
      const calling = callIn(cell, "url", () => ({ action: "accept" }));
      expect(await toldTo(calling)).toEqual({ one: { result: { action: "accept" } } });
      // 2025-11-25 cannot do without an id, 2026-07-28 no longer has one.
      const made = cell.upstream.era === "legacy" ? `visit ${cell.label}` : expect.any(String);
      expect(calling.asked[0]?.params).toEqual({
        mode: "url",
        message: asks(cell, "Please sign in."),
        url: "https://example.test/in?a=1",
        ...(cell.host.era === "legacy" && { elicitationId: made }),
      });
      expectOneRun(cell);
    },
  },
  {
    key: "roots",
    sentence: "is asked for its roots",
    run: (cell) => asksOnce(cell, "roots", "roots/list", {}, ROOTS),
  },
  {
    key: "two at once",
    sentence: "is asked two things at once, and neither waits for the other",
    async run(cell) {
      const calling = callIn(cell, "two", async ({ method }) => {
        await calling.whenAsked(2);
        return method === "elicitation/create" ? { action: "accept", content: { it: "I" } } : COMPLETION;
      });
      expect(await toldTo(calling)).toEqual({
        one: { result: COMPLETION },
        two: { result: { action: "accept", content: { it: "I" } } },
      });
      expect(calling.asked.map(({ method }) => method).sort()).toEqual([
        "elicitation/create",
        "sampling/createMessage",
      ]);
      // One round, and so one state, for both.
      expect(calling.states).toHaveLength(cell.host.era === "modern" ? 1 : 0);
      expectOneRun(cell);
    },
  },
  {
    key: "three rounds",
    sentence: "is asked three times, one after the other, each time under another state",
    async run(cell) {
      const calling = callIn(cell, "three", ({ params }) => ({
        action: "accept",
        content: { it: String(params.message) },
      }));
      const answers = ["first", "second", "third"].map((number) => ({
        result: { action: "accept", content: { it: asks(cell, `The ${number}?`) } },
      }));
      expect(await toldTo(calling)).toEqual(answers);
      expect(calling.asked).toHaveLength(3);
      expect(new Set(calling.states).size).toBe(cell.host.era === "modern" ? 3 : 0);
      expectOneRun(cell);
    },
  },
  {
    key: "declined",
    sentence: "declines, and the tool goes on knowing that",
    async run(cell) {
      const calling = callIn(cell, "form", () => ({ action: "decline" }));
      expect(await toldTo(calling)).toEqual({ one: { result: { action: "decline" } } });
      expectOneRun(cell);
    },
  },
];
