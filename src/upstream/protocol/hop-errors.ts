/** An error a server answered with, told apart: is it about the call, or about how the gateway asked? */
import { codeOf, type RpcError } from "../../wire/envelope.js";
import { CODE } from "../../wire/names.js";

/** Whether only a server of 2026-07-28 says so: it refuses how it was asked, and has not looked at what. */
export function isModernRefusal(error: RpcError): boolean {
  const code = codeOf(error);
  return (
    code === CODE.headerMismatch ||
    code === CODE.missingClientCapability ||
    code === CODE.unsupportedProtocolVersion
  );
}

/**
 * The error as it may go on to the client. Codes in the range that the specification keeps for the hop
 * between two peers (-32099 … -32020) describe the gateway's own request, so they never pass as they are
 * (2026-07-28, basic/index, "Error Codes"); everything else passes unchanged.
 */
export function errorForClient(server: string, error: RpcError): RpcError {
  const code = codeOf(error);
  if (code < -32099 || code > -32020) return error;
  return {
    code: CODE.internalError,
    message: `${server} could not be asked properly: ${error.message}`,
    data: { upstreamError: error },
  };
}
