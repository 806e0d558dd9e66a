/** Is an error of a server about the call, or about the request that the gateway made of it? */
import { codeOf, type RpcError } from "../../wire/envelope.js";
import { CODE } from "../../wire/names.js";

/** Whether the code is one with which only a 2026-07-28 server refuses the form of a request. */
export function isModernRefusal(error: RpcError): boolean {
  const code = codeOf(error);
  return (
    code === CODE.headerMismatch ||
    code === CODE.missingClientCapability ||
    code === CODE.unsupportedProtocolVersion
  );
}

/**
 * The error as the client gets it. Codes that the specification reserves for the hop between two peers
 * (-32099 … -32020) describe the gateway's own request and become an internal error (2026-07-28, basic/index,
 * "Error Codes"); all others pass unchanged.
 */
export function errorForClient(server: string, error: RpcError): RpcError {
  const code = codeOf(error);
  if (code < -32099 || code > -32020) return error;
  return {
    code: CODE.internalError,
    message: `${server} refused the request of the gateway: ${error.message}`,
    data: { upstreamError: error },
  };
}
