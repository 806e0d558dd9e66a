/** Servers that must be told their port, because they cannot say which one they have found. */
import { createServer } from "node:net";
import { type Started, type StartOptions, start } from "./processes.js";

/** How often another port is tried where somebody else was quicker. */
const ATTEMPTS = 10;

/**
 * Below the ports that systems give to `listen(0)` and to outgoing connections, so that none of those takes the port between here
 * and its use.
 */
const RANGE = { from: 12_000, to: 32_000 };
let next = RANGE.from + Math.floor(Math.random() * (RANGE.to - RANGE.from));

/** A port that nobody listens on, and that this process has not given before. */
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
