/** A server whose process is killed: its calls end with a clear word, the others continue, and it comes back. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fixture, startFixture } from "../support/fixture.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import type { Json } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { sample } from "../support/sample.js";
import { until } from "../support/until.js";

const textOf = (response: Json): string | undefined =>
  ((response.result as Json | undefined)?.content as readonly { text?: string }[] | undefined)?.[0]?.text;

const HOSTS = [
  ["legacy", openLegacy],
  ["modern", openModern],
] as const;

describe.each(["legacy", "modern"] as const)("a %s stdio server", (era) => {
  let victim: Fixture;
  let bystander: Fixture;
  let gateway: MetGateway;
  beforeAll(async () => {
    [victim, bystander] = await Promise.all([startFixture(era, "stdio"), startFixture("legacy", "stdio")]);
    gateway = await metGateway({ mcpServers: { victim: victim.entry, bystander: bystander.entry } });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([victim.stop(), bystander.stop()]);
  });

  test.each(sample(`killed ${era} servers`, HOSTS, 1))(
    "that is killed during calls of a %s host: every open call gets one response, and the server is restarted",
    async (hostEra, open) => {
      const host: RawHost = await open({ url: gateway.url });
      const pidOf = async (id: string): Promise<number> =>
        Number(textOf(await host.send(id, "tools/call", { name: "victim__process_id", arguments: {} })));
      const work = (server: string, label: string, steps: number) => ({
        name: `${server}__work`,
        arguments: { label, steps, stepMs: 20 },
      });
      const pid = await pidOf("before");
      const label = `${hostEra} on ${era}`;
      const open10 = Array.from({ length: 10 }, (_, id) =>
        host.send(id, "tools/call", work("victim", `${label} ${id}`, 1000)),
      );
      const spared = host.send("spared", "tools/call", work("bystander", "bystander", 30));
      await until("ten calls at work", () => count(victim, "begun", label) === 10);
      process.kill(pid, "SIGKILL");

      // Nothing else would end them: the work has 20 s left and a call 5 min. F1 of `faults` measures the time.
      const answers = await Promise.all(open10);
      for (const [id, answer] of answers.entries()) {
        expect(answer).toMatchObject({ id, result: { isError: true, _meta: { "cardea/refusal": {} } } });
        expect(refusalOf(answer)).toMatchObject({ code: "upstream_closed", server: "victim" });
        expect(typeof refusalOf(answer)?.retryable).toBe("boolean");
      }
      expect(textOf(await spared)).toBe("bystander took 30 steps");

      const successor = await until("a new process", async () => {
        const next = await pidOf("after");
        return next > 0 && next;
      });
      expect(successor).not.toBe(pid);
      const names = (await host.list("tools")).map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(["victim__echo", "bystander__echo"]));
      // Nothing was run again behind the back of the one who called.
      expect(count(victim, "begun", label)).toBe(10);
      await host.close();
    },
  );
});

const count = (fixture: Fixture, event: string, label: string): number =>
  fixture.ledger().filter((entry) => entry.event === event && entry.label?.startsWith(label)).length;

const refusalOf = (answer: Json): Json | undefined =>
  ((answer.result as Json | undefined)?._meta as Json | undefined)?.["cardea/refusal"] as Json | undefined;
