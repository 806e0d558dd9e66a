/** Writes sign-ins and expired approvals to the audit log. */
import type { HostSignIn } from "../authorization-server/types.js";
import type { AuditLog } from "../core/audit.js";
import type { ApprovalExpiry } from "../policy/approvals.js";
import type { SignInCounter } from "../sign-in/sign-in-events.js";
import type { RefreshCounter } from "../sign-in/token-events.js";

/** `counter`, which also notifies `audit` of events with a known principal: others, any client can cause. */
export function auditedSignIns(
  counter: SignInCounter & RefreshCounter,
  audit: AuditLog | undefined,
): SignInCounter & RefreshCounter {
  if (audit === undefined) return counter;
  return {
    signedIn(server, outcome, principal) {
      counter.signedIn(server, outcome);
      if (principal !== undefined) audit.event({ kind: "sign_in", server, outcome, principal });
    },
    quirkUsed: (server, quirk) => counter.quirkUsed(server, quirk),
    tokenRefreshed: (server, outcome) => counter.tokenRefreshed(server, outcome),
  };
}

/**
 * Notifies `audit` of sign-ins in hosts, which have no server. A refusal without a principal, which any client can
 * cause, is only counted. Hosts choose their own names, so these pass `redact`.
 */
export const auditedHostSignIns =
  (audit: AuditLog | undefined, counter: Pick<SignInCounter, "signedIn">, redact: (text: string) => string) =>
  ({ outcome, host, principal, error }: HostSignIn): void => {
    if (principal === undefined) {
      if (outcome === "refused") counter.signedIn("none", "refused");
      return;
    }
    audit?.event({
      kind: "sign_in",
      host: redact(host),
      outcome,
      principal,
      ...(error !== undefined && { arguments: { error } }),
    });
  };

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
