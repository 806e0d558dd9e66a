/** F1: a server's process is killed with calls in flight. */
import { startGateway } from "./support/gateway.mjs";
import { Host, refusalOf, textOf } from "./support/host.mjs";
import { ms, pause, quantile, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic, summary } from "./support/traffic.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row("F1", "`kill -9` of a stdio server with 50 calls in flight, 200 calls/s to others", async (row) => {
  const other = row.own(await httpUpstream());
  const gateway = row.own(
    await startGateway({
      mcpServers: { victim: stdioServer(), pipe: stdioServer(), web: httpServer(other) },
    }),
  );
  await gateway.met("victim", "pipe", "web");
  const hosts = await Promise.all(["legacy", "modern"].map((era) => Host.open(gateway.url, era)));
  const traffic = row.own(await startTraffic(gateway.url, { tools: ["pipe__echo", "web__echo"] }));
  await pause(1000);

  const pidOf = async () => {
    const { message } = await hosts[0].call("victim__pid");
    const pid = Number(textOf(message));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  };
  const rounds = row.quick ? 1 : 4;
  const base = [];
  const under = [];
  const answers = [];
  const answeredMs = [];
  const readyMs = [];
  for (let round = 0; round < rounds; round += 1) {
    base.push(...(await traffic.during(() => pause(2500))).samples);
    const pid = await pidOf();
    const window = await traffic.during(async () => {
      const open = Array.from({ length: 50 }, (_, i) => hosts[i % 2].call("victim__never"));
      await until("all calls to be in the gateway", async () => {
        const running = (await gateway.metric("cardea_inflight_requests", { server: "victim" })) ?? 0;
        const waiting = (await gateway.metric("cardea_queue_depth", { server: "victim" })) ?? 0;
        return running + waiting === 50;
      });
      const killed = performance.now();
      process.kill(pid, "SIGKILL");
      answers.push(...(await Promise.all(open)));
      answeredMs.push(performance.now() - killed);
      await until("the server to be back", pidOf, 10_000, 25);
      readyMs.push(performance.now() - killed);
    });
    under.push(...window.samples);
    // A connection that did not stand for long is not tried again so soon.
    await pause(5000);
  }

  const once = answers.filter((answer) => answer.answers === 1).length;
  const refusals = answers.map(({ message }) => refusalOf(message));
  const clear = refusals.filter(
    (refusal) =>
      ["upstream_closed", "upstream_unavailable"].includes(refusal?.code) &&
      refusal.server === "victim" &&
      typeof refusal.retryable === "boolean",
  ).length;
  const all = 50 * rounds;
  row.check("answers to calls in flight", `${all} of ${all}, each once`, once, once === all);
  row.check("with code, server and retryable", `${all}`, clear, clear === all);
  row.timing(
    "all answered after the kill",
    "<= 1 s",
    ms(Math.max(...answeredMs)),
    Math.max(...answeredMs) <= 1000,
  );
  const [calm, upset] = [summary(base), summary(under)];
  row.check("errors of the others", "0", upset.errors + calm.errors, upset.errors + calm.errors === 0);
  const ratio = upset.p99 / calm.p99;
  row.timing(
    "p99 of the others",
    "<= 1.5 x base",
    `${ratio.toFixed(2)} x (${ms(upset.p99)} to ${ms(calm.p99)})`,
    ratio <= 1.5,
  );
  const back = quantile(readyMs, 0.5);
  row.timing("serves again after", "<= 1.2 s (1 s + 20 %) + 0.5 s", ms(back), back <= 1700);
});
