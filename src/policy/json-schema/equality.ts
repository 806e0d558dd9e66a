/** When are two JSON values equal? `const` and `enum`, and one text for equal values. */
import { canonicalDecimal } from "../../wire/decimal.js";
import { ExactNumber, isObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { type Check, CheckRun, inSequence, shortened, violation } from "./check-result.js";
import type { Keyword } from "./compiler.js";

/** `const` and `enum`. */
export const equality: Keyword = (schema, compiler) => {
  const { enum: given } = schema;
  const only = Object.hasOwn(schema, "const") ? [schema.const] : undefined;
  if (given !== undefined && !Array.isArray(given)) compiler.ignoreKeyword("enum");
  const sets = [
    ...(only === undefined ? [] : [only]),
    ...(Array.isArray(given) ? [given as readonly unknown[]] : []),
  ];
  if (sets.length === 0) return undefined;
  return inSequence(sets.map(oneOfThese));
};

function oneOfThese(values: readonly unknown[]): Check {
  const scalars = new Set(values.filter((value) => typeof value !== "object" || value === null));
  const fingerprints = new Set(
    values.filter(needsFingerprint).map((value) => fingerprint(value, new CheckRun())),
  );
  const wrong = violation(`must be ${values.length === 1 ? "" : "one of "}${shownValues(values)}`);
  return (value, run) => {
    if (scalars.has(value)) return undefined;
    if (fingerprints.size === 0 || !needsFingerprint(value)) return wrong;
    return fingerprints.has(fingerprint(value, run)) ? undefined : wrong;
  };
}

/** Numbers too: 1 and 1.0 are equal, however they are written. */
const needsFingerprint = (value: unknown): boolean =>
  (typeof value === "object" && value !== null) || typeof value === "number";

/** The allowed values come from the schema and are no secret; at most 10 are shown. */
function shownValues(values: readonly unknown[]): string {
  const shown = values.slice(0, 10).map((value) => shortened(writeJson(value), 50));
  return shown.join(", ") + (values.length > shown.length ? " …" : "");
}

/**
 * The same text for equal JSON values, made within the work that a run may do.
 *
 * @throws CheckLimitError
 */
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
  // Building text costs more than visiting a value.
  run.spend(20);
  if (Array.isArray(value)) return `[${value.map((element) => fingerprint(element, run)).join(",")}]`;
  const members = Object.keys(value);
  run.spend(members.length * 10);
  members.sort();
  return `{${members.map((key) => `${write(key, run)}:${fingerprint(value[key], run)}`).join(",")}}`;
}
