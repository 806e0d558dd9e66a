/** Entries of `mcpServers` for the servers of these scripts. */
import { fileURLToPath } from "node:url";
import { start } from "./processes.mjs";

const STDIO = fileURLToPath(new URL("../upstreams/stdio.mjs", import.meta.url));

export const stdioServer = (args = [], rest = {}) => ({
  command: process.execPath,
  args: [STDIO, ...args],
  ...rest,
});
export const httpServer = (upstream, rest = {}) => ({ type: "http", url: upstream.url, ...rest });

const HTTP = fileURLToPath(new URL("../upstreams/http-main.mjs", import.meta.url));

/** The HTTP server in a process of its own. */
export async function httpProcess(args = []) {
  const program = start(process.execPath, [HTTP, ...args]);
  const url = await new Promise((resolve) =>
    program.child.stdout.once("data", (text) => resolve(String(text).trim())),
  );
  return { url, pid: program.pid, stop: () => program.stop() };
}
