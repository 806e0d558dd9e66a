/** F12: a hundred hosts stop reading while a megabyte a second comes for each. */
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { Host } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { peakMiB, peersOf, unreadAt } from "./support/processes.mjs";
import { mib, ms, pause, row, until } from "./support/row.mjs";
import { httpProcess, httpServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";

/** A modern host that sends one call and reads nothing until requested. */
function deafHost(url, name, args) {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const host = new Host(url, "modern");
  const params = { name, arguments: args, _meta: { progressToken: 1 } };
  const body = JSON.stringify(host.message(1, "tools/call", params));
  const headers = {
    host: `${hostname}:${port}`,
    ...host.headersOf("tools/call", name),
    "content-length": Buffer.byteLength(body),
  };
  const head = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`);
  const self = { socket, stop: async () => void socket.destroy() };
  socket.on("error", () => {});
  socket.write(`POST ${pathname} HTTP/1.1\r\n${head.join("")}\r\n${body}`);
  socket.pause();
  return self;
}

await row("F12", "100 hosts do not read 1 MB/s each; 20 do not read a large response", async (row) => {
  const upstream = row.own(await httpProcess(["--era", "modern"]));
  const other = row.own(await httpProcess());
  // A server takes 32 calls at once, so it stands there several times.
  const names = ["a", "b", "c", "d"];
  const gateway = row.own(
    await startGateway(
      {
        mcpServers: {
          ...Object.fromEntries(
            names.map((name) => [name, { type: "http", url: `${upstream.url}?${name}` }]),
          ),
          other: httpServer(other),
        },
      },
      { probe: true },
    ),
  );
  await gateway.met(...names, "other");
  const traffic = row.own(await startTraffic(gateway.url, { tools: ["other__echo"], rate: 100 }));
  const openStreams = async () => (await gateway.metric("cardea_streams_open", { kind: "response" })) ?? 0;
  const hosts = Array.from({ length: 100 }, (_, i) => {
    const args = { bytes: 65_536, everyMs: 62, forMs: 120_000 };
    return row.own(deafHost(gateway.url, `${names[i % names.length]}__chatter`, args));
  });
  for (const { socket } of hosts) socket.on("data", () => {}).resume();
  await until("all to be told something", async () => (await openStreams()) === 100, 20_000, 50);
  // The same load without the fault, which is what the memory and the times are compared with.
  await pause(2000);
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
  const calm = await traffic.during(() => pause(row.quick ? 4000 : 8000));
  const before = peakMiB(gateway.pid);

  const begun = performance.now();
  const most = await openStreams();
  const window = await traffic.during(async () => {
    for (const { socket } of hosts) socket.pause();
    await until("all streams to be closed", async () => (await openStreams()) === 0, 45_000, 100).catch(
      () => {},
    );
  });
  const closed = performance.now() - begun;
  const left = await openStreams();
  row.check(
    "open streams before, and after 45 s",
    "100, then 0",
    `${most}, then ${left}`,
    most === 100 && left === 0,
  );
  row.check("closed after", "over budget or 30 s without reading: <= 35 s", ms(closed), closed <= 35_000);
  const growth = peakMiB(gateway.pid) - before;
  row.check("memory", "<= + 100 x 1 MiB + 32 MiB", `+ ${mib(growth)}`, growth <= 132);
  const reasons = gateway
    .log()
    .filter(({ msg, kind }) => kind === "response" && /slow|takes nothing/.test(msg));
  row.check("log lines with the reason", 100, reasons.length, reasons.length === 100);
  row.check("errors of other callers", 0, window.errors, window.errors === 0);
  const ratio = window.p99 / calm.p99;
  row.timing(
    "p99 of other callers",
    "on time: <= 2 x base",
    `${ratio.toFixed(2)} x (${ms(calm.p99)} to ${ms(window.p99)})`,
    ratio <= 2,
  );

  if (row.quick) return;
  // One large answer that is left lying: no budget is broken, but nothing moves any longer.
  const deaf = Array.from({ length: 20 }, (_, i) =>
    row.own(deafHost(gateway.url, `${names[i % names.length]}__blob`, { bytes: 16 * 1_048_576 })),
  );
  // When the first byte of each lay unread, and when its connection was no longer open: a client that reads nothing does not
  // notice that, and the log names ten of them at most.
  const { port } = new URL(gateway.url);
  const began = new Map();
  const cut = new Map();
  const look = () => {
    const peers = peersOf(Number(port));
    for (const { socket } of deaf) {
      const { localPort } = socket;
      if (!began.has(localPort) && unreadAt(localPort) > 0) began.set(localPort, performance.now());
      if (began.has(localPort) && !cut.has(localPort) && !peers.has(localPort))
        cut.set(localPort, performance.now());
    }
    return cut.size === deaf.length;
  };
  await until("the stalled answers to be cut off", look, 75_000, 100).catch(() => {});
  const stalledMs = [...cut].map(([localPort, at]) => at - began.get(localPort));
  const [least, longest] = [Math.min(...stalledMs), Math.max(...stalledMs)];
  row.check(
    "unread large responses that were cut off",
    "20, each 30 s after it began (<= 35 s)",
    `${cut.size}, after ${ms(least)} to ${ms(longest)}`,
    cut.size === 20 && longest <= 35_000 && least >= 29_000,
  );
  for (const host of deaf) await host.stop();
});
