/** F3: a server never answers, or answers after its caller has timed out. */

import { newAgent, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { mib, ms, pause, quantile, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const TIMEOUT = 500;

await row(
  "F3",
  "a server that never answers: calls time out, the server gets a cancellation, late responses are dropped",
  async (row) => {
    const web = row.own(await httpUpstream({ era: "modern" }));
    const limits = { timeout: `${TIMEOUT}ms` };
    const names = ["legacy", "modern", "web"];
    const gateway = row.own(
      await startGateway(
        {
          mcpServers: {
            legacy: stdioServer(["--era", "legacy"], limits),
            modern: stdioServer(["--era", "modern"], limits),
            web: httpServer(web, limits),
          },
        },
        { probe: true },
      ),
    );
    await gateway.met(...names);
    const agent = newAgent();
    const hosts = await Promise.all(["legacy", "modern"].map((era) => openHost(gateway.url, era, { agent })));

    const took = [];
    let clear = 0;
    for (let i = 0; i < 30; i += 1) {
      const { message, ms: time } = await hosts[i % 2].call(`${names[i % 3]}__never`);
      took.push(time);
      if (refusalOf(message)?.code === "timed_out") clear += 1;
      // The breaker takes a server that never answers out of service, which is another row's affair.
      for (const name of names) await hosts[0].call(`${name}__echo`, { text: "." });
    }
    row.check("calls ended with timed_out", 30, clear, clear === 30);
    const [low, high] = [Math.min(...took), quantile(took, 0.5)];
    row.timing(
      "timed out after",
      `${TIMEOUT} ± 50 ms`,
      `${ms(low)} to ${ms(high)} (median)`,
      low >= TIMEOUT - 50 && high <= TIMEOUT + 50,
    );

    for (const name of ["legacy", "modern"]) {
      const ledger = JSON.parse(textOf((await hosts[0].call(`${name}__ledger`)).message));
      row.check(
        `${name} over a pipe: cancelled notifications`,
        10,
        ledger.cancelled,
        ledger.cancelled === 10,
      );
    }
    row.check("over HTTP: streams closed", 10, web.givenUp.length, web.givenUp.length === 10);

    // Many such calls, interleaved with answered ones so that the breaker stays closed.
    const total = row.quick ? 1_000 : 10_000;
    let wrong = 0;
    let sent = 0;
    const late = async (host, n) => {
      const name = names[n % 2];
      const [{ message }, ...well] = await Promise.all([
        host.call(`${name}__late`, { ms: TIMEOUT + 400, text: `late ${n}` }),
        ...Array.from({ length: 2 }, (_, i) => host.call(`${name}__echo`, { text: `${n}.${i}` })),
      ]);
      if (refusalOf(message)?.code !== "timed_out") wrong += 1;
      well.forEach(({ message: reply }, i) => {
        if (textOf(reply) !== `${n}.${i}`) wrong += 1;
      });
    };
    const make = (count) => {
      const end = sent + count;
      return Promise.all(
        Array.from({ length: 60 }, async (_, lane) => {
          while (sent < end) {
            sent += 1;
            await late(hosts[lane % 2], sent);
          }
        }),
      );
    };
    const strays = async () => (await gateway.metric("cardea_upstream_strays_total")) ?? 0;
    // Once through with a few, so that the connections are there and what is compiled on the way is not counted.
    await make(300);
    await until("their late answers", async () => (await strays()) >= 300, 5_000);
    const before = await gateway.heapMiB();
    await make(total);
    row.check(`${total} calls with late responses: wrong outcomes`, 0, wrong, wrong === 0);
    await until("the late answers to be counted", async () => (await strays()) >= total + 300, 5_000).catch(
      () => {},
    );
    const counted = (await strays()) - 300;
    row.check("late responses dropped and counted", total, counted, counted === total);
    const busy = await gateway.metric("cardea_inflight_requests");
    row.check("slots in use afterwards", 0, busy, busy === 0);
    await pause(500);
    const after = await gateway.heapMiB();
    row.check("heap", "base + 5 %", `${mib(before)} to ${mib(after)}`, after <= before * 1.05);
  },
);
