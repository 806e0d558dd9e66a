/** What a server of an `initialize` revision answered, in the words of the gateway's inside. */
import type { Reply } from "../../core/call.js";
import type { Envelope } from "../../wire/envelope.js";
import { Payload } from "../../wire/payload.js";
import { errorForClient } from "../conversation/hop-errors.js";

/** Every result of these revisions is complete: there is nothing to decide but whether it is an error. */
export function readReply(server: string, message: Envelope): Reply {
  return message.error === undefined
    ? { kind: "result", result: Payload.ofObject(message.result ?? {}) }
    : { kind: "error", error: errorForClient(server, message.error) };
}
