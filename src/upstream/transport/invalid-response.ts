/** Which error does a call get whose response is no valid message? */
import { GatewayError } from "../../core/errors.js";
import { type FrameError, PrototypeMemberError } from "../../wire/envelope.js";

/** The call is not sent again: the server has answered. */
export const invalidResponse = (server: string, cause: FrameError): GatewayError =>
  new GatewayError(
    "upstream_closed",
    "upstream",
    `${server} answered with something that is no valid response: ${cause.message}`,
    { cause, server, answered: true, ...(cause instanceof PrototypeMemberError && { rpc: cause.code }) },
  );
