/** L11: fifty stdio servers start at once. */

import { openHost } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { children, rssMiB } from "./support/processes.mjs";
import { mib, ms, pause, row } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

/** The young generation is collected after 2 s in which the process did nothing, and again after 6 more. */
const AT_REST_MS = 12_000;

await row("L11", "50 stdio servers start, each with 100 ms of work to do first", async (row) => {
  const count = row.quick ? 20 : 50;
  const names = Array.from({ length: count }, (_, i) => `s${i}`);
  const servers = Object.fromEntries(names.map((name) => [name, stdioServer(["--start-ms", "100"])]));
  const empty = row.own(await startGateway({ mcpServers: {} }, { probe: true }));
  await pause(500);
  const base = rssMiB(empty.pid);
  const gateway = row.own(await startGateway({ mcpServers: servers }, { probe: true }));
  const begun = performance.now() - gateway.startedMs;
  let most = 0;
  let ready = 0;
  while (ready < count && performance.now() - begun < 60_000) {
    // First how many there are, then how many are ready, so that what happens in between is never counted as too much.
    const there = children(gateway.pid).length;
    const states = JSON.parse((await gateway.get("/api/v1/servers", 20_000)).body);
    ready = states.filter(({ state }) => state === "ready" || state === "idle").length;
    most = Math.max(most, there - ready);
    await pause(20);
  }
  const took = performance.now() - begun;
  row.timing(`all ${count} ready after`, "<= 10 s", ms(took), ready === count && took <= 10_000);
  row.check("starting at the same time, at most", 4, most, most <= 4);
  const host = await openHost(gateway.url, "modern");
  const tools = await host.list("tools");
  row.check(
    "servers in the list of tools",
    count,
    new Set(tools.map(({ name }) => name.split("__")[0])).size,
    new Set(tools.map(({ name }) => name.split("__")[0])).size === count,
  );
  await gateway.ask("heap");
  const atOnce = rssMiB(gateway.pid) - base;
  // V8 gives the young generation back when the process has done nothing for some seconds.
  await pause(AT_REST_MS);
  const own = rssMiB(gateway.pid) - rssMiB(empty.pid);
  row.check(
    "memory of the gateway itself",
    "the children's own: <= + 40 MiB",
    `+ ${mib(atOnce)}`,
    atOnce <= 40,
  );
  row.check("the same at rest", "<= + 25 MiB", `+ ${mib(own)}`, own <= 25);
});
