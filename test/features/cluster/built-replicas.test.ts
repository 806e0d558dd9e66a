/** Two replicas of the built program with a real Redis, and no balancer: each request names the replica that it goes to. */
import "../admin/needed.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Host, newAgent } from "../../support/host/host.mjs";
import type { Json } from "../../support/peers/host.js";
import { openLegacy, openModern } from "../../support/peers/raw.js";
import { hasRedis } from "../../support/redis.js";
import { type Replicas, startReplicas } from "./built-replicas.js";

const CAPABILITIES = { elicitation: { form: {} } };
const ANSWER = { action: "accept", content: { name: "ann" } };
const BURST = 6;
/** Servers with a limit each: a run in which the store misses a deadline, as on a busy machine, says nothing. */
const LIMITED = ["limited1", "limited2", "limited3", "limited4"];

const textOf = (message: Json | undefined): unknown =>
  ((message?.result as Json | undefined)?.content as readonly Json[] | undefined)?.[0]?.text;

describe.runIf(hasRedis)("two replicas", () => {
  let replicas: Replicas;
  let first: string;
  let second: string;
  const agent = newAgent();
  beforeAll(async () => {
    replicas = await startReplicas(2, (url) => ({
      mcpServers: Object.fromEntries(
        LIMITED.map((name) => [name, { type: "http", url, protocol: "modern" }]),
      ),
      limits: LIMITED.map((name) => {
        const tools = [`${name}__run`];
        return { tools, rate: "1/h", burst: BURST, per: "all" };
      }),
    }));
    [first, second] = replicas.all.map(({ url }) => url) as [string, string];
  });
  afterAll(async () => {
    agent.destroy();
    await replicas?.stop();
  });

  /** A message of a legacy host's session, sent to a replica of its choice. */
  async function sent(host: Host, url: string, message: object): Promise<{ status: number; message?: Json }> {
    const response = await fetch(url, {
      method: "POST",
      headers: host.headersOf("tools/call") as Record<string, string>,
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
    const text = await response.text();
    const data = text.startsWith("{") ? text : /^data: (\{.*"(?:result|error)".*)$/m.exec(text)?.[1];
    return { status: response.status, ...(data !== undefined && { message: JSON.parse(data) as Json }) };
  }
  const run = (host: Host, url: string, key: string) =>
    sent(host, url, { id: key, method: "tools/call", params: { name: "new__run", arguments: { key } } });

  test("serve a session that was opened at either", async () => {
    for (const [i, [opened, used]] of [
      [first, second],
      [second, first],
    ].entries()) {
      const host = await openLegacy({ url: opened as string }, { agent });
      const { message } = await run(host, used as string, `session ${i}`);
      expect(textOf(message)).toBe(`session ${i}`);
      expect((await replicas.runs()).get(`session ${i}`)).toBe(1);
    }
  });

  test.each(["old", "new"])(
    "accept a legacy host's answer to a question of the other replica, from the server %s",
    async (server) => {
      const host = await openLegacy({ url: first }, { agent, capabilities: CAPABILITIES });
      const key = `legacy ${server}`;
      let answered: Promise<{ status: number }> | undefined;
      const { message } = await host.call(
        `${server}__ask`,
        { key },
        {
          onMessage: ({ id, method }: Json) => {
            if (method === "elicitation/create") answered = sent(host, second, { id, result: ANSWER });
          },
        },
      );
      expect(textOf(message as Json)).toBe(`${key} ann`);
      expect((await answered)?.status).toBe(202);
      expect((await replicas.runs()).get(key)).toBe(1);
    },
  );

  test.each(["old", "new"])(
    "accept a modern host's answer to a question of the other replica, from the server %s",
    async (server) => {
      const host = await openModern({ url: first }, { agent, capabilities: CAPABILITIES });
      const other = await openModern({ url: second }, { agent, capabilities: CAPABILITIES });
      const key = `modern ${server}`;
      const params = { name: `${server}__ask`, arguments: { key } };
      const asked = (await host.exchange("tools/call", params)).message as Json;
      const { inputRequests, requestState } = asked.result as Json;
      const names = Object.keys(inputRequests as Json);
      expect(names).toHaveLength(1);
      const inputResponses = Object.fromEntries(names.map((name) => [name, ANSWER]));
      const { message } = await other.exchange("tools/call", { ...params, inputResponses, requestState });
      expect(textOf(message as Json)).toBe(`${key} ann`);
      expect((await replicas.runs()).get(key)).toBe(1);
    },
  );

  test("share a rate limit", async () => {
    const hosts = await Promise.all([first, second].map((url) => openModern({ url }, { agent })));
    const outages = () =>
      replicas.all.flatMap(
        ({ process }) => process.stderr().match(/the cluster's store cannot be reached/g) ?? [],
      );
    const admitted = async (server: string): Promise<number> => {
      const keys = Array.from({ length: 4 * BURST }, (_, i) => `${server} ${i}`);
      for (const [i, key] of keys.entries()) await (hosts[i % 2] as Host).call(`${server}__run`, { key });
      return [...(await replicas.runs()).keys()].filter((key) => key.startsWith(server)).length;
    };
    for (const server of LIMITED) {
      const before = outages().length;
      const ran = await admitted(server);
      if (outages().length > before) continue;
      expect(ran).toBe(BURST);
      return;
    }
    expect.fail("the store missed a deadline in each run");
  });

  test("keep a session whose replica was killed", async () => {
    const others = await startReplicas(2);
    onTestFinished(() => others.stop());
    const [killed, kept] = others.all.map(({ url }) => url) as [string, string];
    const host = await openLegacy({ url: killed }, { agent });
    expect(textOf((await run(host, killed, "before")).message)).toBe("before");
    await others.all[0]?.process.stop("SIGKILL");
    const after = await run(host, kept, "after");
    expect(textOf(after.message)).toBe("after");
    const runs = await others.runs();
    expect(["before", "after"].map((key) => runs.get(key))).toEqual([1, 1]);
  });
});
