/** What a schema says of a value, and what it may cost to find out. */
import { writeJson } from "../../wire/json-text.js";

/** Why a value does not fit, and where in it. */
export interface Violation {
  readonly path: ViolationPath | undefined;
  /** What it would have to be, such as `must be at least 1`. Never a value. */
  readonly message: string;
}

/** From the whole to a part of it. A list of links, because a deep value is left level by level. */
interface ViolationPath {
  readonly step: string | number;
  readonly rest: ViolationPath | undefined;
}

/** It cannot be said whether the value fits, and so it is not held against it. */
export const UNKNOWN = Symbol("unknown");

/** Undefined where the value fits. */
export type CheckResult = Violation | typeof UNKNOWN | undefined;

/** One schema, or one keyword of it. `seen` gathers what it has looked at, for the `unevaluated` keywords. */
export type Check = (value: unknown, run: CheckRun, seen?: EvaluatedKeys) => CheckResult;

export const violation = (message: string): Violation => ({ path: undefined, message });

/** Where and what, as people write it: `filter.names[2] must be string`. */
export function describeViolation({ path, message }: Violation): string {
  let place = "";
  for (let part = path; part !== undefined; part = part.rest) {
    const { step } = part;
    if (typeof step === "number") place += `[${step}]`;
    else {
      const word = /^[\w$-]{1,100}$/.test(step) ? step : writeJson(step.slice(0, 100));
      place += place === "" ? word : `.${word}`;
    }
  }
  return place === "" ? message : `${place} ${message}`;
}

/** The verdict on what stands at `step`, told of the whole. */
export function atPath(step: string | number, result: CheckResult): CheckResult {
  if (result === undefined || result === UNKNOWN) return result;
  return { path: { step, rest: result.path }, message: result.message };
}

/** A value, or what is asked of it, is larger than is looked at. */
export class CheckLimitError extends Error {
  override readonly name = "TooMuch";
}

/** About 20 ms of work; a result of some megabytes, or an argument with a pattern on 10,000 characters. */
const MAX_WORK = 200_000;
/** Deeper than any value that comes in, and shallower than the stack. */
const MAX_DEPTH = 512;

/** One look at one value: how much work is left for it. A hostile schema costs its server the answer, and us nothing. */
export class CheckRun {
  #left = MAX_WORK;
  #depth = 0;

  /** How much was done. */
  get spent(): number {
    return MAX_WORK - this.#left;
  }

  /** @throws TooMuch when there is not so much left. */
  spend(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new CheckLimitError("there is too much to check");
  }

  /** @throws TooMuch below the deepest level. */
  enter(): void {
    this.spend(1);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new CheckLimitError("it is nested too deeply");
  }

  leave(): void {
    this.#depth -= 1;
  }
}

/** The members of one object or array that some part of a schema has looked at. */
export class EvaluatedKeys {
  readonly #keys = new Set<string | number>();
  #all = false;

  add(key: string | number): void {
    this.#keys.add(key);
  }

  addAll(): void {
    this.#all = true;
  }

  has(key: string | number): boolean {
    return this.#all || this.#keys.has(key);
  }

  addFrom(other: EvaluatedKeys): void {
    if (other.#all) this.#all = true;
    for (const key of other.#keys) this.#keys.add(key);
  }
}
