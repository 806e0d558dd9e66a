/** What a scrape shows of sign-ins and tokens. */
import { expect, test } from "vitest";
import { COUNTERS, countedIn, EXPIRING } from "../../../src/features/sign-in/metrics.js";
import { Slots } from "../../../src/gateway/slots.js";
import { Metrics } from "../../../src/telemetry/metrics.js";

test("renewals of tokens are counted by server and outcome, and tokens that end are a gauge", async () => {
  const metrics = new Metrics({ version: "1.2.3", process: false });
  let count: Parameters<typeof countedIn>[0] | undefined;
  const feature = {
    name: "sign-in",
    attach(gateway: ReturnType<NonNullable<typeof count>>) {
      count = () => gateway;
    },
    counters: COUNTERS,
    readings: [{ gauge: EXPIRING, read: () => 4 }],
    close: async () => {},
  };
  const slots = new Slots([feature], metrics);
  slots.attach({
    config: () => ({}) as never,
    pipeline: () => ({}) as never,
    toolCalls: () => undefined,
    url: () => undefined,
    operatorUrl: () => undefined,
    approvalWaited: () => {},
    connectedClients: () => [],
    onClientConnected: () => {},
    messages: undefined,
    ...{ store: undefined, replica: undefined, issuer: undefined },
    answerMs: () => 0,
    enterQueue: () => () => {},
  });
  if (count === undefined) throw new Error("the feature was not attached");
  const counter = countedIn(count);
  counter.tokenRefreshed("linear", "refreshed");
  counter.tokenRefreshed("linear", "refreshed");
  counter.tokenRefreshed("linear", "invalid_grant");
  const lines = (await metrics.text()).split("\n");
  expect(lines).toContain('cardea_token_refreshes_total{server="linear",outcome="refreshed"} 2');
  expect(lines).toContain('cardea_token_refreshes_total{server="linear",outcome="invalid_grant"} 1');
  expect(lines).toContain("cardea_tokens_expiring 4");
});
