/** F19: the gateway may open 256 files and sockets, and is flooded with connections. */
import { connect } from "node:net";
import { Host, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { get, startGateway } from "./support/gateway.mjs";
import { descriptors } from "./support/processes.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row("F19", "256 descriptors, and a flood of connections", async (row) => {
  const web = row.own(await httpUpstream());
  const gateway = row.own(
    await startGateway(
      { mcpServers: { pipe: stdioServer(), web: httpServer(web) } },
      { shell: "ulimit -n 256" },
    ),
  );
  await gateway.met("pipe", "web");
  const host = await openHost(gateway.url, "legacy");
  const before = descriptors(gateway.pid);
  const { hostname, port, origin } = new URL(gateway.url);

  // Connections that do nothing but stand there, more than there are descriptors.
  const sockets = [];
  for (let i = 0; i < 600; i += 1) {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("error", () => {});
    sockets.push(socket);
  }
  row.own({
    stop: async () => {
      for (const socket of sockets) socket.destroy();
    },
  });
  await pause(1500);
  const open = sockets.filter((socket) => socket.readyState === "open").length;
  const taken = descriptors(gateway.pid);
  row.check("descriptors used by the flood", "well below 256", taken, taken < 200);
  row.check("connections refused", "> 0, and some accepted", `${600 - open} of 600`, open > 0 && open < 300);

  // What hosts had already continues, and the gateway can still open what it needs for its own work.
  const reply = await host.call("web__echo", { text: "in the flood" }).catch((error) => ({ error }));
  const own = textOf(reply.message);
  row.check(
    "a host with an open connection",
    "is served",
    own ?? reply.error?.message ?? JSON.stringify(reply.message),
    own === "in the flood",
  );
  const health = await get(`${gateway.admin}/healthz`).catch((error) => ({ status: error.code }));
  row.check("/healthz on the admin listener", 200, health.status, health.status === 200);

  // New connections are answered where that is possible, and never left to wait.
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () =>
      get(`${origin}/healthz`, 3000).then(
        ({ status }) => String(status),
        (error) => error.code ?? error.message,
      ),
    ),
  );
  const told = outcomes.filter((outcome) => ["200", "503", "ECONNRESET"].includes(outcome)).length;
  row.check(
    "20 new connections in the flood",
    "answered or closed at once",
    [...new Set(outcomes)].join(", "),
    told === 20,
  );

  // Calls as a flood: every one of them is answered or closed, and none is left hanging.
  for (const socket of sockets) socket.destroy();
  const gone = performance.now();
  const { ms: recovery } = await until(
    "new hosts to be served",
    async () => {
      try {
        const fresh = new Host(gateway.url, "modern");
        return textOf((await fresh.call("pipe__echo", { text: "back" })).message) === "back";
      } catch {
        return false;
      }
    },
    10_000,
  );
  row.timing("new hosts are served again after", "<= 5 s", ms(recovery), recovery <= 5000);
  const calls = await Promise.all(
    Array.from({ length: 400 }, async (_, i) => {
      try {
        const caller = new Host(gateway.url, "modern");
        const { status, message } = await caller.call("pipe__echo", { text: String(i) });
        if (textOf(message) === String(i)) return "served";
        return status === 503 || refusalOf(message)?.code === "overloaded" ? "503" : JSON.stringify(message);
      } catch (error) {
        return error.code ?? error.message;
      }
    }),
  );
  const counts = [...new Set(calls)].map(
    (outcome) => `${calls.filter((one) => one === outcome).length} ${outcome}`,
  );
  const known = calls.every((outcome) => ["served", "503", "ECONNRESET", "EPIPE"].includes(outcome));
  row.check(
    "400 concurrent hosts",
    "served, 503, or closed",
    counts.join(", "),
    known && calls.includes("served"),
  );
  await until("descriptors to be given back", () => descriptors(gateway.pid) <= before + 2, 15_000).catch(
    () => {},
  );
  row.check(
    "descriptors afterwards",
    `<= ${before} + 2`,
    `${descriptors(gateway.pid)} after ${ms(performance.now() - gone)}`,
    descriptors(gateway.pid) <= before + 2,
  );
  const crash =
    gateway.program.exit ??
    gateway.log().find(({ level, error }) => level === "error" || error?.code === "EMFILE");
  row.check(
    "the process",
    "lives, without EMFILE",
    crash === undefined ? "lives" : JSON.stringify(crash).slice(0, 200),
    crash === undefined,
  );
});
