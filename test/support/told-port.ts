/** Servers that take a port argument, because they cannot report a port that they chose. */
import { createServer } from "node:net";
import { type Started, type StartOptions, start } from "./processes.js";

/** How often another port is tried if this one was taken. */
const ATTEMPTS = 10;

/** Below the ephemeral ports (`listen(0)`, outgoing connections), so that the system does not assign a port before its use. */
const RANGE = { from: 12_000, to: 32_000 };
let next = RANGE.from + Math.floor(Math.random() * (RANGE.to - RANGE.from));

/** A free port that this process has not returned before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port + 1 < RANGE.to ? port + 1 : RANGE.from;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((closed) => server.close(closed));
    return port;
  }
}

/** Starts a server that takes its port from the variable `PORT`, and resolves when it says on stderr that it is `ready`. */
export async function startWithPort(
  command: string,
  args: readonly string[],
  ready: RegExp,
  { env = process.env, ...options }: StartOptions = {},
): Promise<{ readonly server: Started; readonly port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const server = start(command, args, { ...options, env: { ...env, PORT: String(port) } });
    try {
      await server.says(ready);
      return { server, port };
    } catch (error) {
      await server.stop();
      if (attempt === ATTEMPTS || !/EADDRINUSE|already in use/.test(server.stderr())) throw error;
    }
  }
}
