/** Counts and times the calls of hosts, as they see them. */
import type { Call, Reply } from "../core/call.js";
import { ERRORS } from "../core/errors.js";
import type { Handler, Middleware, Observer } from "../core/handler.js";
import { codeOf } from "../wire/envelope.js";
import { errorType, methodLabel, type Outcome, outcomeOf, serverLabel } from "./labels.js";
import type { FinishedCall, Metrics } from "./metrics.js";

/**
 * Belongs outside `rescue`, so that refusals are counted as what they are. A round that ends in
 * `input_required` is a call of its own: the time until the host comes back with answers is in none of them.
 */
export function callMetrics(metrics: Metrics): Observer {
  return {
    onEnd(call, reply, ms) {
      const outcome = outcomeOf(call, reply);
      // A server's own error is one of what it was asked for, whichever form it has; contract 7 knows no other word.
      const label = outcome === "error" ? "tool_error" : outcome;
      metrics.callFinished(finishedCall(call, ms, serverSideError(reply, outcome), reply), label);
    },
  };
}

/** Times the calls that go to one server, queueing not included; belongs right around the server. */
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

/** Codes that say the client erred; a server does not count them as errors of its own (OpenTelemetry, MCP). */
const CLIENT_ERROR_CODES: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002]);

function serverSideError(reply: Reply, outcome: Outcome): string | undefined {
  if (reply.kind === "error") {
    const code = codeOf(reply.error);
    return CLIENT_ERROR_CODES.has(code) ? undefined : errorType(code);
  }
  if (outcome === "ok" || outcome === "input_required") return undefined;
  // A refusal in the form of a result is told apart from an error of the tool by its code.
  return outcome === "tool_error" || outcome === "error" ? "tool_error" : errorType(ERRORS[outcome].rpc);
}

function clientSideError(call: Call, reply: Reply): string | undefined {
  if (reply.kind === "error") return errorType(codeOf(reply.error));
  return outcomeOf(call, reply) === "tool_error" ? "tool_error" : undefined;
}
