/** What a server is told of why nobody waits for its answer any more. */
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";

export const CLIENT_CANCELLED = "the client gave up";

/** The client's own reason, or the gateway's, where there is one. */
export const cancelReason = ({ reason }: StopSignal): string =>
  reason instanceof GatewayError ? reason.message : CLIENT_CANCELLED;
