/** L18: 500 clients send their requests a byte now and then: what others wait meanwhile. */
import { connect } from "node:net";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, row } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";

const CLIENTS = 500;
const HEAD = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
const BEGINNINGS = {
  heads: `${HEAD}X-Slow: `,
  bodies: `${HEAD}Content-Length: 100000\r\n\r\n{`,
};

/** Sockets that send `beginning`, and from then on a byte five times a second. */
async function drip(url, beginning) {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: CLIENTS }, () => connect(Number(port), hostname));
  for (const socket of sockets) socket.on("error", () => {}).resume();
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  for (const socket of sockets) socket.write(beginning);
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write("x");
  }, 200);
  return {
    open: () => sockets.filter(({ closed }) => !closed).length,
    stop() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}

await row("L18", `${CLIENTS} clients whose requests drip`, async (row) => {
  const gateway = row.own(await startGateway({ mcpServers: { pipe: stdioServer() } }));
  await gateway.met("pipe");
  const traffic = row.own(await startTraffic(gateway.url, { tools: ["pipe__echo"], rate: 200 }));
  await traffic.during(() => pause(1_000));
  const windowMs = row.quick ? 2_000 : 4_000;
  const base = await traffic.during(() => pause(windowMs));
  for (const [what, beginning] of Object.entries(BEGINNINGS)) {
    const clients = await drip(gateway.url, beginning);
    const beside = await traffic.during(() => pause(windowMs));
    const open = clients.open();
    clients.stop();
    row.check(`clients whose ${what} drip that are still there`, CLIENTS, open, open === CLIENTS);
    row.check("calls of others that failed", 0, beside.errors, beside.errors === 0);
    row.timing(
      `what calls of others take beside ${what} that drip, p99`,
      "<= base + 25 ms",
      `${ms(base.p99)} to ${ms(beside.p99)}`,
      beside.p99 <= base.p99 + 25,
    );
  }
});
