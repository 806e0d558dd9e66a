/** The built program is stopped while calls wait for another person, and started again. */
import "../../admin/needed.js";
import { expect, onTestFinished, test } from "vitest";
import { startServing, writeConfig } from "../../../support/cardea.js";
import { Host, type Json, openHost, textOf } from "../../../support/host/host.mjs";
import { type Received, recordingServer } from "../../../support/servers/recording-server.js";
import { until } from "../../../support/until.js";

const TOKEN = "the-token-over-a-restart";

interface Row {
  readonly id: string;
  readonly expiresAt: string;
}

/** A config, and what its server received; the program starts and ends more than once. */
async function setup() {
  const received: Received[] = [];
  const server = await recordingServer(
    "files",
    "modern",
    { tools: ["wipe"] },
    (it) => void received.push(it),
  );
  const config = writeConfig({
    listen: { admin: { token: TOKEN } },
    keys: { state: "a key that outlives the process, 32" },
    mcpServers: { files: { type: "http", url: server.url } },
    startupWait: "10m",
    policy: {
      rules: [{ name: "two-eyes", tools: ["files__wipe"], effect: "approve", approvers: ["lee"] }],
    },
  });
  onTestFinished(async () => {
    await config.remove();
    await server.close();
  });
  const start = async () => {
    const args = ["serve", "--config", config.file, "--port", "0", "--admin-port", "0"];
    const gateway = await startServing(args, async () => {});
    onTestFinished(async () => void (await gateway.end()));
    const admin = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(new URL(`/api/v1/${path}`, gateway.admin), {
        ...init,
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      });
    const rows = async () => (await (await admin("approvals")).json()) as readonly Row[];
    return { ...gateway, admin, rows };
  };
  return { start, calls: () => received.filter(({ method }) => method === "tools/call") };
}

const CALL = { name: "files__wipe", arguments: { disk: "sda" } };

test("a call of a 2026-07-28 host waits on under the same id, and runs once", async () => {
  const { start, calls } = await setup();
  const first = await start();
  const round = new Host(first.url, "modern").send(1, "tools/call", CALL);
  const [before] = await until("the approval", async () => {
    const rows = await first.rows();
    return rows.length === 1 && rows;
  });
  await first.end();
  const { result } = (await round) as { result?: Json };
  expect(result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
  const second = await start();
  const params = { ...CALL, inputResponses: {}, requestState: result?.requestState };
  const reply = new Host(second.url, "modern").send(2, "tools/call", params);
  const [after] = await until("the approval again", async () => {
    const rows = await second.rows();
    return rows.length === 1 && rows;
  });
  expect(after).toEqual(before);
  expect(calls()).toEqual([]);
  expect((await second.admin(`approvals/${after?.id}/accept`, { method: "POST", body: "{}" })).status).toBe(
    200,
  );
  expect((await reply).error).toBeUndefined();
  expect(calls()).toHaveLength(1);
  const replayed = await new Host(second.url, "modern").send(3, "tools/call", params);
  expect(JSON.stringify(replayed)).toContain("state_rejected");
  expect(calls()).toHaveLength(1);
});

test("a call of a host with a session ends with an error that says that it did not run", async () => {
  const { start, calls } = await setup();
  const gateway = await start();
  const host = await openHost(gateway.url, "legacy");
  const reply = host.call(CALL.name, CALL.arguments);
  await until("the approval", async () => (await gateway.rows()).length === 1);
  await gateway.end();
  const { message } = await reply;
  expect(textOf(message)).toContain("the gateway stops while this call waits, so it did not run");
  expect(JSON.stringify(message)).toContain('"code":"overloaded"');
  expect(calls()).toEqual([]);
});
