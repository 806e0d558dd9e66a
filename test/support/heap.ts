/** What is held in memory by this process, without what only waits to be collected. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
export const collectGarbage = runInNewContext("gc") as () => void;

/** In bytes. */
export function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

export const MIB = 1024 * 1024;
/** As a host may send it: a text of its own, of nearly 4 MB. */
export const large = (at: number): string =>
  JSON.parse(JSON.stringify(`${at} ${"x".repeat(3.9 * MIB)}`)) as string;

/** What puts ever more into the store, and what it may hold of it, in MiB. */
export interface Filled {
  readonly mib: number;
  readonly times: number;
  fill(): (at: number) => unknown;
}

/** How much more (MiB) the process holds after `times` entries than after the first. */
export async function growthOf({ fill, times }: Filled): Promise<number> {
  const put = fill();
  await put(0);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let at = 1; at < times; at += 1) await put(at);
  collectGarbage();
  const growth = (process.memoryUsage().heapUsed - before) / MIB;
  await put(times);
  return growth;
}
