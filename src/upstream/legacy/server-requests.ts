/** What the gateway answers when a server of an `initialize` revision asks something. */
import type { Envelope, Request, RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";

/** The response to `request`. No client capability is promised yet, so only a sign of life can be asked for. */
export function answerServer(request: Request): Envelope {
  if (request.method === "ping") return resultFor(request, {});
  return errorFor(request, {
    code: CODE.methodNotFound,
    message: `${request.method} was not promised to this server`,
  });
}

const resultFor = (request: Request, result: JsonObject): Envelope => ({
  jsonrpc: "2.0",
  id: request.id,
  result,
});

const errorFor = (request: Request, error: RpcError): Envelope => ({ jsonrpc: "2.0", id: request.id, error });
