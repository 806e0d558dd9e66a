/** Which approvals does the audit log call expired? Those without an answer in time, and remembered ones whose time has run out. */
import type { AuditLog } from "../core/audit.js";
import type { ApprovalExpiry } from "../policy/approvals.js";

/** Tells `audit`, which gets targets through `redact`; undefined where there is no log. */
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
