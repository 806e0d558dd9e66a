/** What do approvers see of the arguments of a call? Without what rules redact and what the config adds, and of bounded size. */
import type { Call, Route } from "../../../core/call.js";
import { isObject, without } from "../../../wire/json.js";
import { parseJson } from "../../../wire/json-text.js";
import { displayedArguments } from "../displayed-arguments.js";
import { type Redactions, redactedCall } from "../redaction/messages.js";
import { argsOf } from "../rules/policy-input.js";

/**
 * The arguments, or a text with what matters most of them where they are long.
 *
 * @param named members that conditions refer to, which come first
 */
export async function shownArguments(
  call: Call,
  route: Route,
  redacting: readonly Redactions[],
  named: ReadonlySet<string>,
): Promise<unknown> {
  let clean = call;
  for (const each of redacting) clean = await redactedCall(clean, each);
  const given = argsOf(clean);
  // Fixed arguments are not the caller's choice, and may be keys.
  const args = isObject(given) ? without(given, Object.keys(route.configuredArguments?.fixed ?? {})) : {};
  const { text, cut } = await displayedArguments(args, named);
  return cut === undefined ? parseJson(text) : text;
}
