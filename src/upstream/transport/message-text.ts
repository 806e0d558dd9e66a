/** The text of a message that is to be sent. */
import { GatewayError } from "../../core/errors.js";
import type { Envelope } from "../../wire/envelope.js";

/** @throws GatewayError when it cannot be written: what is nested some thousand levels deep overflows the stack. */
export function textOf(message: Envelope): string {
  try {
    return JSON.stringify(message);
  } catch (cause) {
    throw new GatewayError("bad_request", "gateway", "the message cannot be written as JSON", { cause });
  }
}
