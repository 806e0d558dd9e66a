/**
 * How much work a piece of code is, in steps: how often V8 entered a function or a block of it. The same on a slow machine
 * and on a busy one. Native code (regular expressions, `indexOf`, JSON) is one step, whatever it is given; what only a clock
 * can tell about it is in `faults/`.
 */
import { readFileSync } from "node:fs";
import { Session } from "node:inspector";
import { inRepository } from "./cardea.js";

const { dependencies } = JSON.parse(readFileSync(inRepository("package.json"), "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
};
/** The program and the libraries that it is built on; neither the tests nor what runs them. */
const PARTS = [inRepository("src/"), ...Object.keys(dependencies).map((name) => `/node_modules/${name}/`)];

// Blocks are counted in functions that are compiled from now on: on their first call.
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/** The steps since it was last asked. The session answers at once. */
function take(): number {
  let steps = 0;
  session.post("Profiler.takePreciseCoverage", (error, taken) => {
    if (error !== null) throw error;
    for (const { url, functions } of taken.result) {
      if (!PARTS.some((part) => url.includes(part))) continue;
      for (const { ranges } of functions) for (const { count } of ranges) steps += count;
    }
  });
  return steps;
}

/** Where nothing at all was counted, the counting is broken, and every bound would hold. */
function counted(steps: number): number {
  if (steps === 0) throw new Error("not a single step was counted");
  return steps;
}

/** Steps of `work`, which is done when it returns. */
export function stepsOf(work: () => void): number {
  take();
  work();
  return counted(take());
}

/** The most steps of `work` in one turn of the event loop, which block everything else. */
export async function mostStepsInATurn(work: () => Promise<unknown>): Promise<number> {
  let most = 0;
  let isOver = false;
  const look = (): void => {
    most = Math.max(most, take());
    if (!isOver) setImmediate(look);
  };
  await new Promise((resolve) => void setImmediate(resolve));
  take();
  setImmediate(look);
  await work();
  isOver = true;
  return counted(Math.max(most, take()));
}
