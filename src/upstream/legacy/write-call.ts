/** How is a call written for a server of a revision up to 2025-11-25? */ import type { Call } from "../../core/call.js";
import type { Request } from "../../wire/envelope.js";
import { withProgressToken } from "../protocol/open-calls.js";

/** The request for `call` under the gateway's own id, which is its progress token as well. */
export function writeCall(call: Call, id: number): Request {
  return { jsonrpc: "2.0", id, method: call.method, params: withProgressToken(call.params, id) };
}
