/** The one word that says how a call ended, for access lines and metric labels. */
import type { Call, Reply } from "../core/call.js";
import { ERRORS, type ErrorCode } from "../core/errors.js";

/** How a call ended; see `outcomeOf`. */
export type Outcome = "ok" | "tool_error" | "input_required" | "error" | ErrorCode;

/**
 * `ok`; `tool_error` (the tool itself says `isError`); `input_required` (one round of several); `error` (a
 * JSON-RPC error that is not the gateway's refusal: the server's own, or a fault inside the gateway); or the
 * word of the refusal.
 */
export function outcomeOf(call: Call, reply: Reply): Outcome {
  if (reply.kind === "input_required") return "input_required";
  if (reply.refusal !== undefined) return isErrorCode(reply.refusal) ? reply.refusal : "error";
  if (reply.kind === "error") return "error";
  return call.method === "tools/call" && saysIsError(reply) ? "tool_error" : "ok";
}

const isErrorCode = (word: string): word is ErrorCode => Object.hasOwn(ERRORS, word);

function saysIsError({ result }: Extract<Reply, { kind: "result" }>): boolean {
  if (result.parsed !== undefined) return result.parsed.isError === true;
  if (!result.mayContain('"isError"')) return false;
  // Many servers write `"isError":false` into every result; parsing a large one just to read that would cost
  // more than carrying it. No serializer in use puts anything but nothing or one space after the colon.
  if (!result.mayContain('"isError":true') && !result.mayContain('"isError": true')) return false;
  return result.object.isError === true;
}
