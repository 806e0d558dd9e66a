/** Which reason does a server get with `notifications/cancelled`? */
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";

/** The reason where the client gave none. */
export const CLIENT_CANCELLED = "the client gave up";

/** The message of the GatewayError that aborted the call; otherwise that of a client's cancellation. */
export const cancelReason = ({ reason }: StopSignal): string =>
  reason instanceof GatewayError ? reason.message : CLIENT_CANCELLED;
