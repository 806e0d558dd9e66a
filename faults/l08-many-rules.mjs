/** L8: a thousand rules, twenty of them with conditions, all of which are about the tool that is called. */

import { newAgent, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, quantile, row } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

const rules = Array.from({ length: 1_000 }, (_, at) => ({
  name: `rule-${at}`,
  effect: "deny",
  ...(at % 50 === 0
    ? { tools: ["pipe__*"], when: `args.env == 'no-${at}' && args.limit > ${at} && principal.id != 'root'` }
    : { tools: [`server-${at}__*`, `*__tool_${at}_*`] }),
}));

await row("L8", "1,000 rules, 20 of them CEL: what a decision costs", async (row) => {
  // The layer by itself, as the program has it.
  const { createPolicy } = await import("../build/features/policy/policy.js");
  const metrics = { policyDecided() {}, rateLimited() {}, enterQueue: () => () => {} };
  const silent = { error() {}, warn() {}, info() {}, debug() {} };
  const given = { default: "allow", rules: rules.map((rule) => ({ on: "call", ...rule })) };
  const policy = createPolicy({ policy: given }, { metrics, logger: silent });
  const route = {
    upstream: "pipe",
    target: "echo",
    exposed: "pipe__echo",
    kind: "tools",
    item: { name: "echo" },
  };
  const principal = { id: "ann", groups: ["dev"], claims: {} };
  const call = {
    id: 1,
    method: "tools/call",
    params: { name: "pipe__echo", arguments: { env: "test", limit: 5 } },
    client: { principal, affinity: "ann", session: false, scope: "", capabilities: {} },
    route,
    signal: new AbortController().signal,
    notify() {},
  };
  const reply = { kind: "error", error: { code: 0, message: "" } };
  const handle = policy.access(async () => reply);
  const measure = async (count) => {
    const times = [];
    for (let n = 0; n < count; n += 1) {
      const start = performance.now();
      await handle(call);
      times.push(performance.now() - start);
    }
    return times;
  };
  await measure(20_000);
  const times = await measure(row.quick ? 20_000 : 50_000);
  const us = (q) => `${(quantile(times, q) * 1000).toFixed(1)} us`;
  row.timing(
    "a decision",
    "<= 0.1 ms at p99",
    `${us(0.5)} median, ${us(0.99)} at p99`,
    quantile(times, 0.99) <= 0.1,
  );

  // And through the whole program: what a call takes with them and without.
  const config = (policyPart) => ({ mcpServers: { pipe: stdioServer() }, ...policyPart });
  const gateways = [config({}), config({ policy: { rules } })].map((each) => startGateway(each));
  const [plain, ruled] = (await Promise.all(gateways)).map((gateway) => row.own(gateway));
  await Promise.all([plain.met("pipe"), ruled.met("pipe")]);
  const agent = newAgent();
  const hosts = await Promise.all([plain, ruled].map(({ url }) => openHost(url, "modern", { agent })));
  const count = row.quick ? 500 : 2_000;
  const took = [[], []];
  let wrong = 0;
  for (let n = 0; n < count + 200; n += 1) {
    const at = n % 2;
    const reply = await hosts[at].call("pipe__echo", { text: `${n}`, env: "test", limit: 5 });
    if (textOf(reply.message) !== `${n}`) wrong += 1;
    if (n >= 200) took[at].push(reply.ms);
  }
  row.check("calls that were refused", 0, wrong, wrong === 0);
  const refused = refusalOf((await hosts[1].call("pipe__echo", { env: "no-950", limit: 951 })).message);
  row.check(
    "the last of the conditions",
    "denied by rule-950",
    `${refused?.code} by ${refused?.rule}`,
    refused?.code === "denied" && refused.rule === "rule-950",
  );
  const [without, with_] = took.map((each) => quantile(each, 0.5));
  row.timing(
    "added to a call (median)",
    "<= 0.1 ms",
    `${ms(without)} to ${ms(with_)}`,
    with_ - without <= 0.1,
  );
});
