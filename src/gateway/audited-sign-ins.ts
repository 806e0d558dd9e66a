/** Which sign-ins are in the audit log? Each one that is counted. */
import type { AuditLog } from "../core/audit.js";
import type { SignInCounter } from "../sign-in/sign-in-events.js";
import type { RefreshCounter } from "../sign-in/token-events.js";

/** `counter`, which also tells `audit`. */
export function auditedSignIns(
  counter: SignInCounter & RefreshCounter,
  audit: AuditLog | undefined,
): SignInCounter & RefreshCounter {
  if (audit === undefined) return counter;
  return {
    signedIn(server, outcome, principal) {
      counter.signedIn(server, outcome);
      audit.event({ kind: "sign_in", server, outcome, ...(principal !== undefined && { principal }) });
    },
    quirkUsed: (server, quirk) => counter.quirkUsed(server, quirk),
    tokenRefreshed: (server, outcome) => counter.tokenRefreshed(server, outcome),
  };
}
