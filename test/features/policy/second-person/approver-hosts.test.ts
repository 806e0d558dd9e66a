/** Approvers are asked at their own hosts, made of the official SDK, while the caller's host is not asked. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import type { ClientChannel } from "../../../../src/core/client.js";
import { SILENT } from "../../../../src/core/logger.js";
import { principalOf } from "../../../../src/core/principal.js";
import {
  ApproverHosts,
  MAX_FORMS_OF_HOST,
} from "../../../../src/features/policy/second-person/approver-hosts.js";
import type { OpenApproval } from "../../../../src/features/policy/second-person/open-approvals.js";
import { clientOf } from "../../../support/calls.js";
import { testOf } from "../../../support/features.js";
import { textOf } from "../../../support/host/host.mjs";
import { HOSTS, openGateway } from "../../../support/open-gateway.js";
import { until } from "../../../support/until.js";

const TOKEN = "the-token-of-approver-hosts";
const BOB = `Bearer crd_${"b".repeat(43)}`;
const CONFIG = {
  listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
  policy: {
    rules: [
      { name: "two-eyes", tools: ["files__wipe"], effect: "approve", approvers: ["bob", "ann"] },
      { tools: ["*"], effect: "redact", redact: { arguments: { patterns: ["hunter2"] } } },
    ],
  },
};

type Answer = Readonly<Record<string, unknown>>;

/** A host of bob with a stream; `answer` may stay open. */
async function approverAt(url: string, answer: () => Answer | Promise<Answer>) {
  const messages: string[] = [];
  const withdrawn: string[] = [];
  const client = new Client({ name: "bob's host", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
    messages.push(params.message);
    signal.addEventListener("abort", () => withdrawn.push(params.message));
    return answer() as never;
  });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: BOB } },
  });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return { client, messages, withdrawn };
}

const open = async (streams: number, ...answers: readonly (() => Answer | Promise<Answer>)[]) => {
  const running = await openGateway({ files: { tools: ["wipe", "read"] } }, CONFIG);
  const admin = async (path: string, init: RequestInit = {}): Promise<string> => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    return (await fetch(new URL(path, running.adminUrl), { ...init, headers })).text();
  };
  const hosts = await Promise.all(answers.map((answer) => approverAt(running.url, answer)));
  await until("the streams", async () =>
    (await admin("/metrics")).includes(`cardea_streams_open{kind="session"} ${streams}`),
  );
  return { ...running, admin, hosts };
};
const never = () => new Promise<never>(() => {});
const say = (decision: string) => () => ({ action: "accept", content: { decision } });

testOf("admin").each(HOSTS)(
  "the first decision at a host of an approver holds for a $era caller over $door, and forms at other hosts are withdrawn",
  async (kind) => {
    const { received, host, hosts } = await open(2, say("accept"), never);
    const [accepting, waiting] = hosts;
    const desk = await host(kind);
    const { message } = await desk.call("files__wipe", { disk: "sda", key: "hunter2" });
    expect(message?.error).toBeUndefined();
    expect(received.filter(({ method }) => method === "tools/call")).toHaveLength(1);
    await until("the withdrawal", () => waiting?.withdrawn.length === 1);
    const [shown] = accepting?.messages ?? [];
    expect(shown).toMatch(/^ann in ".*" needs your approval: "files__wipe" of server "files"/);
    expect(shown).toContain('Rule "two-eyes", until 20');
    expect(shown).toMatch(/^\{"key":"\[redacted\]","disk":"sda"\}$/m);
    // Its host is not blocked by the form that it had.
    expect((await waiting?.client.listTools())?.tools.map(({ name }) => name)).toContain("files__read");
  },
);

testOf("admin")("a decision at a host may be no, and a form that is closed decides nothing", async () => {
  const { received, host, hosts, admin } = await open(
    2,
    () => ({ action: "cancel" }),
    () => ({ action: "accept", content: {} }),
  );
  const desk = await host({ era: "modern", door: "http" });
  const reply = desk.call("files__wipe", {});
  await until("the forms", () => hosts.every(({ messages }) => messages.length === 1));
  const [row] = JSON.parse(await admin("/api/v1/approvals")) as { id: string }[];
  await admin(`/api/v1/approvals/${row?.id}/decline`, { method: "POST", body: "{}" });
  expect(textOf((await reply).message)).toMatch("an approver declined");
  expect(received).toEqual([]);
});

testOf("admin")(
  "a decline at a host of an approver refuses the call, and its caller is never asked",
  async () => {
    const { received, host, hosts } = await open(1, () => ({ action: "decline" }));
    // An approver too, whose own call this is.
    const desk = await host({ era: "legacy", door: "http" }, "ann");
    expect(textOf((await desk.call("files__wipe", {})).message)).toMatch("an approver declined");
    expect(hosts[0]?.messages).toHaveLength(1);
    expect(received).toEqual([]);
  },
);

const approval = (id: string): OpenApproval => ({
  ...{ id, tool: "files__wipe", server: "files", principal: "ann", principalKey: "ann", rule: "two-eyes" },
  ...{ approvers: ["bob"], at: 0, expiresAt: Date.now() + 3_600_000, arguments: {} },
});

/** Hosts of these principals, which have each form open until it is withdrawn. */
function hostsOf(...clients: readonly Partial<ClientChannel["client"]>[]) {
  const asked: string[] = [];
  const channels = clients.map((more): ClientChannel => {
    const client = clientOf({ capabilities: { elicitation: {} }, ...more });
    return {
      client,
      request: (_, signal) => {
        asked.push(client.affinity);
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      },
    };
  });
  const hosts = new ApproverHosts({
    ...{ connected: () => channels, openFor: async () => [], logger: SILENT, redact: (text) => text },
    decide: async () => undefined,
  });
  onTestFinished(() => hosts.close());
  return { hosts, asked };
}
const bob = principalOf("key", "bob");

test("hosts are asked that can show a form, of approvers who have not made the call", async () => {
  const { hosts, asked } = hostsOf(
    { affinity: "form", principal: bob },
    { affinity: "no form", principal: bob, capabilities: {} },
    { affinity: "links", principal: bob, capabilities: { elicitation: { url: {} } } },
    { affinity: "other", principal: principalOf("key", "lee") },
    { affinity: "caller", principal: principalOf("key", "ann") },
  );
  hosts.opened({ ...approval("a"), approvers: ["bob", "ann"] });
  await until("the question", () => asked.length > 0);
  expect(asked).toEqual(["form"]);
});

test("one host has a few forms at the same time, which end with their approvals", async () => {
  const { hosts, asked } = hostsOf({ affinity: "form", principal: bob });
  for (let at = 0; at < MAX_FORMS_OF_HOST; at += 1) hosts.opened(approval(`a${at}`));
  await until("the questions", () => asked.length === MAX_FORMS_OF_HOST);
  hosts.opened(approval("one too many"));
  hosts.ended("a0");
  await until("its place", () => hosts.size === MAX_FORMS_OF_HOST - 1);
  hosts.opened(approval("the next one"));
  await until("the next question", () => asked.length === MAX_FORMS_OF_HOST + 1);
  hosts.close();
  await until("the end of all", () => hosts.size === 0);
});
