/** Servers that take a port argument, because they cannot report a port that they chose. */
import { type AddressInfo, createServer } from "node:net";
import { type Started, type StartOptions, start } from "./processes.js";

/** How often another port is tried if this one was taken. */
const ATTEMPTS = 10;

/** A port that is free at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
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
