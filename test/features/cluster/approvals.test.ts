/** Approvals by another person in a cluster: decided at whichever replica, and one run over all of them. */
import "../admin/needed.js";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { testOf } from "../../support/features.js";
import { Host, type Json, openHost, textOf } from "../../support/host/host.mjs";
import { type Received, recordingServer } from "../../support/servers/recording-server.js";
import { until } from "../../support/until.js";
import { introduce, memoryStore, type Replica, startReplica } from "./replicas.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

const TOKEN = "the-token-of-all-replicas";
const received: Received[] = [];
let server: Awaited<ReturnType<typeof recordingServer>>;
let replicas: readonly Replica[];
let config: object;
const store = memoryStore();

beforeAll(async () => {
  server = await recordingServer("files", "modern", { tools: ["wipe"] }, (it) => void received.push(it));
  config = {
    listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
    mcpServers: { files: { type: "http", url: server.url } },
    startupWait: "10m",
    policy: {
      rules: [{ name: "two-eyes", tools: ["files__wipe"], effect: "approve", approvers: ["lee"] }],
    },
  };
  replicas = await Promise.all([0, 1, 2].map(() => startReplica(store.view(), config)));
  await introduce(replicas);
  await Promise.all(replicas.map(({ gateway }) => gateway.lists("tools")));
});
afterAll(async () => {
  await Promise.all(replicas.map(({ gateway }) => gateway.stop({ immediate: true })));
  await server.close();
});

const at = (index: number): Replica => {
  const replica = replicas[index];
  if (replica === undefined) throw new Error("no such replica");
  return replica;
};
const admin = (index: number, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${at(index).admin}/api/v1/${path}`, {
    ...init,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
  });
const rows = async (index: number) => (await (await admin(index, "approvals")).json()) as { id: string }[];
const opened = (index: number) =>
  until("the approval", async () => {
    const all = await rows(index);
    return all.length === 1 && all[0]?.id;
  });
const decide = (index: number, id: string, how: string) =>
  admin(index, `approvals/${id}/${how}`, { method: "POST", body: "{}" });
const calls = (disk: string) =>
  received.filter(({ method, body }) => method === "tools/call" && body.includes(disk));
const counted = async (index: number): Promise<number> => {
  const text = await (
    await fetch(`${at(index).admin}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  ).text();
  return [...text.matchAll(/^cardea_approvals_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
};

describe("a call that waits at one replica", () => {
  test.each(["legacy", "modern"] as const)(
    "of a %s host is listed and decided at another one",
    async (era) => {
      const disk = `at another, ${era}`;
      const host = await openHost(at(0).url, era);
      const reply = host.call("files__wipe", { disk });
      const id = await opened(1);
      expect(await opened(0)).toBe(id);
      expect(await (await decide(1, id, "accept")).json()).toEqual({ done: true });
      expect((await reply).message?.error).toBeUndefined();
      expect(calls(disk)).toHaveLength(1);
      expect((await decide(2, id, "accept")).status).toBe(409);
      expect(await rows(2)).toEqual([]);
    },
  );

  test("may be declined at another one", async () => {
    const host = await openHost(at(0).url, "legacy");
    const reply = host.call("files__wipe", { disk: "declined" });
    await decide(2, await opened(2), "decline");
    expect(textOf((await reply).message)).toContain("an approver declined");
    expect(calls("declined")).toEqual([]);
  });
});

test("a call continues at a second replica while the first one ends, is decided at a third, and runs once", async () => {
  const fourth = await startReplica(store.view(), config);
  await introduce([...replicas, fourth]);
  await fourth.gateway.lists("tools");
  const params = { name: "files__wipe", arguments: { disk: "continued" } };
  const round = new Host(fourth.url, "modern").send(1, "tools/call", params);
  const id = await opened(0);
  await fourth.gateway.stop();
  const { result } = (await round) as { result?: Json };
  expect(result?.resultType).toBe("input_required");
  const later = { ...params, inputResponses: {}, requestState: result?.requestState };
  const before = await Promise.all([0, 1, 2].map(counted));
  const reply = new Host(at(1).url, "modern").send(2, "tools/call", later);
  expect(await opened(2)).toBe(id);
  expect(await (await decide(2, id, "accept")).json()).toEqual({ done: true });
  expect((await reply).error).toBeUndefined();
  for (const index of [0, 1, 2]) {
    const again = await new Host(at(index).url, "modern").send(3, "tools/call", later);
    expect(JSON.stringify(again)).toContain("state_rejected");
  }
  expect(calls("continued")).toHaveLength(1);
  // One replica has counted it.
  expect((await Promise.all([0, 1, 2].map(counted))).reduce((sum, n) => sum + n, 0)).toBe(
    before.reduce((sum, n) => sum + n, 0) + 1,
  );
});
