/** An approval by another person, from the call to the audit event: hosts of both eras, over HTTP and on pipes. */
import { expect, test } from "vitest";
import { testOf } from "../../../support/features.js";
import { textOf } from "../../../support/host/host.mjs";
import { HOSTS, openGateway } from "../../../support/open-gateway.js";
import { until } from "../../../support/until.js";

const TOKEN = "the-token-of-approvals";
const CONFIG = {
  listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
  policy: {
    rules: [{ name: "two-eyes", tools: ["files__wipe"], effect: "approve", approvers: ["group:leads"] }],
  },
};
interface Row {
  readonly id: string;
}

const admin = (adminUrl: string, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(new URL(`/api/v1/${path}`, adminUrl), {
    ...init,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
  });

const rowsOf = async (adminUrl: string): Promise<readonly Row[]> =>
  (await (await admin(adminUrl, "approvals")).json()) as readonly Row[];

testOf("admin").each(HOSTS)(
  "a call of a $era host over $door waits, and runs once when it is accepted",
  async (kind) => {
    const { adminUrl, received, host } = await openGateway({ files: { tools: ["wipe"] } }, CONFIG);
    const desk = await host(kind);
    const reply = desk.call("files__wipe", { disk: "sda" });
    await until("the approval", async () => (await rowsOf(adminUrl)).length === 1);
    const [row] = await rowsOf(adminUrl);
    expect(row).toMatchObject({
      tool: "files__wipe",
      server: "files",
      principal: "ann",
      rule: "two-eyes",
      arguments: { disk: "sda" },
    });
    expect(received).toEqual([]);
    const decided = await admin(adminUrl, `approvals/${row?.id}/accept`, { method: "POST", body: "{}" });
    expect([decided.status, await decided.json()]).toEqual([200, { done: true }]);
    const { message } = await reply;
    expect(message?.error).toBeUndefined();
    expect(received.filter(({ method }) => method === "tools/call")).toHaveLength(1);
    expect(await rowsOf(adminUrl)).toEqual([]);
    const metrics = await (await admin(adminUrl, "../../metrics")).text();
    expect(metrics).toContain('cardea_input_wait_seconds_count{server="files",kind="approval"} 1');
    const twice = await admin(adminUrl, `approvals/${row?.id}/accept`, { method: "POST", body: "{}" });
    expect([twice.status, await twice.json()]).toEqual([409, { error: "there is no such open approval" }]);
  },
);

testOf("admin").each(HOSTS)(
  "a call of a $era host over $door that is declined never reaches its server",
  async (kind) => {
    const { adminUrl, received, host } = await openGateway({ files: { tools: ["wipe"] } }, CONFIG);
    const desk = await host(kind);
    const reply = desk.call("files__wipe", {});
    await until("the approval", async () => (await rowsOf(adminUrl)).length === 1);
    const [row] = await rowsOf(adminUrl);
    await admin(adminUrl, `approvals/${row?.id}/decline`, { method: "POST", body: "{}" });
    expect(textOf((await reply).message)).toMatch('an approver declined "files__wipe"');
    expect(received).toEqual([]);
  },
);

test("a rule without an effect that asks has no approvers", async () => {
  const rules = [{ tools: ["*"], effect: "deny", approvers: ["lee"] }];
  await expect(openGateway({ files: { tools: ["wipe"] } }, { policy: { rules } })).rejects.toThrow(
    'this key needs the effect "approve"',
  );
});
