/** Arguments of a tool, as a person writes them on a command line. */
import { isObject, type JsonObject } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import { UsageError } from "./exit.js";

/** @throws UsageError when the text is no JSON object. */
export function parseArguments(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new UsageError('the arguments are not JSON; write them as one word: \'{"name": "value"}\'');
  }
  if (!isObject(value)) throw new UsageError("the arguments must be a JSON object");
  return value;
}
