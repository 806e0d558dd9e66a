/**
 * Which of several workers issued something that a client brings back: its number stands in front of it. With one
 * process nothing does. The number is no secret and no proof; what it stands before is.
 */

const WORKER_PREFIX = /^(\d{1,3})-/;

/** @param worker its number; absent where there is one process */
export const withWorkerPrefix = (worker: number | undefined, text: string): string =>
  worker === undefined ? text : `${worker}-${text}`;

export function workerOf(text: string): number | undefined {
  const number = WORKER_PREFIX.exec(text)?.[1];
  return number === undefined ? undefined : Number(number);
}

export const withoutWorkerPrefix = (text: string): string => text.replace(WORKER_PREFIX, "");
