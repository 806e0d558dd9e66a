/** Under which token is progress sent, and may a notification of it be sent on (2026-07-28: basic/utilities/progress)? */
import { compareNumbers, isNumber, type JsonNumber } from "../wire/decimal.js";
import { isProgressToken, type MessageId } from "../wire/envelope.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import { META } from "../wire/names.js";
import type { Notice } from "./call.js";

/** The token under which the sender of `params` receives progress; undefined where it asks for none. */
export function progressTokenOf(params: JsonObject | undefined): MessageId | undefined {
  const token = objectAt(params, "_meta")?.[META.progressToken];
  return isProgressToken(token) ? token : undefined;
}

/** The last progress of one request; `progress` must increase. */
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
