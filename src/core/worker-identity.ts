/** One of several workers behind one port: which it is, and where it finds the others. */
import { basename, join } from "node:path";

export interface WorkerIdentity {
  /** From 1. */
  readonly number: number;
  /** How many workers there are. */
  readonly count: number;
  /** A folder that nobody but their user may look into. */
  readonly folder: string;
  /** What keys are made of where the config names no secret; the same for all. */
  readonly secret: string;
}

/** Where the worker with that number listens for `what`: requests that others hand over to it, or the admin pages. */
export function workerSocket(
  { folder }: Pick<WorkerIdentity, "folder">,
  number: number,
  what: "requests" | "admin",
): string {
  const name = `${number}.${what}`;
  // On Windows such sockets have a name space of their own.
  return process.platform === "win32" ? `\\\\.\\pipe\\${basename(folder)}-${name}` : join(folder, name);
}

const WORKER_PREFIX = /^(\d{1,3})-/;

/** @param worker its number; absent where there is one process */
export const withWorkerPrefix = (worker: number | undefined, text: string): string =>
  worker === undefined ? text : `${worker}-${text}`;

export function workerOf(text: string): number | undefined {
  const number = WORKER_PREFIX.exec(text)?.[1];
  return number === undefined ? undefined : Number(number);
}

export const withoutWorkerPrefix = (text: string): string => text.replace(WORKER_PREFIX, "");
