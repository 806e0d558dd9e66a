/** Searches of lists that change, and what stays of them in memory. */
import { describe, expect, test } from "vitest";
import { Snapshot } from "../../../src/catalog/view.js";
import { ToolSearch } from "../../../src/features/tool-search/tool-search.js";
import { tool } from "../../catalog/support.js";
import { heapUsed } from "../../support/heap.js";
import { until } from "../../support/until.js";

const MIB = 1024 * 1024;

function listOf(names: readonly string[], description = ""): Snapshot {
  const entries = names.map((name) => ({
    route: { upstream: "files", target: name, exposed: name, kind: "tools" as const },
    item: tool(name, { description }),
  }));
  return new Snapshot("tools", entries);
}
const whole = (tools: Snapshot) => ({ tools, whole: tools });
/** Servers that have said nothing. */
const SERVERS = { facts: () => undefined };
const many = (count: number) => Array.from({ length: count }, (_, at) => `read_${at}`);

describe("a search", () => {
  test("of a part of a list finds that part alone, and counts no other tools", async () => {
    const search = new ToolSearch();
    const all = listOf(["read_file", "read_mail", "send_mail"]);
    const part = new Snapshot("tools", all.entries.slice(1));
    const [found, foundInPart] = await Promise.all([
      search.find(whole(all), { query: "read", limit: 5 }, SERVERS),
      search.find({ tools: part, whole: all }, { query: "read", limit: 5 }, SERVERS),
    ]);
    expect(found.entries).toEqual(all.entries.slice(0, 2));
    expect(foundInPart).toEqual({ entries: [part.entries[0]], total: 1 });
  });

  test("that waits for an index gets it, although the next list is indexed at the same time", async () => {
    const search = new ToolSearch();
    const first = whole(listOf(many(3_000)));
    const found = search.find(first, { query: "read", limit: 1 }, SERVERS);
    const next = whole(listOf(many(2_000)));
    search.prepare(next, SERVERS);
    search.close();
    expect((await found).total).toBe(3_000);
    expect((await search.find(next, { query: "read", limit: 1 }, SERVERS)).total).toBe(2_000);
  });
});

test("indexes of dropped lists are released", async () => {
  const search = new ToolSearch();
  const use = async (at: number): Promise<void> => {
    const description = JSON.parse(JSON.stringify(`${at} ${"x".repeat(4 * MIB)}`)) as string;
    await search.find(whole(listOf(["read"], description)), { query: "read", limit: 1 }, SERVERS);
    search.prepare(whole(listOf(many(3_000), description)), SERVERS);
  };
  await use(0);
  const before = heapUsed();
  for (let at = 1; at < 15; at += 1) await use(at);
  search.close();
  // A build that is ended notices it in its next step, and each step has a turn of the event loop.
  await until("the lists to be gone", () => (heapUsed() - before) / MIB < 16);
});
