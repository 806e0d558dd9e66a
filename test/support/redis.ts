/** A real Redis for tests: Debian's redis-server, on a port of its own, without files. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Started, start } from "./processes.js";
import { freePort } from "./told-port.js";

const PROGRAM = [
  "/usr/bin/redis-server",
  "/usr/local/bin/redis-server",
  "/opt/homebrew/bin/redis-server",
].find((path) => existsSync(path));

/** Whether Redis is installed on this machine; if not, a line is printed and tests with it are skipped. */
export const hasRedis = PROGRAM !== undefined;
if (!hasRedis) console.warn("NOT RUN: tests with a real Redis; apt-get install redis-server");

/** A deadline for uses of the store that a busy machine keeps. */
export const PATIENT = { deadlineMs: 60_000 } as const;

export interface Redis {
  readonly port: number;
  readonly url: string;
  readonly process: Started;
  /** Starts it again on the same port, empty, after `process` was stopped. */
  again(): Promise<Started>;
  stop(): Promise<void>;
}

/** Starts one; `flags` as on its command line. */
export async function startRedis(flags: readonly string[] = []): Promise<Redis> {
  const folder = mkdtempSync(join(tmpdir(), "cardea-redis-"));
  const port = await freePort();
  const run = async (): Promise<Started> => {
    const fixed = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    // Redis logs to stdout, and the support for processes listens to stderr.
    const command = `exec ${PROGRAM} "$@" 1>&2`;
    const started = start("sh", ["-c", command, "redis", ...fixed, "--dir", folder, ...flags]);
    await started.says(/Ready to accept connections/);
    return started;
  };
  let process = await run();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get process() {
      return process;
    },
    async again() {
      process = await run();
      return process;
    },
    async stop() {
      await process.stop("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
