/** Slow clients delay no other client, and are disconnected. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { fakePort, textReply } from "../support/fake-port.js";
import { modernRequest, send } from "../support/http-host.js";
import { listening } from "../support/listening.js";
import { sample, TAKES_ALL } from "../support/sample.js";

const DRIPPING = TAKES_ALL ? 500 : 150;
const TIMEOUTS = { headersMs: 1_500, requestMs: 2_000 };
const HEAD = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

/** Sockets that send `beginning`, and from then on a byte now and then, until they are cut off. */
async function drip(port: number, count: number, beginning: string): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write("x");
  }, 200);
  for (const socket of sockets) {
    socket.on("error", () => {}).resume();
    socket.write(beginning);
  }
  onTestFinished(() => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  });
  return sockets;
}

const DRIPS = [
  ["heads", `${HEAD}X-Slow: `],
  ["bodies", `${HEAD}Content-Length: 1000\r\n\r\n{`],
] as const;

test.each(sample("drips", DRIPS, 1))(
  "connections with %s that arrive byte by byte do not block other hosts",
  async (_what, beginning) => {
    const gateway = fakePort({ handlers: { "tools/call": () => textReply("done") } });
    const patient = await listening({ gateway, timeouts: { headersMs: 60_000, requestMs: 60_000 } });
    const kept = await drip(patient.port, DRIPPING, beginning);
    for (let call = 0; call < 50; call += 1) {
      expect((await send(patient.url, modernRequest("tools/call", { name: "quick" }))).status).toBe(200);
    }
    // None of the calls waited for a slow one, for those are all still there; how long they take is in the fault row L18.
    expect(kept.filter(({ closed }) => closed)).toEqual([]);
    for (const socket of kept) socket.destroy();
    const { url, port: number } = await listening({ gateway, timeouts: TIMEOUTS });
    const cut = await drip(number, DRIPPING, beginning);
    expect((await send(url, modernRequest("tools/call", { name: "quick" }))).status).toBe(200);
    await Promise.all(cut.map(async (socket) => socket.closed || once(socket, "close")));
    expect(gateway.calls.length).toBe(51);
  },
);

test("slow connections cannot occupy all connection slots", async () => {
  const gateway = fakePort({ handlers: { "tools/call": () => textReply("done") } });
  const { url, port: number } = await listening({ gateway, timeouts: TIMEOUTS, maxConnections: 100 });
  const quick = () => send(url, modernRequest("tools/call", { name: "quick" }));
  let sockets: readonly Socket[] = [];
  let isRefused = false;
  // If a stall of this process lets them be disconnected first, they reconnect.
  for (let attempt = 0; attempt < 4 && !isRefused; attempt += 1) {
    sockets = await drip(number, 100, `${HEAD}X-Slow: `);
    isRefused = await quick().then(
      ({ status }) => status !== 200,
      () => true,
    );
  }
  expect(isRefused).toBe(true);
  await Promise.all(sockets.map(async (socket) => socket.closed || once(socket, "close")));
  expect((await quick()).status).toBe(200);
});
