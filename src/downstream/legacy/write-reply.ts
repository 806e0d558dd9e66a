/** A Reply as a response that a legacy host knows how to read. */
import type { Call, Reply } from "../../core/call.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { codeOf, type MessageId, type RpcError } from "../../wire/envelope.js";
import { isObject, stringAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { downgradeResult } from "./downgrade-result.js";
import { errorText, type MessageText, resultText } from "./message-text.js";
import type { Revision } from "./revision.js";

/** The response to the request `id` that became `call`. */
export function writeReply(
  id: MessageId,
  call: Call,
  reply: Reply,
  revision: Revision,
  gateway: Pick<GatewayApi, "tool">,
): MessageText {
  switch (reply.kind) {
    case "result":
      return resultText(id, downgradeResult(reply.result, call, revision, gateway));
    case "error": {
      if (codeOf(reply.error) === CODE.missingClientCapability)
        return missingCapabilityText(id, call, reply.error);
      const links = urlsToOpen(reply.error);
      if (links === undefined || revision.elicitationModes)
        return errorText(id, downgradeError(reply.error, call));
      return call.method === "tools/call"
        ? resultText(id, failedToolResult(links))
        : errorText(id, { code: CODE.internalError, message: links });
    }
    case "input_required":
      // The input loop stands before this and leaves none over.
      return errorText(id, {
        code: CODE.internalError,
        message: "the server asked for input in a place where it may not",
      });
  }
}

/** A code that legacy hosts do not know says that they lack a capability; a tool that needs it has failed as a tool. */
function missingCapabilityText(id: MessageId, { method }: Call, { message, data }: RpcError): MessageText {
  if (method === "tools/call") return resultText(id, failedToolResult(message));
  return errorText(id, { code: CODE.internalError, message, ...(data !== undefined && { data }) });
}

/** Before 2026-07-28 a missing resource had a code of its own. */
function downgradeError(error: RpcError, call: Call): RpcError {
  const missing = codeOf(error) === CODE.invalidParams && call.method.startsWith("resources/");
  const uri = isObject(error.data) ? stringAt(error.data, "uri") : undefined;
  return missing && uri !== undefined ? { ...error, code: CODE.legacyResourceNotFound } : error;
}

/**
 * Error -32042 asks a host to send a person to some URLs first. A host that knows nothing of it can still show
 * them to the person.
 */
function urlsToOpen(error: RpcError): string | undefined {
  if (codeOf(error) !== CODE.legacyUrlElicitationRequired) return undefined;
  const elicitations =
    isObject(error.data) && Array.isArray(error.data.elicitations) ? error.data.elicitations : [];
  const lines = elicitations.filter(isObject).map((elicitation) => {
    const message = stringAt(elicitation, "message");
    const url = stringAt(elicitation, "url") ?? "";
    return message === undefined ? url : `${message} ${url}`;
  });
  return [error.message, ...lines].join("\n");
}

const failedToolResult = (text: string): Payload =>
  Payload.ofObject({ content: [{ type: "text", text }], isError: true });
