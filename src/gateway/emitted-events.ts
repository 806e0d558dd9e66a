/** Tells the features of expired approvals. */

import type { ApprovalExpiry } from "../core/call-policy.js";
import type { EmitEvent } from "../core/gateway-events.js";

/** Emits each expiry, with its target passed through `redact`; undefined if no feature listens. */
export function emittedExpiry(
  emit: EmitEvent | undefined,
  answerMs: () => number,
  redact: (text: string) => string,
): ApprovalExpiry | undefined {
  if (emit === undefined) return undefined;
  return {
    answerMs,
    onExpired: (approval) =>
      emit({ kind: "approval", decision: "expired", ...approval, target: redact(approval.target) }),
  };
}
