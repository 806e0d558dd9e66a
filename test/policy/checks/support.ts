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

/**
 * How long the event loop was held at most while `work` was under way, in ms of the processor's time; the better of two
 * when the first is over `limit`: a collection of garbage that was due says nothing of the work.
 */
export async function longestTurn(work: () => Promise<unknown>, limit: number): Promise<number> {
  const first = await turnOf(work);
  return first < limit ? first : Math.min(first, await turnOf(work));
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
