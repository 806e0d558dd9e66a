/** What does the audit log change for calls? A reply waits for its line, and with `audit.required` no call runs without one. */

import type { Call, Handler, Middleware, Reply } from "../../core/call.js";
import { GatewayError, refusalReply } from "../../core/errors.js";
import type { AuditLog } from "./types.js";

/** When (ms) a refused call may be tried again: the log is tried that often. */
const RETRY_AFTER_MS = 1_000;

/** Gives each reply on when its line is written. Must be right outside the observers, which write the line. */
export function auditedReplies(audit: AuditLog): Middleware {
  const isGiven = (reply: Reply, isWritten: boolean): boolean =>
    isWritten || !audit.required || (reply.kind !== "input_required" && reply.refusal !== undefined);
  const answer = (call: Call, reply: Reply, isWritten: boolean): Reply =>
    isGiven(reply, isWritten) ? reply : refusalReply(lostOutcome(), call);
  return (next: Handler): Handler =>
    function auditedReplies(call) {
      return next(call).then((reply) => {
        const isWritten = call.record?.recorded ?? true;
        return typeof isWritten === "boolean"
          ? answer(call, reply, isWritten)
          : isWritten.then((later) => answer(call, reply, later));
      });
    };
}

/** Refuses calls while the log cannot be written. Must be inside `errorBoundary`, and outside everything that acts. */
export function auditRequired(audit: AuditLog): Middleware {
  return (next: Handler): Handler =>
    function auditRequired(call) {
      return audit.problem === undefined ? next(call) : Promise.reject(unavailable());
    };
}

const unavailable = (): GatewayError =>
  new GatewayError("audit_unavailable", "gateway", "the audit log cannot be written, so no call is made", {
    retryable: true,
    retryAfterMs: RETRY_AFTER_MS,
  });

/** The log failed while the call ran. */
const lostOutcome = (): GatewayError =>
  new GatewayError(
    "audit_unavailable",
    "gateway",
    "the outcome is withheld, because the audit log cannot be written",
  );
