/** Schemas and values, and what is said of them in one word or one sentence. */

import {
  CheckLimitError,
  CheckRun,
  describeViolation,
  UNKNOWN,
} from "../../../src/policy/checks/check-result.js";
import { compileSchema } from "../../../src/policy/checks/compile.js";

/** `fits`, `unknown`, `too much`, or what is wrong. */
export async function judged(schema: unknown, value: unknown): Promise<string> {
  const { check } = await compileSchema(schema);
  try {
    const verdict = check(value, new CheckRun());
    if (verdict === undefined) return "fits";
    return verdict === UNKNOWN ? "unknown" : describeViolation(verdict);
  } catch (error) {
    if (error instanceof CheckLimitError) return "too much";
    throw error;
  }
}
