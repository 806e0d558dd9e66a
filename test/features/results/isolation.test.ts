/** A kept result is its caller's alone, for a time. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { testOf } from "../../support/features.js";
import type { Json } from "../../support/peers/host.js";
import type { RawHost } from "../../support/peers/raw.js";
import { until } from "../../support/until.js";
import { ask, call, idOf, opened, readOn, textOf } from "./support.js";

const GONE = { isError: true, _meta: { "cardea/refusal": { code: "result_gone", retryable: false } } };

/** A host gets nothing of it, by the tool or by the URI. */
async function expectGone(host: RawHost, id: string): Promise<void> {
  const read: Json = await readOn(host, id);
  expect(read).toMatchObject(GONE);
  expect(textOf(read)).toBe(
    "there is no such result (any more): call the tool again that has made it. A retry will not help.",
  );
  await expect(ask(host, "resources/read", { uri: `cardea-result://${id}` })).rejects.toThrow(/result_gone/);
}

describe.each([{ era: "legacy" }, { era: "modern" }] as const)("of a $era host", ({ era }) => {
  test("another principal gets what a guessed id gets", async () => {
    const running = await opened();
    const kind = { era, door: "http" } as const;
    const [ann, bob] = [await running.host(kind, "ann"), await running.host(kind, "bob")];
    const id = idOf(await call(ann, "big__prose"));
    await expectGone(bob, id);
    await expectGone(bob, "0".repeat(32));
    await expectGone(ann, id.slice(0, -1));
    expect(textOf(await readOn(ann, id, { limit: 1 }))).toBe("line 0: the quick brown fox");
  });
});

test("another session of the same principal gets nothing of a session's result", async () => {
  const running = await opened();
  const kind = { era: "legacy", door: "http" } as const;
  const [first, second] = [await running.host(kind), await running.host(kind)];
  const id = idOf(await call(first, "big__prose"));
  await expectGone(second, id);
  expect(textOf(await readOn(first, id, { limit: 1 }))).toBe("line 0: the quick brown fox");
});

const withAdmin = testOf("admin");
const keptBy = async (adminUrl: string): Promise<readonly Json[]> =>
  (await (await fetch(`${adminUrl}/api/v1/results`)).json()) as Json[];

withAdmin("operators see who keeps how much, and no content", async () => {
  const running = await opened();
  const host = await running.host({ era: "modern", door: "http" });
  const preview = await call(host, "big__prose");
  const rows = await keptBy(running.adminUrl);
  expect(rows).toMatchObject([
    { principal: "ann", server: "big", tool: "big__prose", bytes: expect.any(Number) },
  ]);
  expect(JSON.stringify(rows)).not.toContain(idOf(preview));
  const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text();
  expect(metrics).toContain(`cardea_results_kept_bytes ${String(rows[0]?.bytes)}`);
  expect(metrics).toMatch(/cardea_result_tokens_saved_total\{server="big"\} \d{4,}/);
});

withAdmin("operators see how much of each tool is kept, and when it was read last", async () => {
  const running = await opened();
  const [ann, bob] = [
    await running.host({ era: "modern", door: "http" }, "ann"),
    await running.host({ era: "modern", door: "http" }, "bob"),
  ];
  const sums = async (): Promise<readonly Json[]> =>
    (await (await fetch(`${running.adminUrl}/api/v1/results/tools`)).json()) as Json[];
  expect(await sums()).toEqual([]);
  const id = idOf(await call(ann, "big__prose"));
  await call(bob, "big__prose");
  await call(bob, "big__log");
  const [{ bytes: one } = {}] = await keptBy(running.adminUrl).then((rows) =>
    rows.filter(({ tool }) => tool === "big__prose"),
  );
  const kept = { server: "big", lastKeptAt: expect.stringMatching(/^\d{4}-.*Z$/) as string };
  expect(await sums()).toEqual([
    { ...kept, tool: "big__prose", results: 2, bytes: 2 * Number(one) },
    { ...kept, tool: "big__log", results: 1, bytes: expect.any(Number) },
  ]);
  await readOn(ann, id, { limit: 1 });
  const read = await sums();
  expect(read[0]?.lastReadAt).toMatch(/Z$/);
  expect(read[1]).not.toHaveProperty("lastReadAt");
  expect(JSON.stringify(read)).not.toContain(id);
});

withAdmin("the end of a session drops its results", async () => {
  const running = await opened();
  const host = await running.host({ era: "legacy", door: "http" });
  await call(host, "big__prose");
  expect(await keptBy(running.adminUrl)).toHaveLength(1);
  await host.close();
  await until("no kept result", async () => (await keptBy(running.adminUrl)).length === 0);
});

test("a result goes some time after it was read last", async () => {
  const running = await opened({ results: { maxTokens: 500, keep: "10m" } });
  const host = await running.host({ era: "modern", door: "http" });
  const id = idOf(await call(host, "big__prose"));
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  for (const _ of ["the first time", "the second time"]) {
    vi.advanceTimersByTime(9 * 60_000);
    expect(textOf(await readOn(host, id, { limit: 1 }))).toContain("line 0");
  }
  vi.advanceTimersByTime(11 * 60_000);
  await expectGone(host, id);
});

test("what is over the bytes of a principal displaces its own oldest results only", async () => {
  const running = await opened({ results: { maxTokens: 500, maxBytes: 900_000 } });
  const kind = { era: "modern", door: "http" } as const;
  const [ann, bob] = [await running.host(kind, "ann"), await running.host(kind, "bob")];
  const ofBob = idOf(await call(bob, "big__prose"));
  const first = idOf(await call(ann, "big__prose"));
  const second = idOf(await call(ann, "big__failed"));
  const third = idOf(await call(ann, "big__log"));
  await expectGone(ann, first);
  for (const id of [second, third])
    expect(await readOn(ann, id, { limit: 1 })).toMatchObject({ structuredContent: { offset: 0 } });
  expect(textOf(await readOn(bob, ofBob, { limit: 1 }))).toContain("line 0");
});

test("a result that is larger than what its principal may have is cut, with a note", async () => {
  const running = await opened({ results: { maxTokens: 500, maxBytes: 100_000 } });
  const host = await running.host({ era: "modern", door: "http" });
  const preview = await call(host, "big__prose");
  expect(idOf(preview)).toBe("");
  expect(JSON.stringify(preview)).toContain("too large to be kept. Call again for less.");
});

testOf("policy")("what rules redact is not kept", async () => {
  const rules = [
    {
      name: "no-foxes",
      tools: ["*"],
      effect: "redact",
      redact: { results: { patterns: ["quick brown \\w+"] } },
    },
  ];
  const running = await opened({ results: { maxTokens: 500 }, policy: { rules } });
  const host = await running.host({ era: "modern", door: "http" });
  const preview = await call(host, "big__prose");
  expect(JSON.stringify(preview)).not.toContain("brown");
  expect(textOf(await readOn(host, idOf(preview), { search: "brown" }))).toBe("(no match)");
});

test("a tool of that name is renamed, and no request of the host reaches it by that name", async () => {
  const tools = [{ name: "read_result", inputSchema: { type: "object" } }];
  const running = await opened({ results: { maxTokens: 500 } }, { tools, entry: { prefix: "" } });
  const host = await running.host({ era: "modern", door: "http" });
  const names = (await host.list("tools")).map(({ name }) => String(name));
  expect(names).toEqual([expect.stringMatching(/^read_result_[0-9a-z]{8}$/), "read_result"]);
  expect(await readOn(host, "0".repeat(32))).toMatchObject(GONE);
});
