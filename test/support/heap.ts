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
