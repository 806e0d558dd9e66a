/** Two gateways in one process share no state. */
import { expect, test } from "vitest";
import { openGateway } from "../policy/gateway.js";

const TOOLS = { s: { tools: [{ name: "say", inputSchema: { type: "object" } }] } };

test("each gateway numbers its own calls, lists its own tools, and reaches its own servers", async () => {
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
