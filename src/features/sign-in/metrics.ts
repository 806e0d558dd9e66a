/** Which metrics are there of sign-ins and of tokens? */
import type { FeatureCounter, FeatureGauge, RunningGateway } from "../../core/feature.js";
import type { SignInCounter } from "./sign-in-events.js";
import type { RefreshCounter } from "./token-events.js";

/** A gauge. */
export const EXPIRING: FeatureGauge = {
  name: "cardea_tokens_expiring",
  help: "Access tokens in use that end within an hour and can only be replaced by a sign-in.",
};

/** `server` is `none` for a callback that belongs to no sign-in. The authorization server for hosts counts here too. */
const SIGN_INS: FeatureCounter = {
  name: "cardea_sign_ins_total",
  help: "Sign-ins of persons to servers, by what became of them.",
  labelNames: ["server", "outcome"],
};
const QUIRKS: FeatureCounter = {
  name: "cardea_sign_in_quirks_total",
  help: "Sign-ins that ended well at a server whose config excuses a rule, by the quirk that does.",
  labelNames: ["server", "quirk"],
};
const REFRESHES: FeatureCounter = {
  name: "cardea_token_refreshes_total",
  help: "Attempts to renew the access token for a server, by outcome.",
  labelNames: ["server", "outcome"],
};

/** All counters. */
export const COUNTERS: readonly FeatureCounter[] = [SIGN_INS, QUIRKS, REFRESHES];

/** Counts in the gateway, and emits events with a known principal: others, any client can cause. */
export const countedIn = (
  gateway: () => Pick<RunningGateway, "count" | "emit">,
): SignInCounter & RefreshCounter => ({
  signedIn(server, outcome, principal) {
    const { count, emit } = gateway();
    count(SIGN_INS, { server, outcome });
    if (principal !== undefined) emit?.({ kind: "sign_in", server, outcome, principal });
  },
  quirkUsed: (server, quirk) => gateway().count(QUIRKS, { server, quirk }),
  tokenRefreshed: (server, outcome) => gateway().count(REFRESHES, { server, outcome }),
});
