/** Two gateways in one process share no state. */
import { expect, test } from "vitest";
import { testOf } from "../support/features.js";
import { modernRequest } from "../support/http-host.js";
import { openGateway } from "../support/open-gateway.js";

const TOOLS = { s: { tools: [{ name: "say", inputSchema: { type: "object" } }] } };

test("each gateway has its own call ids, tools and servers", async () => {
  const one = await openGateway(TOOLS);
  const other = await openGateway({ s: { tools: [{ name: "tell", inputSchema: { type: "object" } }] } });
  const host = await one.host({ era: "modern", door: "http" });
  await host.request("tools/call", { name: "s__say", arguments: {} });
  expect([one.gateway.isUnused(), other.gateway.isUnused()]).toEqual([false, true]);
  expect([one.received.length, other.received.length]).toEqual([1, 0]);
  const namesOf = async ({ gateway }: typeof one) =>
    (await gateway.lists("tools")).map(({ item }) => item.name);
  expect([await namesOf(one), await namesOf(other)]).toEqual([["s__say"], ["s__tell"]]);
});

testOf("policy")("a rate limit exhausted in one gateway does not affect the other", async () => {
  const limits = [{ name: "once", tools: ["s__say"], quota: "1/day", per: "principal" }];
  const [one, other] = [await openGateway(TOOLS, { limits }), await openGateway(TOOLS, { limits })];
  const say = async (running: typeof one) => {
    const host = await running.host({ era: "modern", door: "http" });
    await host.request("tools/call", { name: "s__say", arguments: {} });
    return running.received.length;
  };
  expect([await say(one), await say(one)]).toEqual([1, 1]);
  expect(await say(other)).toBe(1);
});

test("each gateway numbers its own requests to servers", async () => {
  const [one, other] = [await openGateway(TOOLS), await openGateway(TOOLS)];
  const lastId = ({ received }: typeof one): number => JSON.parse(received.at(-1)?.body ?? "").id;
  const host = await one.host({ era: "modern", door: "http" });
  for (let at = 0; at < 20; at += 1) await host.request("tools/call", { name: "s__say", arguments: {} });
  const another = await other.host({ era: "modern", door: "http" });
  await another.request("tools/call", { name: "s__say", arguments: {} });
  expect(lastId(other)).toBeLessThan(lastId(one));
});

test("open streams of a principal at one gateway do not count at the other", async () => {
  const [one, other] = [await openGateway(TOOLS), await openGateway(TOOLS)];
  const closing = new AbortController();
  // fetch ends the stream of a response that is garbage-collected.
  const kept: Response[] = [];
  const listen = async ({ fetch }: typeof one) => {
    const { body, headers } = modernRequest("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    const response = await fetch("", {
      method: "POST",
      body: String(body),
      headers: { ...headers },
      signal: closing.signal,
    });
    kept.push(response);
    return response.status;
  };
  for (let open = 0; open < 50; open += 1) expect(await listen(one)).toBe(200);
  expect(await listen(one)).not.toBe(200);
  expect(await listen(other)).toBe(200);
  closing.abort();
});
