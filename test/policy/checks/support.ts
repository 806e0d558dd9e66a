/** Schemas and values, and what is said of them in one word or one sentence. */
import { compileSchema } from "../../../src/policy/checks/compile.js";
import { Run, sentence, TooMuch, UNKNOWN } from "../../../src/policy/checks/verdict.js";

/** `fits`, `unknown`, `too much`, or what is wrong. */
export async function judged(schema: unknown, value: unknown): Promise<string> {
  const { check } = await compileSchema(schema);
  try {
    const verdict = check(value, new Run());
    if (verdict === undefined) return "fits";
    return verdict === UNKNOWN ? "unknown" : sentence(verdict);
  } catch (error) {
    if (error instanceof TooMuch) return "too much";
    throw error;
  }
}

/** A measurement that is over its limit is made so often: a collection of garbage that was due says nothing of the work. */
const ATTEMPTS = 4;

/**
 * How long the event loop was held at most while `work` was under way, in ms of the processor's time as the limits are
 * meant: on a slower machine the same work counts as much. The best of a few attempts while it is over `limit`.
 */
export async function longestTurn(work: () => Promise<unknown>, limit: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && best >= limit; attempt += 1) {
    best = Math.min(best, await turnOf(work));
  }
  return best < limit ? best : best / slowness();
}

/** What `arithmetic` takes, in ms of the processor's time, on the machine for which the limits were chosen. */
const USUAL_MS = 20;

/** How much slower this machine is at this moment than that one; never less than 1. */
function slowness(): number {
  const least = Math.min(...Array.from({ length: 3 }, arithmetic));
  return Math.max(1, least / USUAL_MS);
}

function arithmetic(): number {
  const before = process.cpuUsage();
  let sum = 0;
  for (let at = 0; at < 20_000_000; at += 1) sum = (Math.imul(sum, 31) + at) | 0;
  const { user, system } = process.cpuUsage(before);
  // The sum is looked at, so that nobody leaves it out.
  return (user + system) / 1000 + (sum === 0.5 ? 1 : 0);
}

async function turnOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.cpuUsage();
  let watching = true;
  const look = (): void => {
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.cpuUsage();
    if (watching) setImmediate(look);
  };
  await new Promise((resolve) => void setImmediate(resolve));
  before = process.cpuUsage();
  setImmediate(look);
  await work();
  look();
  watching = false;
  return longest;
}
