/** What the pages of problems and servers say of servers that are away, half-failing, slow, or in use. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { testOf } from "../../support/features.js";
import { gatewayOf, listening } from "../../support/gateway.js";
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
      text: "one: 3 of 9 calls failed (the last one: tool_error) within 15 min",
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
  expect(await page("problems")).toEqual([]);
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
