/** F13: the gateway is stopped under load. */

import { newAgent, openHost, textOf } from "../test/support/host/host.mjs";
import { get, startGateway } from "./support/gateway.mjs";
import { descendants, isAlive } from "./support/processes.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row("F13", "SIGTERM under load, with long calls in flight and streams open", async (row) => {
  const web = row.own(await httpUpstream());
  const gateway = row.own(
    await startGateway({
      mcpServers: { pipe: stdioServer(), old: stdioServer(["--era", "legacy"]), web: httpServer(web) },
    }),
  );
  await gateway.met("pipe", "old", "web");
  const agent = newAgent();
  const hosts = await Promise.all(["legacy", "modern"].map((era) => openHost(gateway.url, era, { agent })));
  let ended = 0;
  for (const host of hosts) await host.stream({ onEnd: () => (ended += 1) });
  const main = new URL(gateway.url).origin;
  // A load balancer in front polls readiness and stops sending when it fails.
  const first = await get(`${main}/readyz`);
  row.check("/readyz before", 200, first.status, first.status === 200);
  const traffic = row.own(await startTraffic(gateway.url, { tools: ["pipe__echo", "web__echo"], rate: 200 }));
  await pause(1000);

  const children = descendants(gateway.pid).map(({ pid }) => pid);
  const servers = ["pipe", "old", "web"];
  const long = Array.from({ length: 60 }, (_, i) => {
    const wait = i < 30 ? 1500 : row.quick ? 4000 : 12_000;
    return hosts[i % 2].call(`${servers[i % 3]}__slow`, { ms: wait, text: String(i) }).then(
      ({ message, answers }) =>
        textOf(message) === String(i) && answers === 1 ? "right" : JSON.stringify(message),
      (error) => error.message,
    );
  });
  await until(
    "the long calls to be at work",
    async () => ((await gateway.metric("cardea_inflight_requests")) ?? 0) >= 60,
  );

  const told = performance.now();
  gateway.program.child.kill("SIGTERM");
  const unready = async (origin) => {
    const { ms: took } = await until(
      `503 from ${origin}`,
      async () => (await get(`${origin}/readyz`).catch((error) => ({ status: error.code }))).status === 503,
      3_000,
      5,
    ).catch(() => ({ ms: Number.POSITIVE_INFINITY }));
    return took;
  };
  const [onMain, onAdmin] = await Promise.all([unready(main), unready(gateway.admin)]);
  row.timing("/readyz says 503 on the main listener after", "<= 100 ms", ms(onMain), onMain <= 100);
  row.timing("/readyz says 503 on the admin listener after", "<= 100 ms", ms(onAdmin), onAdmin <= 100);
  // Until the load balancer has noticed, calls still come, on new connections as well.
  await pause(2000 - (performance.now() - told));
  const late = await traffic.window();
  await traffic.stop();
  row.check(
    "failed calls before and for 2 s after the signal",
    0,
    `${late.errors} of ${late.calls}${late.errors > 0 ? `: ${late.firstError}` : ""}`,
    late.errors === 0 && late.calls > 400,
  );

  const outcomes = await Promise.all(long);
  const right = outcomes.filter((outcome) => outcome === "right").length;
  row.check("long calls in flight that were answered", 60, right, right === 60);
  const exit = await gateway.program.exited;
  const took = performance.now() - told;
  row.check("exit code", 0, exit.code ?? exit.signal, exit.code === 0);
  row.check("exited after", "<= 30 s", ms(took), took <= 30_000);
  const left = children.filter(isAlive);
  row.check(
    "child processes left",
    `0 of ${children.length}`,
    left.length,
    left.length === 0 && children.length >= 2,
  );
  row.check("event streams ended", 2, ended, ended === 2);
});
