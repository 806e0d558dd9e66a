/** Schemas and values, and what is said of them in one word or one sentence. */
import { compileSchema } from "../../../src/policy/checks/compile.js";
import { Run, sentence, TooMuch, UNKNOWN } from "../../../src/policy/checks/verdict.js";

/** `fits`, `unknown`, `too much`, or what is wrong. */
export async function judged(schema: unknown, value: unknown): Promise<string> {
  const { check } = await compileSchema(schema);
  try {
    const verdict = check(value, new Run());
    if (verdict === undefined) return "fits";
    return verdict === UNKNOWN ? "unknown" : sentence(verdict);
  } catch (error) {
    if (error instanceof TooMuch) return "too much";
    throw error;
  }
}
