/** Two replicas behind a balancer: a kept result is read at the one that keeps it, by its principal, and goes with it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openedFeatures } from "../../support/features.js";
import { configOf } from "../../support/gateway.js";
import { Host, refusalOf } from "../../support/host/host.mjs";
import { httpWire } from "../../support/host/wires.mjs";
import type { Json } from "../../support/peers/host.js";
import { type RecordingServer, recordingServer } from "../../support/servers/recording-server.js";
import { until } from "../../support/until.js";
import { introduce, memoryStore, type Replica, startReplica } from "../cluster/replicas.js";
import { idOf, LARGE, PROSE, textOf } from "./support.js";

const store = memoryStore();
let server: RecordingServer;
let calls = 0;
let last = 0;
let replicas: readonly [Replica, Replica];
const count = (): void => {
  calls += 1;
};

beforeAll(async () => {
  server = await recordingServer("big", "modern", LARGE, count, LARGE.answer);
});
beforeEach(async () => {
  const file = { results: { maxTokens: 500 }, mcpServers: { big: { type: "http", url: server.url } } };
  const start = async (): Promise<Replica> => {
    const features = await openedFeatures(configOf(file), {}, ["results"]);
    return startReplica(store.view(), file, {}, { features });
  };
  replicas = [await start(), await start()];
  await introduce(replicas);
  return async () => {
    for (const { gateway } of replicas) await gateway.stop({ immediate: true });
  };
});
afterAll(() => server.close());

const modern = (at: number): Host => new Host(replicas[at]?.url ?? "", "modern", { agent: false });
const callOf = async (host: Host, name: string, args: Json): Promise<Json> => {
  last += 1;
  const { result, error } = await host.send(`replicas-${last}`, "tools/call", {
    name,
    arguments: args,
  });
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result as Json;
};

describe("a modern host", () => {
  test("reads at any replica what one of them keeps, by the tool and by the URI", async () => {
    const id = idOf(await callOf(modern(0), "big__prose", {}));
    expect(id).toMatch(new RegExp(`^${replicas[0].id}-[0-9a-f]{32}$`));
    const before = calls;
    for (const at of [0, 1]) {
      const page = await callOf(modern(at), "read_result", { id, offset: 1_234, limit: 1 });
      expect(textOf(page)).toBe(PROSE.split("\n")[1_234]);
      const uri = `cardea-result://${id}?offset=17&limit=1`;
      const { result } = await modern(at).send("read", "resources/read", { uri });
      expect((result as { contents: { text: string }[] }).contents[0]?.text).toBe(PROSE.split("\n")[17]);
    }
    expect(calls).toBe(before);
    // A guessed id is none, whichever replica it names.
    for (const prefix of [`${replicas[0].id}-`, `${replicas[1].id}-`, "zzzz9-", ""])
      await expectGone(modern(1), `${prefix}${"0".repeat(32)}`);
  });

  test("gets the sentence of a result that is gone, when its replica has died", async () => {
    const id = idOf(await callOf(modern(0), "big__prose", {}));
    await replicas[0].gateway.stop({ immediate: true });
    await untilAnswered(modern(1), id);
    await expectGone(modern(1), id);
  });
});

/** Until the other replica is known to be gone, the answer is an error with a time to retry. */
const untilAnswered = (host: Host, id: string) =>
  until("an answer", async () => {
    const params = { name: "read_result", arguments: { id } };
    return (await host.exchange("tools/call", params)).status === 200;
  });

async function expectGone(host: Host, id: string): Promise<void> {
  expect(await callOf(host, "read_result", { id })).toMatchObject({
    isError: true,
    _meta: { "cardea/refusal": { code: "result_gone", retryable: false } },
  });
  const read = await host.send("gone", "resources/read", { uri: `cardea-result://${id}` });
  expect(refusalOf(read)?.code).toBe("result_gone");
}

test("a host with a session reads at any replica, and nothing after its session was adopted", async () => {
  const first = await new Host(replicas[0].url, "legacy", { agent: false }).open();
  const id = idOf(await callOf(first, "big__prose", {}));
  const headers = { "mcp-session-id": first.session ?? "", "mcp-protocol-version": "2025-11-25" };
  const elsewhere = new Host(httpWire(replicas[1].url, headers), "legacy");
  expect(textOf(await callOf(elsewhere, "read_result", { id, limit: 1 }))).toBe(
    "line 0: the quick brown fox",
  );
  await replicas[0].gateway.stop({ immediate: true });
  await untilAnswered(elsewhere, id);
  await expectGone(elsewhere, id);
});
