/** L4: ten thousand event streams on which nothing happens. */
import { startGateway } from "./support/gateway.mjs";
import { openStreams } from "./support/many-streams.mjs";
import { cpuMs, descriptors, rssMiB } from "./support/processes.mjs";
import { mib, ms, pause, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

await row(
  "L4",
  "10,000 idle event streams: half subscriptions, half GET streams of 1,250 older hosts",
  async (row) => {
    const count = row.quick ? 2_000 : 10_000;
    const scale = count / 10_000;
    const gateway = row.own(await startGateway({ mcpServers: { pipe: stdioServer() } }, { probe: true }));
    await gateway.met("pipe");
    // Once through with some of them, so that what is loaded and compiled on the way is not counted.
    const few = await openStreams(gateway.url, { modern: count / 10, legacy: count / 10 });
    await few.stop();
    await until("them to be over", async () => (await gateway.metric("cardea_streams_open")) === 0);
    await gateway.ask("heap");
    await pause(500);
    const heap = await gateway.heapMiB();
    const files = descriptors(gateway.pid);
    const rss = rssMiB(gateway.pid);

    const streams = row.own(await openStreams(gateway.url, { modern: count / 2, legacy: count / 2 }));
    const rate = count / (streams.tookMs / 1000);
    row.check(
      "opened",
      count,
      `${streams.open}, ${streams.refused} refused`,
      streams.open === count && streams.refused === 0,
    );
    row.timing("open rate", ">= 2,000/s", `${Math.round(rate)}/s`, rate >= 2000);
    await gateway.ask("heap");
    const grown = rssMiB(gateway.pid) - rss;
    row.check(
      "memory",
      `<= + ${200 * scale} MiB`,
      `+ ${mib(grown)}, ${((grown * 1024) / count).toFixed(1)} KiB each`,
      grown <= 200 * scale,
    );

    // Each stream is pinged every 25 s; some watch is kept besides.
    const watch = row.quick ? 26_000 : 30_000;
    const cpu = cpuMs(gateway.pid);
    await pause(watch);
    const used = ((cpuMs(gateway.pid) - cpu) * 30_000) / watch;
    row.timing("CPU for the pings of all", `<= ${1000 * scale} ms in 30 s`, ms(used), used <= 1000 * scale);
    row.check("still open", count, streams.open, streams.open === count);

    if (!row.quick) {
      const more = await openStreams(gateway.url, { modern: 5 });
      row.check("streams beyond 10,000", "5 refused", `${more.refused} refused`, more.refused === 5);
      await more.stop();
    }
    await streams.stop();
    const closed = performance.now();
    await until(
      "everything to be given back",
      async () =>
        descriptors(gateway.pid) <= files * 1.05 && (await gateway.metric("cardea_streams_open")) === 0,
      10_000,
      50,
    ).catch(() => {});
    const took = performance.now() - closed;
    row.timing(
      "all closed: descriptors",
      `at base (${files}) ± 5 % in 5 s`,
      `${descriptors(gateway.pid)} after ${ms(took)}`,
      descriptors(gateway.pid) <= files * 1.05 && took <= 5000,
    );
    const after = await gateway.heapMiB();
    row.check("heap", `at base (${mib(heap)}) + 5 %`, mib(after), after <= heap * 1.05);
  },
);
