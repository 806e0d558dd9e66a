/** L5: ten thousand hosts are notified of one change. */

import { openHost } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { openStreams } from "./support/many-streams.mjs";
import { ms, pause, quantile, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

await row("L5", "one change of a list, sent to 10,000 subscriptions", async (row) => {
  const count = row.quick ? 2_000 : 10_000;
  const gateway = row.own(await startGateway({ mcpServers: { pipe: stdioServer(["--era", "legacy"]) } }));
  await gateway.met("pipe");
  let told = 0;
  let last = 0;
  const streams = row.own(
    await openStreams(gateway.url, {
      modern: count,
      onText: (text) => {
        if (!text.includes("list_changed")) return;
        told += 1;
        last = performance.now();
      },
    }),
  );
  row.check("subscribed", count, streams.open, streams.open === count && streams.refused === 0);
  const host = await openHost(gateway.url, "modern");
  const waits = [];
  const lags = [];
  for (let round = 0; round < 5; round += 1) {
    await pause(1000);
    // The gauge begins again with each scrape.
    await gateway.metric("nodejs_eventloop_lag_max_seconds");
    told = 0;
    const begun = performance.now();
    await host.call("pipe__change");
    await until("all to be told", () => told >= count, 10_000, 5).catch(() => {});
    waits.push(told === count ? last - begun : Number.POSITIVE_INFINITY);
    lags.push((await gateway.metric("nodejs_eventloop_lag_max_seconds")) * 1000);
    await pause(200);
    if (told !== count) break;
  }
  row.check("told", `each once: ${count}`, told, told === count);
  row.timing(
    "last notification after",
    "<= 1 s",
    `${ms(quantile(waits, 0.5))} median, ${ms(Math.max(...waits))} at most`,
    Math.max(...waits) <= 1000,
  );
  row.timing(
    "event loop blocked for",
    "<= 100 ms",
    `${ms(quantile(lags, 0.5))} median, ${ms(Math.max(...lags))} at most`,
    Math.max(...lags) <= 100,
  );
});
