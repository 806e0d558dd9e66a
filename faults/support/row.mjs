/**
 * One row of the fault matrix as a program: does what the row says, prints each figure beside its aim, and exits
 * non-zero when one is missed. `run.mjs` starts it with a channel and reads the same figures from there.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchOthers } from "./processes.mjs";

const LIMIT_MS = 900_000;
/** With `--long`. */
const LONG_LIMIT_MS = 1_800_000;
/** When others use more than this share of the machine, a time that missed its aim says nothing of the gateway. */
const BUSY = 0.2;
/** An empty Node program took this time (ms) on the machine that the targets of times were set on. */
const REFERENCE_MS = 44;
/** On a machine that is this many times as slow, a time that missed its aim says nothing of the gateway either. */
const SLOW = 1.5;

/**
 * @param {string} id such as `F1`
 * @param {string} title what is done to the gateway
 * @param {(row: Row) => Promise<void>} work
 */
export async function row(id, title, work) {
  const quick = process.argv.includes("--quick");
  const long = process.argv.includes("--long");
  const started = performance.now();
  const checks = [];
  const notes = [];
  const owned = [];
  const folder = mkdtempSync(join(tmpdir(), `cardea-${id}-`));
  const others = watchOthers();
  const slowness = slownessOfMachine();
  const self = {
    quick,
    /** Rows without a fixed duration use all of the given time. */
    long,
    folder,
    /** One figure of the row. */
    check(what, aim, figure, pass) {
      checks.push({ what, aim, figure: String(figure), pass });
      console.log(`${id.padEnd(4)} ${pass ? "pass" : "FAIL"}  ${what}: ${figure} (aim: ${aim})`);
    },
    /**
     * The same for a figure that depends on the speed of the machine. Missed on a slow machine, or while other programs kept it
     * busy, it is not evaluated: `pass` is undefined then.
     */
    timing(what, aim, figure, pass) {
      const busy = others();
      if (pass || (busy <= BUSY && slowness <= SLOW)) return self.check(what, aim, figure, pass);
      checks.push({ what, aim, figure: String(figure), pass: undefined });
      console.log(`${id.padEnd(4)} ----  ${what}: ${figure} (target: ${aim}); not evaluated`);
      const why =
        busy > BUSY
          ? `other processes used ${Math.round(busy * 100)} % of the machine`
          : `an empty Node program takes ${slowness.toFixed(1)} times as long here as where the target was set`;
      return self.note(`${what}: not evaluated, ${why}`);
    },
    /**
     * A figure whose aim cannot be met here for an inherent reason. If it is missed, the table states the reason, and
     * the row does not fail as long as the figure is `bearable`.
     */
    shortfall(what, aim, figure, { met, bearable, why }) {
      if (met || !bearable) return self.timing(what, aim, figure, met);
      checks.push({ what, aim, figure: String(figure), pass: false, why });
      return console.log(`${id.padEnd(4)} MISS  ${what}: ${figure} (aim: ${aim}), because ${why}`);
    },
    /** The whole row cannot run here: prints that clearly, and evaluates nothing. */
    skip(why) {
      checks.push({ what: "the whole row", aim: "runs", figure: `SKIPPED: ${why}`, pass: undefined });
      console.log(`${id.padEnd(4)} SKIPPED: ${why}`);
    },
    /** Notes for the reader about the figures, such as what could not be evaluated. */
    note(sentence) {
      notes.push(sentence);
      console.log(`${id.padEnd(4)} note  ${sentence}`);
    },
    /** Ends `thing` with the row, last come first. */
    own(thing) {
      owned.push(thing);
      return thing;
    },
  };
  let timer;
  const late = new Promise((_, reject) => {
    const limitMs = long ? LONG_LIMIT_MS : LIMIT_MS;
    timer = setTimeout(() => reject(new Error(`not done after ${limitMs / 1000} s`)), limitMs);
  });
  const told = new Promise((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"])
      process.once(signal, () => reject(new Error(`got ${signal}`)));
  });
  try {
    await Promise.race([work(self), late, told]);
    if (checks.length === 0) throw new Error("the row has checked nothing");
  } catch (error) {
    console.error((error.stack ?? String(error)).slice(0, 1500));
    self.check("the script itself", "runs to its end", error.message.split("\n")[0], false);
  }
  clearTimeout(timer);
  for (const thing of owned.reverse()) {
    await thing.stop().catch((error) => self.check("tidying up", "no error", error.message, false));
  }
  await rm(folder, { recursive: true, force: true });
  const seconds = (performance.now() - started) / 1000;
  if (process.send !== undefined) {
    await new Promise((resolve) => process.send({ id, title, checks, notes, seconds }, resolve));
  }
  process.exit(checks.some(({ pass, why }) => pass === false && why === undefined) ? 1 : 0);
}

/** How many times as long an empty Node program takes as it should: the fastest of five. */
function slownessOfMachine() {
  const times = Array.from({ length: 5 }, () => {
    const begun = performance.now();
    spawnSync(process.execPath, ["-e", ""]);
    return performance.now() - begun;
  });
  return Math.min(...times) / REFERENCE_MS;
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves to what `look` returns as soon as that is neither undefined nor false, and to how long that took. */
export async function until(what, look, limitMs = 10_000, everyMs = 15) {
  const start = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return { found, ms: performance.now() - start };
    if (performance.now() - start > limitMs)
      throw new Error(`${what} did not come about within ${limitMs} ms`);
    await pause(everyMs);
  }
}

export const quantile = (numbers, q) => {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
};

export const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
export const mib = (value) => `${value.toFixed(1)} MiB`;

/** The line through the points `[x, y]` by least squares: its slope, and the standard error of that. */
export function line(points) {
  const mean = (at) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const above = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  const below = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
  if (below === 0 || points.length < 3) return { slope: 0, error: Number.POSITIVE_INFINITY };
  const slope = above / below;
  const rest = points.reduce((sum, point) => sum + (point[1] - y - slope * (point[0] - x)) ** 2, 0);
  return { slope, error: Math.sqrt(rest / (points.length - 2) / below) };
}
