/** Audits expired approvals: those without a timely answer, and remembered ones at their end. */
import type { AuditLog } from "../core/audit.js";
import type { ApprovalExpiry } from "../policy/approvals.js";

/** Notifies `audit`, with targets passed through `redact`; undefined without a log. */
export function auditedExpiry(
  audit: AuditLog | undefined,
  answerMs: () => number,
  redact: (text: string) => string,
): ApprovalExpiry | undefined {
  if (audit === undefined) return undefined;
  return {
    answerMs,
    onExpired: (approval) =>
      audit.event({
        kind: "approval",
        decision: "expired",
        ...approval,
        target: redact(approval.target),
      }),
  };
}
