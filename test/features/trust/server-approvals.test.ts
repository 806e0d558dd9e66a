/** What is held of one server, by the lists that it sends. */
import { expect, test } from "vitest";
import { differencesOf } from "../../../src/features/trust/lock/differences.js";
import type { ServerLock } from "../../../src/features/trust/lock/lock.js";
import { ServerApprovals } from "../../../src/features/trust/server-approvals.js";

const LISTS = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
const APPROVED: ServerLock = { start: {}, lists: LISTS };

test("a server whose names change with each list holds those of its last one", () => {
  const approvals = new ServerApprovals("shifty");
  approvals.use(APPROVED, undefined);
  for (let at = 0; at < 1_000; at += 1) {
    const tools = [0, 1, 2].map((number) => ({ name: `tool-${at}-${number}`, inputSchema: {} }));
    expect(approvals.admit("tools", tools)).toEqual([]);
    approvals.keepHeld(differencesOf(APPROVED, { start: {}, lists: { ...LISTS, tools }, isMet: true }));
    expect(approvals.heldCount).toBe(3);
  }
  expect(approvals.unlisted("tools")).toEqual(["tool-999-0", "tool-999-1", "tool-999-2"]);
});
