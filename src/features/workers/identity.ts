/** Who is a worker, and where is it reached? */
import { basename, join } from "node:path";

/** One worker of several behind one port. */
export interface WorkerIdentity {
  /** From 1. */
  readonly number: number;
  readonly count: number;
  /** A folder (mode 0700) with the sockets of all workers. */
  readonly folder: string;
  /** Keys are derived from it where the config has no secret; the same in all workers. */
  readonly secret: string;
}

/** What a worker has a socket for. */
export const WORKER_SOCKETS = ["requests", "admin", "hosts"] as const;

/** The socket (on Windows: named pipe) of a worker, for requests forwarded by other workers, for its admin pages or for its listener for hosts. */
export function workerSocket(
  { folder }: Pick<WorkerIdentity, "folder">,
  number: number,
  what: (typeof WORKER_SOCKETS)[number],
): string {
  const name = `${number}.${what}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\${basename(folder)}-${name}` : join(folder, name);
}

/** Set in the environment of a worker, which then waits for its identity. */
export const WORKER_ENV = "CARDEA_WORKER";
