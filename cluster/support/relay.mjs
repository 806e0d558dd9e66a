/** A TCP relay that delays, stalls or refuses what goes through it: the way to the store of one replica. */
import { connect, createServer } from "node:net";

/**
 * @param {{ host: string, port: number }} target
 * @param {{ host?: string }} options where it listens
 * @returns `port`, and `delayMs` (each way), `cut` (refuses, and has ended what was open) to be set at any time
 */
export async function startRelay(target, { host = "127.0.0.1" } = {}) {
  const sockets = new Set();
  let isCut = false;
  const self = { delayMs: 0, host };
  const server = createServer({ noDelay: true }, (client) => {
    if (isCut) return client.destroy();
    const store = connect({ host: target.host, port: target.port, noDelay: true });
    for (const [from, to] of [
      [client, store],
      [store, client],
    ]) {
      sockets.add(from);
      from.on("data", (bytes) => {
        if (self.delayMs === 0) to.write(bytes);
        else setTimeout(() => to.writable && to.write(bytes), self.delayMs);
      });
      from.on("error", () => {});
      from.once("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise((resolve) => server.listen(0, host, resolve));
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return Object.assign(self, {
    port: server.address().port,
    cut(on) {
      isCut = on;
      if (on) drop();
    },
    async stop() {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
