/** Two replicas behind a balancer that sends each request to the other one: what is served where it arrives, and what is forwarded. */
import "../admin/needed.js";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { testOf } from "../../support/features.js";
import { type Fixture, startFixture } from "../../support/fixture.js";
import { Host, type Json, openHost, refusalOf, textOf } from "../../support/host/host.mjs";
import { JSON_HEADERS, send } from "../../support/http-host.js";
import { type RoundRobin, roundRobin } from "../../support/round-robin.js";
import { introduce, memoryStore, peerUrlOf, type Replica, startReplica } from "./replicas.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

const store = memoryStore();
let modern: Fixture;
let legacy: Fixture;
let replicas: readonly [Replica, Replica];
let balancer: RoundRobin;

beforeAll(async () => {
  modern = await startFixture("modern", "http");
  legacy = await startFixture("legacy", "http");
  const config = {
    mcpServers: { new: modern.entry, old: legacy.entry },
    policy: {
      rules: [
        { tools: ["new__echo"], when: "args.value == 'ask'", effect: "approve" },
        { tools: ["new__*"], when: "args.message == 'approve first'", effect: "approve" },
      ],
    },
  };
  const start = () => startReplica(store.view(), config);
  replicas = [await start(), await start()];
  balancer = await roundRobin(() => replicas.map(({ url }) => url));
  await introduce(replicas);
  for (const each of replicas) expect(await metric(each, "cardea_cluster_replicas ")).toBe(2);
});
afterAll(async () => {
  await balancer.close();
  for (const { gateway } of replicas) await gateway.stop({ immediate: true });
  await modern.stop();
  await legacy.stop();
});

async function metric({ admin }: Replica, name: string): Promise<number> {
  const text = await (await fetch(`${admin}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(name))
      ?.split(" ")
      .at(-1) ?? 0,
  );
}
const forwarded = async (): Promise<number> => {
  const counts = replicas.map((each) => metric(each, 'cardea_cluster_forwards_total{outcome="answered"}'));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
};

const ANSWER: Json = { action: "accept", content: { name: "Ann", username: "ann", email: "a@example.com" } };
const options = { capabilities: { elicitation: { form: {} } }, agent: false } as const;
const hostOf = (era: "legacy" | "modern"): Promise<Host> | Host =>
  era === "legacy" ? openHost(balancer.url, "legacy", options) : new Host(balancer.url, "modern", options);

describe("a session", () => {
  test("is served at each replica, including events", async () => {
    const before = await forwarded();
    const host = await hostOf("legacy");
    for (const value of ["one", "two", "three"])
      expect(textOf((await host.call("new__echo", { value })).message)).toContain(value);
    for (let at = 0; at < 2; at += 1) {
      const methods: unknown[] = [];
      const done = await host.call(
        "new__work",
        { label: "l", steps: 3, stepMs: 1 },
        { meta: { progressToken: 1 }, onMessage: ({ method }) => methods.push(method) },
      );
      expect(textOf(done.message)).toContain("3 steps");
      expect(methods).toContain("notifications/progress");
    }
    await host.close();
    expect(await forwarded()).toBeGreaterThan(before);
  });

  test("that does not exist is 404, whatever replica its id names", async () => {
    for (const id of ["zzzzz-none", `${replicas[0].id}-none`, `${replicas[1].id}-none`, "none"]) {
      const headers = { ...JSON_HEADERS, "mcp-session-id": id };
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      expect([id, (await send(replicas[1].url, { headers, body })).status]).toEqual([id, 404]);
    }
  });
});

describe("the listener for replicas", () => {
  test("refuses every request without the key, and the listener for hosts rejects the key", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const url = peerUrlOf(store, replicas[0].id);
    for (const headers of [JSON_HEADERS, { ...JSON_HEADERS, "cardea-peer": `${replicas[1].id}.1.1.x` }]) {
      expect((await send(`${url}/mcp`, { headers, body })).status).toBe(403);
      expect((await send(replicas[0].url, { headers, body })).status).toBe(200);
    }
  });
});

describe("a question of one replica that is answered at another", () => {
  test.each([
    ["modern", "new", "test_input_required_result_elicitation"],
    ["modern", "old", "test_elicitation"],
    ["legacy", "new", "test_input_required_result_elicitation"],
    ["legacy", "old", "test_elicitation"],
  ] as const)("of a %s host to the server %s (%s)", async (era, server, tool) => {
    for (let at = 0; at < 2; at += 1) {
      const host = await hostOf(era);
      const params = { name: `${server}__${tool}`, arguments: { message: "?" } };
      const { response } = await host.converse("tools/call", params, () => ANSWER);
      expect(response.error).toBeUndefined();
      expect(textOf(response)).toMatch(/Ann|accept/);
    }
  });

  test("is also an approval of the policy", async () => {
    for (const era of ["legacy", "modern"] as const) {
      const params = { name: "new__echo", arguments: { value: "ask" } };
      const { response } = await (await hostOf(era)).converse("tools/call", params, () => ANSWER);
      expect(textOf(response)).toContain("ask");
    }
  });

  test("is answered once across all replicas", async () => {
    const host = (await hostOf("modern")) as Host;
    const params = { name: "new__echo", arguments: { value: "ask" } };
    const { message } = await host.exchange("tools/call", params);
    const { inputRequests = {}, requestState } = (message?.result ?? {}) as Json;
    const [key = ""] = Object.keys(inputRequests as Json);
    const again = { ...params, inputResponses: { [key]: ANSWER }, requestState };
    expect(textOf((await host.exchange("tools/call", again)).message)).toContain("ask");
    // At one replica and at the other.
    for (let at = 0; at < 2; at += 1)
      expect(refusalOf((await host.exchange("tools/call", again)).message)?.code).toBe("state_rejected");
  });

  test("holds for one run, though its server asks more: the state of an approved call is used once", async () => {
    const host = (await hostOf("modern")) as Host;
    const params = {
      name: "new__test_input_required_result_elicitation",
      arguments: { message: "approve first" },
    };
    const continued = async (last: Json) => {
      const { inputRequests = {}, requestState } = (last.result ?? {}) as Json;
      const [key = ""] = Object.keys(inputRequests as Json);
      return { key, again: { ...params, inputResponses: { [key]: ANSWER }, requestState } };
    };
    const { message: approval } = await host.exchange("tools/call", params);
    const approved = await continued(approval as Json);
    expect(approved.key).toBe("cardea/approval");
    const { message: question } = await host.exchange("tools/call", approved.again);
    const answered = await continued(question as Json);
    expect(answered.key).not.toBe("cardea/approval");
    expect(textOf((await host.exchange("tools/call", answered.again)).message)).toMatch(/Ann|accept/);
    // At one replica and at the other: neither the approval nor the round that it allowed runs the tool again.
    for (const again of [answered.again, answered.again, approved.again, approved.again])
      expect(refusalOf((await host.exchange("tools/call", again)).message)?.code).toBe("state_rejected");
  });
});
