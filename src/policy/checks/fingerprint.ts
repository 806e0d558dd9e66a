/** One text for equal JSON values, made within what a run may cost. */

import { worthOf } from "../../wire/decimal.js";
import { ExactNumber } from "../../wire/exact-number.js";
import { isObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Run } from "./verdict.js";

/** @throws TooMuch */
export function fingerprint(value: unknown, run: Run): string {
  run.enter();
  const text = write(value, run);
  run.leave();
  return text;
}

function write(value: unknown, run: Run): string {
  if (typeof value === "string") {
    run.burn(2 + value.length / 16);
    return writeJson(value);
  }
  if (typeof value === "number") return worthOf(value);
  if (value instanceof ExactNumber) {
    run.burn(2 + value.source.length / 16);
    return worthOf(value);
  }
  if (!isObject(value) && !Array.isArray(value)) return String(value);
  // Texts that are put together cost more than values that are looked at.
  run.burn(20);
  if (Array.isArray(value)) return `[${value.map((element) => fingerprint(element, run)).join(",")}]`;
  const members = Object.keys(value);
  run.burn(members.length * 10);
  members.sort();
  return `{${members.map((key) => `${write(key, run)}:${fingerprint(value[key], run)}`).join(",")}}`;
}
