/** How are calls counted and timed, towards hosts and towards servers? */
import type { Call, Handler, Middleware, Observer, Reply } from "../core/call.js";
import { ERRORS } from "../core/errors.js";
import { codeOf } from "../wire/envelope.js";
import { errorType, methodLabel, type Outcome, outcomeOf, serverLabel } from "./labels.js";
import type { FinishedCall, Metrics } from "./metrics.js";

/**
 * Must be outside `errorBoundary`, which turns refusals into replies. A round that ends in `input_required` counts as
 * a call; the time until the host resumes it is in no call.
 */
export function callMetrics(metrics: Metrics): Observer {
  return {
    onEnd(call, reply, ms) {
      const outcome = outcomeOf(call, reply);
      // A server's own error is counted as `tool_error` whatever its form: the label values are a closed, documented set.
      const label = outcome === "error" ? "tool_error" : outcome;
      metrics.callFinished(finishedCall(call, ms, serverSideError(reply, outcome), reply), label);
    },
  };
}

/** Times the calls to one server without queueing; must be the innermost middleware. */
export function upstreamMetrics(metrics: Metrics): Middleware {
  return (next: Handler): Handler =>
    function upstreamMetrics(call) {
      const start = performance.now();
      const answered = (reply: Reply): Reply => {
        metrics.upstreamCallFinished(
          finishedCall(call, performance.now() - start, clientSideError(call, reply)),
        );
        return reply;
      };
      const failed = (error: unknown): never => {
        metrics.upstreamCallFinished(finishedCall(call, performance.now() - start, "_OTHER"));
        throw error;
      };
      return next(call).then(answered, failed);
    };
}

function finishedCall(call: Call, ms: number, error: string | undefined, reply?: Reply): FinishedCall {
  return {
    method: methodLabel(call.method),
    server: serverLabel(call, reply),
    tool: call.method === "tools/call" ? (call.route?.target ?? "") : "",
    seconds: ms / 1000,
    ...(error !== undefined && { errorType: error }),
  };
}

/** Codes of client errors, which a server does not count as its own (OpenTelemetry MCP conventions). */
const CLIENT_ERROR_CODES: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002]);

function serverSideError(reply: Reply, outcome: Outcome): string | undefined {
  if (reply.kind === "error") {
    const code = codeOf(reply.error);
    return CLIENT_ERROR_CODES.has(code) ? undefined : errorType(code);
  }
  if (outcome === "ok" || outcome === "input_required") return undefined;
  // A refusal in the form of a tool result is labelled by its code.
  return outcome === "tool_error" || outcome === "error" ? "tool_error" : errorType(ERRORS[outcome].rpc);
}

function clientSideError(call: Call, reply: Reply): string | undefined {
  if (reply.kind === "error") return errorType(codeOf(reply.error));
  return outcomeOf(call, reply) === "tool_error" ? "tool_error" : undefined;
}
