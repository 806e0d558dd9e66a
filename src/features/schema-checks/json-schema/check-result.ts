/** What does checking one value against one schema find, and what may that cost? */
import { writeJson } from "../../../wire/json-text.js";

/** Why a value does not fit, and where in it. */
export interface Violation {
  readonly path: ViolationPath | undefined;
  /** The requirement, such as `must be at least 1`. Never a value. */
  readonly message: string;
}

/** From the root to a part of the value. A linked list, because it is built on the way out of each level. */
interface ViolationPath {
  readonly step: string | number;
  readonly rest: ViolationPath | undefined;
}

/** Whether the value fits cannot be decided; it is not refused for it. */
export const UNKNOWN = Symbol("unknown");

/** Undefined where the value fits. */
export type CheckResult = Violation | typeof UNKNOWN | undefined;

/** Checks one schema, or one keyword of it. `evaluated` collects keys for the `unevaluated` keywords. */
export type Check = (value: unknown, run: CheckRun, evaluated?: EvaluatedKeys) => CheckResult;

/** A violation at the value itself. */
export const violation = (message: string): Violation => ({ path: undefined, message });

/** Text for a message, of at most `most` characters and an ellipsis. */
export const shortened = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

/** Path and requirement as one text: `filter.names[2] must be string`. */
export function describeViolation({ path, message }: Violation): string {
  let where = "";
  for (let part = path; part !== undefined; part = part.rest) {
    const { step } = part;
    if (typeof step === "number") where += `[${step}]`;
    else {
      const key = /^[\w$-]{1,100}$/.test(step) ? step : writeJson(step.slice(0, 100));
      where += where === "" ? key : `.${key}`;
    }
  }
  return where === "" ? message : `${where} ${message}`;
}

/** The result for the part at `step`, as a result for the whole. */
export function atPath(step: string | number, result: CheckResult): CheckResult {
  if (result === undefined || result === UNKNOWN) return result;
  return { path: { step, rest: result.path }, message: result.message };
}

/** The first violation of all checks; else `UNKNOWN` where one of them cannot decide. */
export function inSequence(checks: readonly Check[]): Check {
  return (value, run, evaluated) => {
    let whole: CheckResult;
    for (const check of checks) {
      const result = check(value, run, evaluated);
      if (result !== undefined && result !== UNKNOWN) return result;
      whole ??= result;
    }
    return whole;
  };
}

/** A value or its schema needs more work, or more depth, than one check may take. */
export class CheckLimitError extends Error {
  override readonly name = "CheckLimitError";
}

/** Work units: about 20 ms; enough for a result of some MB, or a pattern on 10,000 characters. */
const MAX_WORK = 200_000;
/** Deeper than any value that is accepted, and shallower than the stack. */
const MAX_DEPTH = 512;

/** The budget for checking one value, so that a hostile schema costs its server the result and the gateway 20 ms. */
export class CheckRun {
  #left = MAX_WORK;
  #depth = 0;

  /** Work units done so far. */
  get spent(): number {
    return MAX_WORK - this.#left;
  }

  /** @throws CheckLimitError when less than `work` units are left. */
  spend(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new CheckLimitError("there is too much to check");
  }

  /** @throws CheckLimitError below the deepest level. */
  enter(): void {
    this.spend(1);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new CheckLimitError("it is nested too deeply");
  }

  leave(): void {
    this.#depth -= 1;
  }
}

/** The keys of one object or array that a keyword has evaluated (2020-12 core, section 11). */
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
