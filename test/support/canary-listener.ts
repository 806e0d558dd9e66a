/** A listener on this machine that must never receive a connection. */

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { onTestFinished } from "vitest";

export interface CanaryListener {
  readonly port: number;
  /** The number of connections. */
  readonly touched: number;
}

/** Listens on every address of this machine until the test is over. */
export async function canaryListener(): Promise<CanaryListener> {
  let touched = 0;
  const server = createServer((socket) => {
    touched += 1;
    socket.destroy();
  });
  await new Promise<void>((listening) => server.listen(0, "::", listening));
  onTestFinished(() => new Promise<void>((closed) => server.close(() => closed())));
  return {
    port: (server.address() as AddressInfo).port,
    get touched() {
      return touched;
    },
  };
}
