/** F22: the name of a server cannot be looked up, and later leads elsewhere. */

import { openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { startTraffic } from "./support/traffic.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row("F22", "DNS fails, recovers, and returns another address", async (row) => {
  const first = row.own(await httpUpstream({ host: "127.0.0.1" }));
  const second = row.own(await httpUpstream({ host: "127.0.0.2", port: first.port }));
  const url = `http://upstream.test:${first.port}/mcp`;
  const gateway = row.own(
    await startGateway({ mcpServers: { web: { type: "http", url } } }, { probe: true }),
  );
  const names = (entry) => gateway.ask("names", { entries: { "upstream.test": entry } });
  await names({ error: "EAI_AGAIN" });
  const host = await openHost(gateway.url, "modern");
  const server = async () =>
    JSON.parse((await gateway.get("/api/v1/servers")).body).find(({ name }) => name === "web");
  await until("the first failures", async () => (await server()).state === "backoff", 5_000);
  await pause(3000);
  const { lastError } = await server();
  row.check(
    "while the name does not resolve",
    "the error says so",
    lastError,
    /looked up|not found/.test(lastError),
  );
  const tries = gateway
    .log()
    .filter(({ server, retryInMs }) => server === "web" && retryInMs !== undefined).length;
  row.check("attempts during this", "with backoff: 2 to 5 in about 4 s", tries, tries >= 2 && tries <= 5);

  await names({ address: "127.0.0.1" });
  const served = async () => textOf((await host.call("web__echo", { text: "." })).message) === ".";
  const { ms: back } = await until("it to be served", served, 20_000, 50);
  row.timing("recovered after DNS is back", "at once for a caller: <= 2 s", ms(back), back <= 2000);
  row.check(
    "at the first address",
    "only there",
    `${first.ledger.calls.echo ?? 0}, ${second.ledger.calls.echo ?? 0}`,
    first.ledger.calls.echo > 0 && second.ledger.calls.echo === undefined,
  );

  // The name leads elsewhere now, and the old address still answers, on connections that are never idle for long.
  const traffic = row.own(await startTraffic(gateway.url, { tools: ["web__echo"], rate: 50 }));
  await pause(1000);
  await names({ address: "127.0.0.2" });
  const moved = performance.now();
  const limit = row.quick ? 15_000 : 65_000;
  const { ms: found } = await until(
    "the new address",
    () => (second.ledger.calls.echo ?? 0) > 0,
    limit,
    50,
  ).catch(() => ({ ms: Number.POSITIVE_INFINITY }));
  if (row.quick && found > limit) row.note("a new address under load was not waited for");
  else row.check("new address used after", "<= 60 s", ms(found), found <= 60_000);
  if (!row.quick) {
    await pause(Math.max(0, moved + 60_000 - performance.now()));
    const before = first.ledger.calls.echo;
    await pause(5_000);
    const late = first.ledger.calls.echo - before;
    row.check("calls to the old address after 60 s", 0, late, late === 0);
    // A name may lead to several addresses in turn, so the stream for news stays where it is for another ten minutes.
    row.check(
      "connections left at the old address",
      "the event stream",
      first.sockets.size,
      first.sockets.size <= 1,
    );
  }

  // And when the old one is gone, its grace time is over.
  await names({ address: "127.0.0.2" });
  await first.stop();
  await until("calls at the new address", served, 10_000, 50);
  const window = await traffic.window();
  row.check(
    "failed calls of the whole load",
    "those on connections that broke: <= 2",
    `${window.errors} of ${window.calls}${window.errors > 0 ? `: ${window.firstError}` : ""}`,
    window.errors <= 2,
  );

  await names({ error: "ENOTFOUND" });
  const again = await host.call("web__echo", { text: "." });
  row.note(
    `when the name stops resolving again, open connections are still used: ${textOf(again.message) === "." ? "served" : refusalOf(again.message)?.code}`,
  );
});
