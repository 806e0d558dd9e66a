/** Tells the features of sign-ins and expired approvals. */
import type { HostSignIn } from "../authorization-server/types.js";
import type { EmitEvent } from "../core/gateway-events.js";
import type { ApprovalExpiry } from "../policy/approvals.js";
import type { SignInCounter } from "../sign-in/sign-in-events.js";
import type { RefreshCounter } from "../sign-in/token-events.js";

/** `counter`, which also emits events with a known principal: others, any client can cause. */
export function emittingSignIns(
  counter: SignInCounter & RefreshCounter,
  emit: EmitEvent | undefined,
): SignInCounter & RefreshCounter {
  if (emit === undefined) return counter;
  return {
    signedIn(server, outcome, principal) {
      counter.signedIn(server, outcome);
      if (principal !== undefined) emit({ kind: "sign_in", server, outcome, principal });
    },
    quirkUsed: (server, quirk) => counter.quirkUsed(server, quirk),
    tokenRefreshed: (server, outcome) => counter.tokenRefreshed(server, outcome),
  };
}

/**
 * Emits sign-ins in hosts, which have no server. A refusal without a principal, which any client can cause, is only
 * counted. Hosts choose their own names, so these pass `redact`.
 */
export const emittedHostSignIns =
  (emit: EmitEvent | undefined, counter: Pick<SignInCounter, "signedIn">, redact: (text: string) => string) =>
  ({ outcome, host, principal, error }: HostSignIn): void => {
    if (principal === undefined) {
      if (outcome === "refused") counter.signedIn("none", "refused");
      return;
    }
    emit?.({
      kind: "sign_in",
      host: redact(host),
      outcome,
      principal,
      ...(error !== undefined && { arguments: { error } }),
    });
  };

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
