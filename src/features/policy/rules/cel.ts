/**
 * How is the CEL library loaded, and how much work may a condition be? It is loaded with the first rule that needs it: it is
 * large, and most configs have no such rule. It has no bound of its own on work, so each function that can take long counts
 * its work here, and stops when that is too much. One evaluation is counted at a time, as none waits for anything.
 */
import { createRequire } from "node:module";
import type * as Cel from "@bufbuild/cel";
import type * as Extensions from "@bufbuild/cel/ext";

/** What of CEL is used. */
export interface Library {
  readonly cel: typeof Cel;
  readonly strings: typeof Extensions.strings;
}

const require = createRequire(import.meta.url);

/** Reads from disk synchronously: rules are compiled before the first call. */
export function loadLibrary(): Library {
  const cel = require("@bufbuild/cel") as typeof Cel;
  const { strings } = require("@bufbuild/cel/ext") as typeof Extensions;
  return { cel, strings };
}

/** An expression that can never be evaluated; the message is for its author. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

/** Steps of one evaluation, some 100 ns each: at most about 25 ms. */
export const MAX_STEPS = 250_000;

/** The condition is more work than one may be. Rules take it as a condition that cannot be answered. */
export class WorkLimitError extends RangeError {
  override readonly name = "TooMuchWork";
}

/** The work of the evaluation under way, or of the last one. */
export class EvaluationWork {
  #spent = 0;
  #limit = MAX_STEPS;

  /** Begins an evaluation of at most `steps` steps. */
  begin(most: number): void {
    this.#spent = 0;
    this.#limit = most;
  }

  /**
   * Counts work before it is done.
   *
   * @throws TooMuchWork when there is none left
   */
  spend(steps: number): void {
    this.#spent += steps;
    if (this.isExceeded) throw new WorkLimitError("the condition exceeds its work budget");
  }

  get spent(): number {
    return Math.min(this.#spent, this.#limit);
  }

  /** CEL continues after an error if its result does not depend on it; a short-circuited value is still no result. */
  get isExceeded(): boolean {
    return this.#spent > this.#limit;
  }
}

/** What it takes to go through a text with the machine's own means, such as comparing. */
export const scanCost = (length: number): number => 1 + length / 64;
/** The same for code of ours. */
export const readCost = (length: number): number => 1 + length / 8;
/** A search for one text in another may cost the product of their lengths. */
export const searchCost = (length: number, sought: number): number => 1 + (length * Math.max(1, sought)) / 64;
/** A match may touch each instruction of the pattern's program at each character. */
export const matchCost = (length: number, programSize: number): number =>
  1 + (length * Math.max(16, programSize)) / 64;
