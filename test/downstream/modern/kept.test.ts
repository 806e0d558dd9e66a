/** What subscriptions keep of the requests that opened them. */
import { expect, test } from "vitest";
import type { Call } from "../../../src/core/call.js";
import { MemoryBudget } from "../../../src/core/fair-share.js";
import { Stop } from "../../../src/core/stop.js";
import { UNLIMITED_STREAMS } from "../../../src/downstream/edge.js";
import { OpenSubscriptions } from "../../../src/downstream/modern/subscriptions.js";
import { replyWriter } from "../../../src/downstream/modern/write-reply.js";
import type { Request } from "../../../src/wire/envelope.js";
import { clientOf } from "../../support/calls.js";
import { fakeCall } from "../../support/fake-call.js";
import { fakePort } from "../../support/fake-port.js";

function subscriptions(budget: MemoryBudget) {
  const limits = { subscriptions: 1_000, resourcesEach: 1_000 };
  return new OpenSubscriptions(
    fakePort(),
    replyWriter({ name: "c", version: "1" }),
    limits,
    UNLIMITED_STREAMS,
    budget,
  );
}

test("the names of all filters together are bounded, and principals share that", async () => {
  const budget = new MemoryBudget(1_000_000);
  const open = subscriptions(budget);
  const stops: Stop[] = [];
  let last = 0;
  const listen = async (id: string, uris: number): Promise<string> => {
    last += 1;
    const stop = new Stop();
    stops.push(stop);
    const resourceSubscriptions = Array.from({ length: uris }, (_, at) => `x:${at}${"u".repeat(4_000)}`);
    const params = { notifications: { resourceSubscriptions } };
    const request: Request = { jsonrpc: "2.0", id: last, method: "subscriptions/listen", params };
    const client = clientOf({ principal: { id, groups: [], claims: {} } });
    const call: Call = { ...fakeCall({ params }), method: request.method, client };
    const sink = { signal: stop.signal, send: () => {}, respond: () => {} };
    return open.open(request, call, sink as never).then(
      () => "open",
      (error: { code: string }) => error.code,
    );
  };
  const outcomes: string[] = [];
  for (let at = 0; at < 10; at += 1) outcomes.push(await listen("ann", 40));
  expect(outcomes.filter((outcome) => outcome === "open")).toHaveLength(4);
  expect(new Set(outcomes.slice(4))).toEqual(new Set(["overloaded"]));
  expect(await listen("bob", 10)).toBe("open");
  expect(await listen("bob", 70)).toBe("bad_request");
  for (const stop of stops) stop.abort();
  expect(budget.used).toBe(0);
});
