/** The text of a message that is to be sent. */
import { GatewayError } from "../../core/errors.js";
import { type Envelope, PREPARED_META, type PreparedMeta } from "../../wire/envelope.js";
import { writeJson } from "../../wire/json-text.js";

/** @throws GatewayError when it cannot be written: what is nested some thousand levels deep overflows the stack. */
export function textOf(message: Envelope): string {
  try {
    const prepared = message[PREPARED_META];
    return prepared === undefined ? writeJson(message) : requestText(message, prepared);
  } catch (cause) {
    throw new GatewayError("bad_request", "gateway", "the message cannot be written as JSON", { cause });
  }
}

function requestText({ id, method }: Envelope, { text, others }: PreparedMeta): string {
  const rest = writeJson(others).slice(1);
  const separator = rest === "}" ? "" : ",";
  const head = `{"jsonrpc":"2.0","id":${writeJson(id)},"method":${writeJson(method)}`;
  return `${head},"params":{"_meta":${text}${separator}${rest}}`;
}

/**
 * The same on one line, whatever its reader takes for the end of a line: Node's readline ends one at U+2028 and
 * U+2029, Python's splitlines at U+0085 too. In JSON they stand in strings only, where they may be escaped.
 *
 * @throws GatewayError as `textOf` does.
 */
export function lineOf(message: Envelope): string {
  const text = textOf(message);
  // Three native searches that find nothing are much cheaper than one pattern.
  if (!text.includes("\u2028") && !text.includes("\u2029") && !text.includes("\u0085")) return text;
  return text.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029").replaceAll("\u0085", "\\u0085");
}
