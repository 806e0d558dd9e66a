/** Validates a value and says the result in one word or one sentence. */
import { compile } from "../../../../src/features/schema-checks/json-schema/compile.js";

/** `fits`, `unknown`, `too much`, or the violation. */
export async function validated(schema: unknown, value: unknown): Promise<string> {
  const { outcome, reason } = (await compile(schema)).validate(value);
  switch (outcome) {
    case "valid":
      return "fits";
    case "undecided":
      return "unknown";
    case "too_large":
      return "too much";
    case "invalid":
      return reason;
  }
}
