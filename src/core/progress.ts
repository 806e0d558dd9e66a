/** May a progress notification be sent on? `progress` must increase (2026-07-28: basic/utilities/progress). */
import { compareNumbers, isNumber, type JsonNumber } from "../wire/decimal.js";
import type { Notice } from "./call.js";

/** The last progress of one request. */
export class ProgressFilter {
  #last: JsonNumber | undefined;

  /** False where `progress` is no higher than in an earlier notification. */
  isIncreasing({ params }: Notice): boolean {
    const value = params?.progress;
    // An invalid value is left to the host to refuse.
    if (!isNumber(value)) return true;
    if (this.#last !== undefined && compareNumbers(value, this.#last) <= 0) return false;
    this.#last = value;
    return true;
  }
}

/** The method of a progress notification. */
export const PROGRESS_METHOD = "notifications/progress";
