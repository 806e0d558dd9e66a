/** What may the value of one argument be, and which names may it set in the request? */
import { isObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Parameter } from "./operation.js";
import { plainText } from "./styles.js";
import type { TakenNames } from "./taken-names.js";

/** A parameter and the value of its argument. */
export type Given = readonly [Parameter, unknown];

/**
 * The value to write: one text for a parameter that is described by `content`. In JSON a text is in quotes: the server would
 * read `{"env":"prod"}` as an object, and rules see a text. @throws UnusableArgument
 */
export function givenValue({ argument, content, takesObject }: Parameter, value: unknown): unknown {
  if (content === "json") return writeJson(value);
  if (content === "text") return plainText(value);
  if (isObject(value) && !takesObject)
    throw new UnusableArgument(`the argument "${argument}" must not be an object`);
  return value;
}

/**
 * Refuses names that belong to another parameter or field, or that the config sets: the caller would reach what a rule
 * allows or a fixed argument gives by another argument. @throws UnusableArgument
 */
export function refuseTaken(
  argument: string,
  own: string,
  written: readonly string[],
  taken: TakenNames,
): void {
  const found = written.find((name) => taken.has(name, own));
  if (found === undefined) return;
  const name = writeJson(found.slice(0, 100));
  throw new UnusableArgument(`the argument "${argument}" must not set ${name}, which is not its own`);
}

/**
 * The most names that a query or a form may have: beyond it PHP (`max_input_vars`) and qs (`parameterLimit`) drop the rest,
 * which rules have seen. @throws UnusableArgument
 */
export function checkCount(count: number): void {
  if (count <= MAX_NAMES) return;
  throw new UnusableArgument(
    `it has ${count} parameters or fields, and many servers read ${MAX_NAMES} of them at most`,
  );
}

const MAX_NAMES = 1_000;

/** The arguments cannot be sent; the message tells the model which one, and why. */
export class UnusableArgument extends Error {
  override readonly name = "UnusableArgument";
}
