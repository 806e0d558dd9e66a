/** L7: large arguments and larger results, twenty at a time. */
import { writeFileSync } from "node:fs";
import { newAgent, openHost, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { peakMiB, rssMiB } from "./support/processes.mjs";
import { mib, ms, pause, row } from "./support/row.mjs";
import { httpProcess, httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic, summary } from "./support/traffic.mjs";

const MIB = 1_048_576;
/** What others may have to wait (p99) beside messages that take some 50 ms each to read. */
const BEARABLE_MS = 600;

await row("L7", "20 calls at a time with arguments of 4 MiB and results of 32 MiB", async (row) => {
  const upstream = row.own(await httpProcess());
  const gateway = row.own(
    await startGateway({ mcpServers: { big: httpServer(upstream), small: stdioServer() } }, { probe: true }),
  );
  await gateway.met("big", "small");
  const traffic = row.own(await startTraffic(gateway.url, { tools: ["small__echo"], rate: 100 }));
  const agent = newAgent();
  const hosts = await Promise.all(["legacy", "modern"].map((era) => openHost(gateway.url, era, { agent })));
  const parallel = row.quick ? 5 : 20;
  const large = "a".repeat(4 * MIB - 2048);
  const calm = await traffic.during(() => pause(row.quick ? 2000 : 4000));
  await gateway.ask("heap");
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
  const before = rssMiB(gateway.pid);
  const samples = [];
  let right = 0;
  const rounds = row.quick ? 1 : 2;
  const begun = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    const window = await traffic.during(() =>
      Promise.all(
        Array.from({ length: parallel }, async (_, i) => {
          const { message, answers } = await hosts[i % 2].call("big__blob", { bytes: 28 * MIB, text: large });
          const text = textOf(message) ?? "";
          if (
            answers === 1 &&
            text.length === 28 * MIB + large.length &&
            text.startsWith("aaaa") &&
            text.endsWith("xxxx")
          )
            right += 1;
        }),
      ),
    );
    samples.push(...window.samples);
  }
  const took = performance.now() - begun;
  row.check("correct responses", parallel * rounds, right, right === parallel * rounds);
  const payload = parallel * 36;
  const grown = peakMiB(gateway.pid) - before;
  row.check(
    "memory",
    `<= 3 x the data in flight (${payload} MiB)`,
    `+ ${mib(grown)} = ${(grown / payload).toFixed(2)} x`,
    grown <= 3 * payload,
  );
  const upset = summary(samples);
  const errors = upset.errors + calm.errors;
  const first = upset.firstError ?? calm.firstError;
  row.check("errors of others", 0, errors === 0 ? 0 : `${errors}: ${first}`, errors === 0);
  const ratio = upset.p99 / calm.p99;
  row.shortfall(
    "p99 of other callers",
    "<= 2 x base",
    `${ratio.toFixed(1)} x (${ms(calm.p99)} to ${ms(upset.p99)}), median ${ms(calm.p50)} to ${ms(upset.p50)}`,
    {
      met: ratio <= 2,
      bearable: upset.p99 <= BEARABLE_MS,
      why: "large results share the event loop with small calls, and hosts and servers of the row keep both processors busy",
    },
  );
  row.note(
    `${Math.round((payload * rounds) / (took / 1000))} MiB/s through the gateway, hosts and servers on the same machine`,
  );
});
