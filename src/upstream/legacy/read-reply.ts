/** Which reply is the response of a server of a revision up to 2025-11-25? */
import type { Call, Reply } from "../../core/call.js";
import { codeOf, type Envelope, type RpcError } from "../../wire/envelope.js";
import { without } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { errorForClient } from "../protocol/hop-errors.js";
import { invalidQuestionError, resultFault } from "../protocol/read-questions.js";

/** The reply for `message`: a result or an error; these revisions have no other result types. */
export function readReply(server: string, call: Call, message: Envelope): Reply {
  if (call.method === "completion/complete" && message.error?.code === CODE.methodNotFound) {
    return { kind: "result", result: NO_COMPLETIONS };
  }
  if (message.error !== undefined) return { kind: "error", error: readError(server, call, message.error) };
  const { result = {} } = message;
  const fault = resultFault(result);
  if (fault !== undefined) return { kind: "error", error: invalidQuestionError(server, fault) };
  if (!INPUT_MEMBERS.some((member) => Object.hasOwn(result, member))) {
    return { kind: "result", result: Payload.ofResponse(message) };
  }
  return { kind: "result", result: Payload.ofObject(without(result, INPUT_MEMBERS)) };
}

// Hosts of 2026-07-28 would take these members for questions, which no policy has evaluated; here they mean nothing.
const INPUT_MEMBERS = ["resultType", "inputRequests", "requestState"];

// Servers of 2024-11-05 have no capability for completions.
const NO_COMPLETIONS = Payload.ofObject({ completion: { values: [] } });

// -32042 is a code of 2025-11-25 that clients of that revision know; the next revision forbids it, and its
// clients have no session (basic/index, "Error Codes").
function readError(server: string, { client }: Call, error: RpcError): RpcError {
  const known = codeOf(error) === CODE.legacyUrlElicitationRequired && client.session;
  return known ? error : errorForClient(server, error);
}
