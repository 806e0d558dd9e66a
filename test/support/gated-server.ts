/** A server whose processes connect to a gate, and start when that is opened. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { inRepository } from "./cardea.js";

const GATED = inRepository("test/support/fixture/gated.mjs");

/** A server whose processes start when `open` is called; `reached` resolves once the first waits for that. */
export async function gatedServer() {
  const gate = createServer().listen(0, "127.0.0.1");
  const waiting: Socket[] = [];
  let isOpen = false;
  const reached = new Promise<void>((resolve) => {
    gate.on("connection", (socket) => {
      socket.on("error", () => {});
      waiting.push(socket);
      socket.once("data", () => resolve());
      if (isOpen) socket.write("go");
    });
  });
  await once(gate, "listening");
  const address = gate.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return {
    entry: {
      command: process.execPath,
      args: [GATED, String(address.port), "--era", "legacy", "--transport", "stdio"],
    },
    reached,
    async open() {
      await reached;
      isOpen = true;
      for (const socket of waiting) socket.write("go");
    },
    /** Processes that come from now on do not start. */
    shut(): void {
      isOpen = false;
    },
    close: () => gate.close(),
  };
}
