/** What the pages of problems and servers say of servers that are away, half-failing, slow, or in use. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { problems } from "../../../src/features/admin/merge-pages.js";
import type { ProblemRow } from "../../../src/features/admin/rows.js";
import { testOf } from "../../support/features.js";
import { gatewayOf, listening } from "../../support/gateway.js";
import { turnTheClock } from "../../support/turn-the-clock.js";
import { until } from "../../support/until.js";
import "./needed.js";

type Row = Readonly<Record<string, unknown>>;

const HALF_WELL = fileURLToPath(new URL("half-well.mjs", import.meta.url));

async function started(entry: object, file: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), "cardea-problems-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const opened = join(folder, "opened");
  const gateway = await gatewayOf({
    mcpServers: { one: { command: process.execPath, args: [HALF_WELL, opened], ...entry } },
    ...file,
  });
  const { adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const page = async (path: string) => (await (await fetch(`${adminUrl}/api/v1/${path}`)).json()) as Row[];
  return { gateway, page, openGate: () => writeFileSync(opened, ""), folder };
}

test("a server of which every third call fails is a problem, with its figures and since when", async () => {
  const { gateway, page } = await started({});
  for (let call = 0; call < 8; call += 1) await gateway.call("one__flaky", {});
  expect(await page("problems")).toEqual([]);
  await gateway.call("one__flaky", {});
  expect(await page("problems")).toEqual([
    {
      id: "error_rate:one",
      kind: "error_rate",
      severity: "warning",
      server: "one",
      text: "one fails often: 3 of 9 calls failed within 15 min (the last one: tool_error)",
      since: expect.stringMatching(/^\d{4}-.*Z$/),
      count: 3,
      figures: { failed: 3, calls: 9, windowSeconds: 900 },
      actions: [{ kind: "restart", label: "Restart", path: "servers/one/restart" }],
    },
  ]);
});

test("a server that only times out is a problem", async () => {
  const { gateway, page } = await started({ timeout: "50ms" });
  await gateway.call("one__hangs", {});
  expect(await page("problems")).toMatchObject([
    { kind: "timeouts", severity: "error", server: "one", figures: { failed: 1, calls: 1 } },
  ]);
});

testOf("policy")("calls that a rule refused are no failures of the server", async () => {
  const rules = [{ name: "no", tools: ["one__flaky"], effect: "deny" }];
  const { gateway, page } = await started({}, { policy: { rules } });
  for (let call = 0; call < 9; call += 1) await gateway.call("one__flaky", {});
  // What a rule refuses is worth a note, which names the rule.
  expect(await page("problems")).toMatchObject([
    { id: "refusals:no", kind: "refusals", severity: "note", rule: "no", count: 9 },
  ]);
});

test("a server whose answers take long is a problem, with how long they took", async () => {
  const { gateway, page, openGate } = await started({});
  await gateway.lists("tools");
  const calls = Array.from({ length: 5 }, () => gateway.call("one__gate", {}));
  await until("the calls", async () => (await page("servers"))[0]?.inFlight === 5);
  turnTheClock(4_000);
  openGate();
  await Promise.all(calls);
  expect(await page("problems")).toMatchObject([
    {
      ...{ id: "slow:one", kind: "slow", severity: "warning", server: "one" },
      text: expect.stringMatching(/^one is slow: 95 % of 5 calls within 15 min took up to [4-9].\d s$/),
    },
  ]);
});

test("a config whose parts match nothing is a problem, until the next config", async () => {
  const { gateway, page } = await started({});
  const sentence = "cardea.json:4:9: no tool is exposed under a name like this";
  gateway.foundIneffective([sentence]);
  expect(await page("problems")).toMatchObject([
    { kind: "ineffective", severity: "warning", text: sentence, actions: [{ command: "cardea check" }] },
  ]);
});

test("the problems of several workers are one row, whose text has the sums", () => {
  const row = (failed: number, calls: number, since: string): ProblemRow => ({
    ...{ id: "error_rate:one", kind: "error_rate", severity: "warning", server: "one", since, count: failed },
    ...{ text: `one fails often: ${failed} of ${calls} calls failed within 15 min`, actions: [] },
    figures: { failed, calls, windowSeconds: 900 },
  });
  const answers = [
    { worker: 1, body: [row(3, 9, "2026-11-29T10:00:00.000Z")] },
    { worker: 2, body: [row(4, 12, "2026-11-29T09:00:00.000Z")] },
  ] as const;
  expect(problems(answers)).toEqual([
    {
      ...row(7, 21, "2026-11-29T09:00:00.000Z"),
      text: "one fails often: 7 of 21 calls failed within 15 min",
    },
  ]);
});

test("a server that cannot be started stays a problem through all its attempts, until one succeeds", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cardea-problems-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "server.mjs");
  const { page, gateway } = await started({ args: [file] });
  const away = async () => (await page("problems")).find(({ kind }) => kind === "unavailable");
  await until("the first failure", async () => (await away()) !== undefined);
  const first = await away();
  await until("another attempt", async () => {
    const now = await away();
    // In every state of the attempts it is there, with the same age.
    expect(now).toMatchObject({ id: "unavailable:one", severity: "error", since: first?.since });
    return Number(now?.count) > Number(first?.count);
  });
  writeFileSync(file, `process.argv[2] = "";\nawait import(${JSON.stringify(HALF_WELL)});`);
  await until("a success", async () => (await page("problems")).length === 0);
  expect(await gateway.call("one__flaky", {})).toMatchObject({ kind: "result" });
});

test("a server with a call in flight is in use, never idle", async () => {
  const { gateway, page, openGate } = await started({ start: "demand" });
  const call = gateway.call("one__gate", {});
  await until("the call", async () => {
    const [row] = await page("servers");
    return row?.inUse === true && row.state === "ready";
  });
  openGate();
  await call;
  const [row] = await page("servers");
  expect(row).toMatchObject({ inUse: false, inFlight: 0 });
});
