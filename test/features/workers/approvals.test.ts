/** Approvals by another person with several workers: wherever the call is held, the approver's host is connected, and the decision comes in. */
import "../admin/needed.js";
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { testOf } from "../../support/features.js";
import { type Host, type Json, openHost } from "../../support/host/host.mjs";
import { type Received, recordingServer } from "../../support/servers/recording-server.js";
import { until } from "../../support/until.js";
import { FORMS, startTwo } from "./two-workers.js";

const test = testOf("policy", "workers");

const TOKEN = "the-token-of-the-operators-of-two-workers";
const KEYS = { ann: `crd_${"a".repeat(43)}`, bob: `crd_${"b".repeat(43)}` } as const;
const bearer = (person: keyof typeof KEYS) => ({ authorization: `Bearer ${KEYS[person]}` });
const received: Received[] = [];
const ends: (() => Promise<unknown>)[] = [];
let url = "";
let admin = "";

const api = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${admin}/api/v1/${path}`, {
    ...init,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
  });

beforeAll(async () => {
  const offered = { tools: ["wipe"] };
  const server = await recordingServer("files", "modern", offered, (it) => void received.push(it));
  ends.push(() => server.close());
  const hash = (key: string): string => `sha256:${createHash("sha256").update(key).digest("hex")}`;
  const process = startTwo((end) => ends.unshift(end), {
    listen: { admin: { token: TOKEN } },
    auth: { keys: Object.entries(KEYS).map(([id, key]) => ({ id, hash: hash(key) })) },
    mcpServers: { files: { type: "http", url: server.url } },
    startupWait: "10m",
    policy: {
      rules: [{ name: "two-eyes", tools: ["files__wipe"], effect: "approve", approvers: ["bob"] }],
    },
  });
  [, url = "", admin = ""] = await process.says(/ready: (http:\S+) \(admin: (http:[^)]+)\)/);
  await until("the server", async () => {
    const servers = (await (await api("servers")).json()) as { state: string }[];
    return servers.every(({ state }) => state === "ready");
  });
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** A host whose session is at this worker. */
async function hostAt(worker: string, person: keyof typeof KEYS, capabilities = {}): Promise<Host> {
  for (;;) {
    // Each on connections of its own, which the workers take in turn.
    const options = { headers: bearer(person), capabilities, agent: false } as const;
    const host = await openHost(url, "legacy", options);
    if (host.session?.startsWith(`${worker}-`) === true) return host;
    await host.close();
  }
}

/** A host of bob that is asked on its stream, and accepts each form; resolves to the forms that it gets. */
async function approverAt(worker: string): Promise<readonly Json[]> {
  const host = await hostAt(worker, "bob", FORMS);
  const forms: Json[] = [];
  const stream = await host.stream({
    onMessage: (message: Json) => {
      if (message.method !== "elicitation/create") return;
      forms.push(message);
      void host.respond(message, () => ({ action: "accept", content: { decision: "accept" } }));
    },
  });
  onTestFinished(async () => {
    await stream.stop();
    await host.close();
  });
  return forms;
}

const openIds = async () => {
  const rows = (await (await api("approvals")).json()) as { id: string }[];
  return rows.map(({ id }) => id);
};
const opened = () => until("the approval", async () => (await openIds())[0]);
const runs = (disk: string) => received.filter(({ body }) => body.includes(JSON.stringify(disk))).length;

test("a call at one worker is decided by the admin API, and runs once", async () => {
  for (const worker of ["1", "2"]) {
    const disk = `admin ${worker}`;
    const reply = (await hostAt(worker, "ann")).call("files__wipe", { disk });
    const id = await opened();
    const decided = await api(`approvals/${id}/accept`, { method: "POST", body: "{}" });
    expect(decided.status).toBe(200);
    expect((await reply).message?.error).toBeUndefined();
    expect(runs(disk)).toBe(1);
    expect(await openIds()).toEqual([]);
  }
});

test("a call at one worker is decided at an approver's host at another one", async () => {
  const forms = await approverAt("2");
  const reply = (await hostAt("1", "ann")).call("files__wipe", { disk: "connected" });
  expect((await reply).message?.error).toBeUndefined();
  expect(forms).toHaveLength(1);
  expect(runs("connected")).toBe(1);
});

test("a call at one worker is decided at an approver's host that connects to another one while it waits", async () => {
  const reply = (await hostAt("1", "ann")).call("files__wipe", { disk: "form" });
  await opened();
  const forms = await approverAt("2");
  expect((await reply).message?.error).toBeUndefined();
  expect(forms).toHaveLength(1);
  expect(runs("form")).toBe(1);
  expect(await openIds()).toEqual([]);
});
