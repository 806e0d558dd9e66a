/** The only catch that answers a client: below it code may throw, above it there are only replies. */
import type { Call, Handler, Middleware, Reply } from "../core/call.js";
import { GatewayError, refusalError, refusalReply } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import { traceIdOf } from "../core/trace-context.js";
import { CODE } from "../wire/names.js";
import { isSafeToRepeat } from "./retry.js";

/**
 * Turns every throw into a refusal with a stable code. Any other error is a fault of the gateway, and is logged. A
 * refusal may quote a server that failed, and that server may have said its secrets: `redact` takes them out.
 */
export function errorBoundary(logger: Logger, redact: (text: string) => string = (text) => text): Middleware {
  return (next: Handler): Handler =>
    function rescue(call) {
      const refused = (error: unknown): Reply => replyTo(error, call);
      try {
        return next(call).then(undefined, refused);
      } catch (error) {
        return Promise.resolve(refused(error));
      }
    };

  function replyTo(error: unknown, call: Call): Reply {
    if (error instanceof GatewayError) return refusalReply(redactedError(withRetryable(error, call)), call);
    if (call.signal.aborted) return refusalReply(cancelledError(error), call);
    const traceId = traceIdOf(call);
    logger.error(
      { call: call.id, method: call.method, ...(traceId !== undefined && { traceId }), error },
      "a call failed inside the gateway",
    );
    return internalError(call);
  }

  function redactedError(error: GatewayError): GatewayError {
    const message = redact(error.message);
    return message === error.message
      ? error
      : new GatewayError(error.code, error.source, message, error.options);
  }
}

/** Where the server may have run the call, it should be made again only if that does no harm. */
function withRetryable(error: GatewayError, call: Call): GatewayError {
  const { code, source, message, options, retryable } = error;
  // A status from 500 on says nothing of it; 503, which is retryable, says that the call was not processed.
  const mayHaveRun = code === "upstream_closed" ? retryable : options.answered === false && !retryable;
  const isSafe = mayHaveRun ? isSafeToRepeat(call) : retryable;
  return isSafe === retryable
    ? error
    : new GatewayError(code, source, message, { ...options, retryable: isSafe });
}

/** Something noticed the abort before a layer of ours could put it into words. */
const cancelledError = (cause: unknown): GatewayError =>
  new GatewayError("cancelled", "downstream", "the client cancelled this call", { cause });

/** An internal error: the reference to the log, and no detail. The outcome of the call is unknown. */
function internalError({ id }: Call): Reply {
  const message = `internal error; see the gateway's log for call ${id}`;
  const error = new GatewayError("outcome_unknown", "gateway", message, { rpc: CODE.internalError });
  return { kind: "error", error: refusalError(error), refusal: error.code };
}
