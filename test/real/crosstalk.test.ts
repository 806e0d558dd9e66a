/** Hosts that use the same ids at the same time: each gets the answers to its own calls, and nothing else. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Fixture, startFixture } from "../support/fixture.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import type { Json } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";
import { TAKES_ALL } from "../support/sample.js";

const CALLS = TAKES_ALL ? 10_000 : 1_000;
const IN_FLIGHT = 8;

let old: Fixture;
let young: Fixture;
let gateway: MetGateway;
beforeAll(async () => {
  [old, young] = await Promise.all([startFixture("legacy", "stdio"), startFixture("modern", "stdio")]);
  gateway = await metGateway({ mcpServers: { old: old.entry, young: young.entry } });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([old.stop(), young.stop()]);
});

/** What came back when `host`, called `name`, made call number `id`; ids alternate between the two servers. */
async function callOnce(host: RawHost, name: string, id: number): Promise<string | undefined> {
  const params = { name: `${id % 2 === 0 ? "old" : "young"}__echo`, arguments: { value: `${name} ${id}` } };
  const heard: Json[] = [];
  const answer = await host.send(id, "tools/call", params, { onMessage: (message) => heard.push(message) });
  const value = ((answer.result as Json | undefined)?.structuredContent as Json | undefined)?.value;
  const right = answer.id === id && value === `${name} ${id}` && heard.length === 0;
  return right ? undefined : `${name} ${id} got ${JSON.stringify(answer)} and heard ${JSON.stringify(heard)}`;
}

test("interleaved calls of two legacy and two modern hosts each get their own response from servers of both eras", async () => {
  const place = { url: gateway.url };
  const hosts: readonly [string, RawHost][] = [
    ["legacy A", await openLegacy(place)],
    ["legacy B", await openLegacy(place)],
    ["modern A", await openModern(place)],
    ["modern B", await openModern(place)],
  ];
  const wrong: string[] = [];
  const perHost = CALLS / hosts.length;
  await Promise.all(
    hosts.map(async ([name, host]) => {
      let next = 0;
      const worker = async (): Promise<void> => {
        while (next < perHost) {
          next += 1;
          const mistake = await callOnce(host, name, next);
          if (mistake !== undefined) wrong.push(mistake);
        }
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
    }),
  );
  expect(wrong.slice(0, 5)).toEqual([]);
  await Promise.all(hosts.map(([, host]) => host.close()));
});
