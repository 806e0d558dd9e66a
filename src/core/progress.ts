/** Progress of one request, which must increase with each notification (basic/utilities/progress, "Progress Flow"). */
import { compareNumbers, isNumber, type JsonNumber } from "../wire/decimal.js";
import type { Notice } from "./call.js";

export class ProgressFilter {
  #last: JsonNumber | undefined;

  /** Whether `notice` may go on: progress that is no more than what was told before says nothing to a host. */
  isIncreasing({ params }: Notice): boolean {
    const value = params?.progress;
    // What is no number is for the host to refuse.
    if (!isNumber(value)) return true;
    if (this.#last !== undefined && compareNumbers(value, this.#last) <= 0) return false;
    this.#last = value;
    return true;
  }
}

export const PROGRESS_METHOD = "notifications/progress";
