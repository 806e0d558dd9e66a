/** Counts the sign-ins of hosts, and tells other features of them. */
import type { FeatureCounter, RunningGateway } from "../../core/feature.js";
import type { HostSignIn } from "./types.js";

/** The counter of sign-ins at servers too; a host has no server. */
const SIGN_INS: FeatureCounter = {
  name: "cardea_sign_ins_total",
  help: "Sign-ins of persons to servers, by what became of them.",
  labelNames: ["server", "outcome"],
};

/** All counters. */
export const COUNTERS: readonly FeatureCounter[] = [SIGN_INS];

/**
 * Emits sign-ins in hosts, which have no server. A refusal without a principal, which any client can cause, is only
 * counted. Hosts choose their own names, so these pass `redact`.
 */
export const countedHostSignIns =
  (gateway: () => Pick<RunningGateway, "count" | "emit">, redact: (text: string) => string) =>
  ({ outcome, host, principal, error }: HostSignIn): void => {
    const { count, emit } = gateway();
    if (principal === undefined) {
      if (outcome === "refused") count(SIGN_INS, { server: "none", outcome });
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
