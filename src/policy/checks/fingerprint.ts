/** One text for equal JSON values, made within what a run may cost. */

import { canonicalDecimal } from "../../wire/decimal.js";
import { ExactNumber } from "../../wire/exact-number.js";
import { isObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { CheckRun } from "./check-result.js";

/** @throws TooMuch */
export function fingerprint(value: unknown, run: CheckRun): string {
  run.enter();
  const text = write(value, run);
  run.leave();
  return text;
}

function write(value: unknown, run: CheckRun): string {
  if (typeof value === "string") {
    run.spend(2 + value.length / 16);
    return writeJson(value);
  }
  if (typeof value === "number") return canonicalDecimal(value);
  if (value instanceof ExactNumber) {
    run.spend(2 + value.source.length / 16);
    return canonicalDecimal(value);
  }
  if (!isObject(value) && !Array.isArray(value)) return String(value);
  // Texts that are put together cost more than values that are looked at.
  run.spend(20);
  if (Array.isArray(value)) return `[${value.map((element) => fingerprint(element, run)).join(",")}]`;
  const members = Object.keys(value);
  run.spend(members.length * 10);
  members.sort();
  return `{${members.map((key) => `${write(key, run)}:${fingerprint(value[key], run)}`).join(",")}}`;
}
