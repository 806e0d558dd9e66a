/** What a schema says of a value, and what it may cost to find out. */
import { writeJson } from "../../wire/json-text.js";

/** Why a value does not fit, and where in it. */
export interface Misfit {
  readonly path: Path | undefined;
  /** What it would have to be, such as `must be at least 1`. Never a value. */
  readonly what: string;
}

/** From the whole to a part of it. A list of links, because a deep value is left level by level. */
interface Path {
  readonly step: string | number;
  readonly rest: Path | undefined;
}

/** It cannot be said whether the value fits, and so it is not held against it. */
export const UNKNOWN = Symbol("unknown");

/** Undefined where the value fits. */
export type Verdict = Misfit | typeof UNKNOWN | undefined;

/** One schema, or one keyword of it. `seen` gathers what it has looked at, for the `unevaluated` keywords. */
export type Check = (value: unknown, run: Run, seen?: Seen) => Verdict;

export const misfit = (what: string): Misfit => ({ path: undefined, what });

/** Where and what, as people write it: `filter.names[2] must be string`. */
export function sentence({ path, what }: Misfit): string {
  let place = "";
  for (let part = path; part !== undefined; part = part.rest) {
    const { step } = part;
    if (typeof step === "number") place += `[${step}]`;
    else {
      const word = /^[\w$-]{1,100}$/.test(step) ? step : writeJson(step.slice(0, 100));
      place += place === "" ? word : `.${word}`;
    }
  }
  return place === "" ? what : `${place} ${what}`;
}

/** The verdict on what stands at `step`, told of the whole. */
export function at(step: string | number, verdict: Verdict): Verdict {
  if (verdict === undefined || verdict === UNKNOWN) return verdict;
  return { path: { step, rest: verdict.path }, what: verdict.what };
}

/** A value, or what is asked of it, is larger than is looked at. */
export class TooMuch extends Error {
  override readonly name = "TooMuch";
}

/** About 20 ms of work; a result of some megabytes, or an argument with a pattern on 10,000 characters. */
const WORK = 200_000;
/** Deeper than any value that comes in, and shallower than the stack. */
const DEEPEST = 512;

/** One look at one value: how much work is left for it. A hostile schema costs its server the answer, and us nothing. */
export class Run {
  #left = WORK;
  #depth = 0;

  /** How much was done. */
  get spent(): number {
    return WORK - this.#left;
  }

  /** @throws TooMuch when there is not so much left. */
  burn(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new TooMuch("there is too much to check");
  }

  /** @throws TooMuch below the deepest level. */
  enter(): void {
    this.burn(1);
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new TooMuch("it is nested too deeply");
  }

  leave(): void {
    this.#depth -= 1;
  }
}

/** The members of one object or array that some part of a schema has looked at. */
export class Seen {
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

  addFrom(other: Seen): void {
    if (other.#all) this.#all = true;
    for (const key of other.#keys) this.#keys.add(key);
  }
}
