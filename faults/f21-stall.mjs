/** F21: the gateway is suspended for two seconds with calls in flight. */

import { newAgent, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const STALL = 2000;

await row("F21", "the process stopped for 2 s (SIGSTOP) with calls in flight", async (row) => {
  const web = row.own(await httpUpstream());
  const gateway = row.own(
    await startGateway({
      mcpServers: {
        pipe: stdioServer([], { timeout: "1500ms" }),
        web: httpServer(web, { timeout: "1500ms" }),
      },
    }),
  );
  await gateway.met("pipe", "web");
  const agent = newAgent();
  const hosts = await Promise.all(["legacy", "modern"].map((era) => openHost(gateway.url, era, { agent })));
  const stall = async () => {
    process.kill(gateway.pid, "SIGSTOP");
    await pause(STALL);
    process.kill(gateway.pid, "SIGCONT");
  };
  // These are answered after 500 ms, while the gateway is suspended: well within their time.
  const calls = Array.from({ length: 40 }, (_, i) =>
    hosts[i % 2].call(`${["pipe", "web"][(i >> 1) % 2]}__slow`, { ms: 500, text: String(i) }),
  );
  // And these are never answered, so their time must run out, the stall aside.
  const hopeless = hosts.map(async (host) => {
    const begun = performance.now();
    const { message } = await host.call("pipe__never");
    return { code: refusalOf(message)?.code, ms: performance.now() - begun };
  });
  await pause(200);
  await stall();
  const replies = await Promise.all(calls);
  const right = replies.filter(({ message }, i) => textOf(message) === String(i)).length;
  row.check("calls answered during the stall that were answered", 40, right, right === 40);
  const ended = await Promise.all(hopeless);
  const times = ended.map((one) => one.ms);
  row.check(
    "calls without response",
    "timed_out",
    ended.map(({ code }) => code).join(", "),
    ended.every(({ code }) => code === "timed_out"),
  );
  row.timing(
    "no later than",
    `<= 1500 + ${STALL} + 100 ms`,
    times.map(ms).join(", "),
    Math.max(...times) <= 1500 + STALL + 100,
  );
  const line = gateway.log().find(({ msg }) => msg?.includes("event loop"));
  await until(
    "the metric",
    async () => (await gateway.metric("cardea_event_loop_stalls_total")) >= 1,
    3000,
  ).catch(() => {});
  const stalls = await gateway.metric("cardea_event_loop_stalls_total");
  row.check("counted", 1, stalls ?? "no such metric", stalls === 1);
  row.check(
    "logged",
    "one line with how long",
    line === undefined ? "no line" : `${line.stalledMs} ms`,
    line?.stalledMs >= STALL - 300 && line.stalledMs <= STALL + 500,
  );
  for (const name of ["pipe", "web"]) {
    const up = await gateway.metric("cardea_upstream_up", { server: name });
    row.check(`${name} afterwards`, "up", up, up === 1);
  }
});
