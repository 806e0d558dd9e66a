/** A TCP proxy that lets a test spoil the way back from a server: sliced, stalled, cut short, reset. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Faults {
  /** Send the server's bytes in pieces of this size, each in a packet of its own. */
  sliceBytes?: number | undefined;
  /** How many bytes from the server are passed on, on each connection; what happens then says `fault`. */
  afterBytes?: number | undefined;
  /** Reset (RST), end (FIN), or keep quiet and pass nothing on. */
  fault?: "reset" | "end" | "stall" | undefined;
}

export interface FaultProxy {
  readonly port: number;
  readonly url: string;
  /** May be changed at any time; applies to what comes next. */
  readonly faults: Faults;
  readonly open: number;
  /** New connections go to the server at `target` from now on. */
  leadTo(target: string): void;
  close(): Promise<void>;
}

/** Stands in front of the server at `target`, under the same path. */
export async function faultProxy(target: string, faults: Faults = {}): Promise<FaultProxy> {
  let { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream);
    spoil(upstream, client, faults);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const own = (server.address() as AddressInfo).port;
  return {
    port: own,
    url: `http://127.0.0.1:${own}${new URL(target).pathname}`,
    faults,
    get open() {
      return sockets.size;
    },
    leadTo: (next) => {
      ({ hostname, port } = new URL(next));
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function spoil(from: Socket, to: Socket, faults: Faults): void {
  let passed = 0;
  let queue = Promise.resolve();
  const pass = async (bytes: Buffer): Promise<void> => {
    const size = faults.sliceBytes ?? bytes.length;
    for (let at = 0; at < bytes.length && !to.destroyed; at += size) {
      await new Promise<void>((resolve) => to.write(bytes.subarray(at, at + size), () => resolve()));
      // A turn of the event loop between the pieces, so that they are read as they were written.
      if (faults.sliceBytes !== undefined) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  from.on("data", (bytes: Buffer) => {
    const { afterBytes = Number.POSITIVE_INFINITY, fault } = faults;
    const rest = bytes.subarray(0, Math.max(0, afterBytes - passed));
    passed += rest.length;
    queue = queue.then(() => pass(rest));
    if (passed < afterBytes) return;
    if (fault === "reset") queue = queue.then(() => void to.resetAndDestroy());
    if (fault === "end") queue = queue.then(() => void to.end());
  });
  from.once("end", () => {
    queue = queue.then(() => void (faults.fault === "stall" || to.end()));
  });
}
