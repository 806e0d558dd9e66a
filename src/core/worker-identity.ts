/** Which worker process is this, and which worker issued an id that a client sends back? */
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

/** The socket (on Windows: named pipe) of a worker, for requests forwarded by other workers or for its admin pages. */
export function workerSocket(
  { folder }: Pick<WorkerIdentity, "folder">,
  number: number,
  what: "requests" | "admin",
): string {
  const name = `${number}.${what}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\${basename(folder)}-${name}` : join(folder, name);
}

/** Session ids, task ids and round states begin with the number of the worker that issued them. It is neither secret nor proof. */
const WORKER_PREFIX = /^(\d{1,3})-/;

/** @param worker the number to prepend; undefined (one process): `text` is returned unchanged */
export const withWorkerPrefix = (worker: number | undefined, text: string): string =>
  worker === undefined ? text : `${worker}-${text}`;

/** The number of the worker that issued `text`; undefined where it has no prefix. */
export function workerOf(text: string): number | undefined {
  const number = WORKER_PREFIX.exec(text)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** `text` without its worker prefix. */
export const withoutWorkerPrefix = (text: string): string => text.replace(WORKER_PREFIX, "");
