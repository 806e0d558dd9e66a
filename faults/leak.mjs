/** Leaks: two hundred crashes of servers and a thousand reloads of the config, under load. */
import { join } from "node:path";
import { Host, newAgent, openHost, textOf } from "../test/support/host/host.mjs";
import { NOT_OPTIMIZING, startGateway } from "./support/gateway.mjs";
import { descendants, descriptors, everybody } from "./support/processes.mjs";
import { line, mib, ms, pause, quantile, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row("leak", "200 crashes of servers and 1,000 reloads under load", async (row) => {
  const web = row.own(await httpUpstream());
  // In the command line of every process of these servers, whatever its parent is by now.
  const mark = join(row.folder, "starts");
  const victims = Array.from({ length: row.quick ? 5 : 20 }, (_, i) => `victim${i}`);
  const config = (n) => ({
    mcpServers: {
      ...Object.fromEntries(victims.map((name) => [name, stdioServer(["--note", mark])])),
      pipe: stdioServer(["--note", mark]),
      web: httpServer(web),
    },
    profiles: { [`v${n}`]: { servers: ["pipe"] } },
  });
  const gateway = row.own(await startGateway(config(0), { probe: true, nodeFlags: NOT_OPTIMIZING }));
  await gateway.met(...victims, "pipe", "web");
  const agent = newAgent();
  row.own({ stop: async () => agent.destroy() });
  const host = await openHost(gateway.url, "modern", { agent });
  const pidOf = async (name) => {
    const pid = Number(textOf((await host.call(`${name}__pid`)).message));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  };
  const ours = () => everybody().filter(({ command }) => command.includes(mark));
  const expected = victims.length + 1;
  const load = { tools: ["pipe__echo", "web__echo"], rate: 100 };
  // The session that legacy hosts share at `web` is opened by the first of them, and kept for its `idleTimeout`.
  const first = row.own(await startTraffic(gateway.url, load));
  await first.during(() => pause(1_000));
  await first.stop();
  await pause(10_000);
  for (const victim of victims) await pidOf(victim);
  const files = descriptors(gateway.pid);
  const traffic = row.own(await startTraffic(gateway.url, load));

  const rounds = row.quick ? 2 : 10;
  const back = [];
  const crashing = Promise.all(
    victims.map(async (name, i) => {
      await pause(i * 250);
      for (let round = 0; round < rounds; round += 1) {
        const { found: pid } = await until(`${name} to serve`, () => pidOf(name), 20_000, 100);
        process.kill(pid, "SIGKILL");
        const killed = performance.now();
        await until(
          `${name} to be back`,
          async () => {
            const next = await pidOf(name);
            return next !== undefined && next !== pid;
          },
          20_000,
          100,
        );
        back.push(performance.now() - killed);
        // One that crashes again at once is left alone for longer, which is another row's affair.
        await pause(5_200);
      }
    }),
  );
  const reloads = row.quick ? 60 : 1000;
  const heap = [];
  // A process that has ended is a zombie until its parent reaps it; one that stays is never reaped.
  let [looks, zombies, most] = [0, 0, 0];
  let ended = new Set();
  const watching = setInterval(() => {
    looks += 1;
    const now = descendants(gateway.pid).filter(({ state }) => state === "Z");
    zombies += now.filter(({ pid }) => ended.has(pid)).length;
    ended = new Set(now.map(({ pid }) => pid));
    most = Math.max(most, ours().filter(({ state }) => state !== "Z").length);
  }, 500);
  row.own({ stop: async () => clearInterval(watching) });
  for (let n = 1; n <= reloads; n += 1) {
    gateway.configure(config(n));
    await until(
      `version ${n}`,
      async () =>
        (await new Host(`${gateway.url}/v${n}`, "modern", { agent }).call("echo", { text: "." })).status ===
        200,
      10_000,
      20,
    );
    if (n % Math.ceil(reloads / 40) !== 0) continue;
    heap.push([n, await gateway.objectsMiB()]);
  }
  await crashing;
  clearInterval(watching);
  const crashes = back.length;
  row.check("crashes survived", victims.length * rounds, crashes, crashes === victims.length * rounds);
  row.timing(
    "recovered after a crash",
    "<= 1.2 s + 0.5 s (median)",
    ms(quantile(back, 0.5)),
    quantile(back, 0.5) <= 1700,
  );
  const window = await traffic.window();
  row.check(
    "failed calls to other servers",
    0,
    `${window.errors} of ${window.calls}${window.errors > 0 ? `: ${window.firstError}` : ""}`,
    window.errors === 0 && window.calls > 500,
  );
  row.check(`processes at ${looks} samples, at most`, `<= ${expected}`, most, most <= expected);
  row.check("zombies at two samples in a row", 0, zombies, zombies === 0);
  await until("all to be back", async () => (await pidOf(victims.at(-1))) !== undefined, 10_000, 50);
  await until("as many processes as servers", () => ours().length === expected, 5_000).catch(() => {});
  row.check("processes at the end", expected, ours().length, ours().length === expected);
  const half = heap.slice(Math.floor(heap.length / 2));
  const trend = line(half);
  const growth = trend.slope * (reloads / 2);
  row.check(
    `heap without compiled code, over the second half of ${reloads} reloads`,
    "flat: < + 1 MiB",
    `${mib(heap[0][1])} to ${mib(heap.at(-1)[1])}, slope ${mib(growth)} ± ${mib(trend.error * (reloads / 2))}`,
    growth < 1,
  );
  await traffic.stop();
  agent.destroy();
  await until("idle connections to be closed", () => descriptors(gateway.pid) <= files, 15_000).catch(
    () => {},
  );
  row.check(
    "descriptors after the load",
    `as after the first calls: ${files}`,
    descriptors(gateway.pid),
    descriptors(gateway.pid) <= files,
  );
  await gateway.stop();
  row.check("processes after the gateway has stopped", 0, ours().length, ours().length === 0);
});
